"""How far a person has come with signing in, which the person's page and the list of people show."""

from typing import NamedTuple

from chalicelib import clock, ids, storage
from chalicelib.credentials import store, tokens
from chalicelib.credentials.store import CredentialEntry
from chalicelib.extensions.console.account_pages import one_time_links
from chalicelib.extensions.console.account_pages.one_time_links import LinkRow

_ENTRY = "credential"
# The maximum number of a workspace's sessions that a list of people examines.
_MAX_SESSIONS = 500


class SignInStatus(NamedTuple):
    """The newest link with which a person without a password can set one, and the start of the newest open session."""

    link: LinkRow | None
    signed_in_at: int | None


def read(workspace_id: str, client_id: str, has_password: bool) -> SignInStatus:
    """Return the status of a client. This costs at most two requests."""
    if has_password:
        rows = store.list_active(workspace_id, tokens.SESSION, client_id, newest=1)
        return SignInStatus(None, int(rows[0].created_at) if rows else None)
    return SignInStatus(one_time_links.valid_by_client(workspace_id, [client_id]).get(client_id), None)


def list_sign_ins(workspace_id: str) -> dict[str, int]:
    """Return when each client last signed in, in Unix seconds, by client id. This costs one request.

    Clients whose sessions have ended are missing, as are those of some sessions if there are more than 500.
    """
    sessions = CredentialEntry.item.startswith(storage.join_key(_ENTRY, tokens.SESSION, ""))
    entries = storage.query(CredentialEntry, workspace_id, sessions, limit=_MAX_SESSIONS, consistent=False)
    now = clock.to_datetime(clock.seconds())
    keys = [storage.split_key(entry.item) for entry in entries if entry.expires_at and now < entry.expires_at]
    # A client's session has the client's id before its own id, and the newest session is the last one.
    return {key[2]: ids.timestamp_of(key[3]) // 1000 for key in keys if len(key) == 4}
