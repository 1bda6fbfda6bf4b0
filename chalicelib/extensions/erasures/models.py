"""The wire models of the erasures. The specification does not define them."""

from typing import Annotated

from pydantic import ConfigDict, Field, JsonValue

from chalicelib.http.wire import STRICT, WireModel, omitted

_MEMBERS = ("userID", "email", "phone")
_ANY: list[JsonValue] = [{"required": [name]} for name in _MEMBERS]
# Null is invalid. The default only means that the member is absent.
_Value = Annotated[str, Field(min_length=1, max_length=1_000)]


class Person(WireModel):
    """The person to erase: at least one member. Emails are compared case-insensitively, the other members exactly."""

    model_config = ConfigDict({**STRICT, "json_schema_extra": {"anyOf": _ANY}})

    userID: _Value = ""
    email: _Value = ""
    phone: _Value = ""


class ErasureIn(WireModel):
    """The body of POST /v3/erasures."""

    erasure: Person


class ErasureCounts(WireModel):
    """The number of removed records by kind. A kind of an extension is absent until it is searched."""

    conversations: int
    analytics: int
    leads: int
    events: int
    history: int = omitted()
    answers: int


class ErasureReceipt(WireModel):
    """The receipt of a complete erasure. Times are ISO 8601.

    `hash` is the SHA-256 of all members except `hash` and `signature`, as JSON with sorted names and no white space.
    `signature` is the ECDSA signature of the same text. Change streams keep their records until `streamsUntil`.
    """

    erasureId: str
    workspaceId: str
    requestedAt: str
    completedAt: str
    streamsUntil: str
    counts: ErasureCounts
    hash: str
    signature: str


class Erasure(WireModel):
    """An erasure. `status` is `running`, or `complete` with a `receipt`. `createdAt` is ISO 8601."""

    id: str
    status: str
    createdAt: str
    counts: ErasureCounts
    receipt: ErasureReceipt = omitted()
