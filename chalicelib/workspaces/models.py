"""Tokens and keys on the wire: routes of our own, the specification leaves them open (§5)."""

from typing import Annotated

from pydantic import Field

from chalicelib.http.wire import INTEGRAL_FLOAT_AS_INT, OptionalFlag, OptionalText, Wire

YEAR = 365 * 24 * 60 * 60


class NewToken(Wire):
    """A v3 access token to issue. It ends after 30 days unless told otherwise, a year at most.

    `readOnly` narrows it to reading.
    """

    name: Annotated[str, Field(min_length=1, max_length=200)]
    expiresInSeconds: Annotated[int, Field(ge=1, le=YEAR), INTEGRAL_FLOAT_AS_INT] | None = None
    readOnly: OptionalFlag = None


class TokenIn(Wire):
    """The body of POST /v3/tokens."""

    token: NewToken


class Token(Wire):
    """A v3 access token; `token` itself is shown once, when it is issued. Times are ISO 8601.

    `lastUsedAt` is exact to ten minutes.
    """

    id: str
    name: str
    token: OptionalText = None
    readOnly: bool
    expiresAt: str
    createdAt: str
    lastUsedAt: OptionalText = None


class Rotation(Wire):
    """The body of POST /v3/workspace/key/rotate; how long the old key goes on, a day unless told otherwise."""

    overlapSeconds: Annotated[int, Field(ge=0, le=YEAR), INTEGRAL_FLOAT_AS_INT] | None = None


class RotatedKey(Wire):
    """The new workspace key, shown this once, and when the one that called ends. Times are ISO 8601."""

    id: str
    key: str
    expiresAt: OptionalText = None
    createdAt: str
    previousKeyExpiresAt: str
