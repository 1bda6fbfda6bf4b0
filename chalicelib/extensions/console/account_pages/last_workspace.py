"""The workspace in which a browser last signed in, and the way of that sign-in, in a cookie for all of `/console`.

A session's cookie belongs to the pages of one workspace, so the console's entrance cannot read it. A workspace's id is
no secret.
"""

from typing import NamedTuple

from chalicelib import ids
from chalicelib.extensions.console.access import cookies
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import pages
from chalicelib.http import current_request

_COOKIE, _SECONDS, _SEPARATOR = "__Secure-cams-last", 365 * 24 * 60 * 60, "."
_KEY, _EMAIL = "key", "email"


class LastSignIn(NamedTuple):
    """A workspace's id, and whether the sign-in was with a workspace key."""

    workspace_id: str
    with_key: bool


def from_request() -> LastSignIn | None:
    """Return the browser's last sign-in, or None if there is none or the cookie is invalid."""
    way, _, workspace_id = cookies.read(current_request.request(), _COOKIE).partition(_SEPARATOR)
    is_valid = way in (_KEY, _EMAIL) and ids.ULID.fullmatch(workspace_id)
    return LastSignIn(workspace_id, way == _KEY) if is_valid else None


def cookie(session: Session) -> str:
    """Return the cookie for a session. Links on other sites also send it, since the entrance only redirects."""
    value = f"{_EMAIL if session.client_id else _KEY}{_SEPARATOR}{session.workspace_id}"
    return f"{_COOKIE}={value}; Path={pages.root()}; Max-Age={_SECONDS}; HttpOnly; Secure; SameSite=Lax"
