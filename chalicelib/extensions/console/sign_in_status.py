"""How far a person has come with signing in, which the person's page and the list of people show."""

from typing import NamedTuple

from chalicelib.credentials import store, tokens
from chalicelib.extensions.console import one_time_links
from chalicelib.extensions.console.one_time_links import LinkRow


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
