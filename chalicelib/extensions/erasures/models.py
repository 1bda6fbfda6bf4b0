"""The erasures' wire models. The interface specification does not define them."""

from typing import Annotated

from pydantic import ConfigDict, Field, JsonValue

from chalicelib.http.wire import STRICT, WireModel, omitted

_MEMBERS = ("userID", "email", "phone")
_ANY: list[JsonValue] = [{"required": [name]} for name in _MEMBERS]
# Null is invalid. The default only marks the member as absent.
_Value = Annotated[str, Field(min_length=1, max_length=1_000)]
_Reference = Annotated[str, Field(min_length=1, max_length=200)]


class Person(WireModel):
    """The person to erase, identified by at least one member.

    Emails are compared case-insensitively, and the other members exactly. `reference`, such as the number of the
    person's request, is kept with the receipt and must not contain the other members.
    """

    model_config = ConfigDict({**STRICT, "json_schema_extra": {"anyOf": _ANY}})

    userID: _Value = ""
    email: _Value = ""
    phone: _Value = ""
    reference: _Reference = ""


class ErasureIn(WireModel):
    """The body of POST /v3/erasures."""

    erasure: Person


class ErasureCounts(WireModel):
    """The number of deleted records by kind. An extension's kind is absent until the search reaches it."""

    conversations: int
    analytics: int
    leads: int
    events: int
    history: int = omitted()
    answers: int


class ErasureReceipt(WireModel):
    """The receipt for a complete erasure. Times are in ISO 8601.

    `hash` is the SHA-256 hash of all members except `hash` and `signature`, as JSON with sorted names and no white
    space. `signature` is the ECDSA signature of the same text. Change streams may contain the deleted records until
    `streamsUntil`.
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
    """An erasure. `status` is `running`, or `complete` with a `receipt`. `createdAt` is in ISO 8601."""

    id: str
    status: str
    createdAt: str
    reference: str = omitted()
    counts: ErasureCounts
    receipt: ErasureReceipt = omitted()
