"""Wire models for workspaces, tokens and keys. The specification does not define their routes (§5)."""

from typing import Annotated

from pydantic import ConfigDict, Field, JsonValue
from typing_extensions import TypeAliasType

from chalicelib.credentials.scopes import Scope as AnyScope
from chalicelib.http.wire import (
    INTEGRAL_FLOAT_AS_INT,
    SECRET,
    STRICT,
    OptionalFlag,
    OptionalText,
    WireModel,
    omitted,
    read_only,
)

Scope = TypeAliasType("Scope", AnyScope)

MINUTE, YEAR = 60, 365 * 24 * 60 * 60
MAX_RETENTION_DAYS = 3650
# A schema that matches bodies with both members, which the route rejects.
_BOTH: dict[str, JsonValue] = {
    "properties": {"readOnly": {"const": True}, "scopes": {"type": "array", "items": {}}},
    "required": ["readOnly", "scopes"],
}


class WorkspaceChange(WireModel):
    """A change to a workspace. Omitted members keep their values, and `null` clears `retentionDays`."""

    id: OptionalText = read_only()
    # A workspace always has a name, so null cannot clear it. The default value only means that the member is omitted.
    name: Annotated[str, Field(min_length=1, max_length=200)] = ""
    retentionDays: Annotated[int, Field(ge=1, le=MAX_RETENTION_DAYS), INTEGRAL_FLOAT_AS_INT] | None = None
    createdAt: OptionalText = read_only()


class WorkspaceIn(WireModel):
    """The body of PATCH /v3/workspace."""

    workspace: WorkspaceChange


class Workspace(WireModel):
    """A workspace. `createdAt` is in ISO 8601. Conversations expire `retentionDays` after their last change."""

    id: str
    name: str
    retentionDays: int | None = None
    createdAt: str


class NewToken(WireModel):
    """Settings for a new v3 access token. The lifetime is one minute to one year, and 30 days by default."""

    model_config = ConfigDict({**STRICT, "json_schema_extra": {"not": _BOTH}})

    name: Annotated[str, Field(min_length=1, max_length=200)]
    expiresInSeconds: Annotated[int, Field(ge=MINUTE, le=YEAR), INTEGRAL_FLOAT_AS_INT] | None = None
    readOnly: OptionalFlag = None
    scopes: Annotated[list[Scope], Field(min_length=1)] | None = None


class TokenIn(WireModel):
    """The body of POST /v3/tokens."""

    token: NewToken


class Token(WireModel):
    """A v3 access token. Times are in ISO 8601; `lastUsedAt` is accurate to ten minutes."""

    id: str
    name: str
    token: Annotated[str, SECRET] = omitted()
    readOnly: bool
    scopes: list[Scope] = omitted()
    expiresAt: str
    createdAt: str
    lastUsedAt: OptionalText


class Rotation(WireModel):
    """The body of POST /v3/workspace/key/rotate. By default, the old key works for one more day."""

    overlapSeconds: Annotated[int, Field(ge=0, le=YEAR), INTEGRAL_FLOAT_AS_INT] | None = None


class RotatedKey(WireModel):
    """The new workspace key, which is returned only once, and the expiry of the old key. Times are in ISO 8601."""

    id: str
    key: Annotated[str, SECRET]
    expiresAt: str = omitted()
    createdAt: str
    previousKeyExpiresAt: str
