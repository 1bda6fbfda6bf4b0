"""A client's open sessions, which the profile page lists.

The token of another session is unknown, so the page cannot check that session's proof. Therefore, a session's row also
contains sealed details: the browser, and a digest of the texts on which the session depends. A session is open if its
digest equals that of the current session, which is valid.
"""

import hashlib
import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, NamedTuple

from chalicelib import storage
from chalicelib.credentials import store, tokens
from chalicelib.storage import encryption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chalicelib.credentials.store import CredentialRow
    from chalicelib.extensions.console.access.sessions import Session

_PURPOSE = "session"
# The maximum number of listed sessions, and of characters of a stored User-Agent.
MAX_LISTED, _MAX_USER_AGENT = 20, 200
# The names of browsers and systems, by a part of the User-Agent. The first part that it contains decides.
_BROWSERS = {
    "Edg": "Edge", "OPR/": "Opera", "SamsungBrowser/": "Samsung Internet", "Firefox/": "Firefox", "FxiOS/": "Firefox",
    "Chrome/": "Chrome", "CriOS/": "Chrome", "Safari/": "Safari",
}  # fmt: skip
_SYSTEMS = {
    "iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows", "CrOS": "ChromeOS",
    "Mac OS X": "macOS", "Linux": "Linux",
}  # fmt: skip


class OpenSession(NamedTuple):
    """An open session: its row, and its browser and system, or empty texts if they are unknown."""

    row: "CredentialRow"
    browser: str
    system: str


def seal(workspace_id: str, user_agent: str, sign_in: "Sequence[str | None]") -> str:
    """Return the sealed details of a new session, which depends on the texts in `sign_in`."""
    details = {"userAgent": user_agent[:_MAX_USER_AGENT], "signIn": _digest(sign_in)}
    return b64encode(encryption.seal(workspace_id, _PURPOSE, storage.encode_json(details))).decode()


def depends_on(workspace_id: str, sealed: str, sign_in: "Sequence[str | None]") -> bool:
    """Return whether sealed details depend on these texts."""
    return bool(_unseal(workspace_id, sealed)["signIn"] == _digest(sign_in))


def list_newest(session: "Session") -> list[OpenSession]:
    """Return the person's open sessions, newest first, at most 20. This costs at most two requests.

    Sessions that an earlier release stored have no details, and are omitted.
    """
    own = _details(session.row)
    if own is None:
        return []
    rows = store.list_active(session.workspace_id, tokens.SESSION, session.row.client_id, MAX_LISTED)
    read = ((row, _details(row)) for row in rows)
    return [
        OpenSession(row, *names_of(details["userAgent"]))
        for row, details in read
        if details and details["signIn"] == own["signIn"]
    ]


def names_of(user_agent: str) -> tuple[str, str]:
    """Return the names of the browser and the system in a User-Agent, or empty texts."""
    browser, system = (
        next((name for part, name in names.items() if part in user_agent), "") for names in (_BROWSERS, _SYSTEMS)
    )
    return browser, system


def user_agent_of(row: "CredentialRow") -> str:
    """Return the User-Agent of a session, or an empty text."""
    return str((_details(row) or {}).get("userAgent", ""))


def _details(row: "CredentialRow") -> dict[str, Any] | None:
    return None if row.details is None else _unseal(row.workspace, row.details)


def _unseal(workspace_id: str, sealed: str) -> dict[str, Any]:
    details: dict[str, Any] = json.loads(encryption.unseal(workspace_id, _PURPOSE, b64decode(sealed)))
    return details


def _digest(sign_in: "Sequence[str | None]") -> str:
    return hashlib.sha256(storage.encode_json(sign_in)).hexdigest()
