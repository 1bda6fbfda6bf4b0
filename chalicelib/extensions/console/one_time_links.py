"""One-time links in emails. The token in a link lets a client set a password without signing in.

A token has 256 random bits, and only its hash is stored. The row also contains a proof of the values in
`session_store.sign_in_data`, such as the email and password. A link becomes invalid when one of them changes, so
setting a password invalidates all of the client's links. A conditional delete of the row is part of the commit of the
new password, so only one of several concurrent uses succeeds.
"""

import hmac
from typing import NamedTuple

from pynamodb.attributes import TTLAttribute, UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.clients import store as clients
from chalicelib.clients.store import ClientRow
from chalicelib.credentials import tokens
from chalicelib.extensions.console import session_store
from chalicelib.storage import Document

INVITATION, RESET = "invitation", "reset"
LIFETIMES = {INVITATION: 7 * 24 * 60 * 60, RESET: 60 * 60}
"""The lifetimes of links in seconds, by purpose: an invitation, or a reset of a forgotten password."""
_LINKS, _TOKEN_LENGTH = "links", 43


class LinkRow(storage.Row):
    """A link that has not been used. The token is not stored."""

    class Meta:
        table_name = storage.table("workspaces")

    lifecycle = storage.Lifecycle(
        "{workspace}#links", "{hash}", owner="workspace", export="no: expires", erasure="no: contains ids and hashes"
    )
    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    client_id = UnicodeAttribute()
    proof = UnicodeAttribute()
    expires_at = TTLAttribute()


class Link(NamedTuple):
    """A valid link, with the client as it is stored."""

    row: LinkRow
    client: ClientRow
    document: Document


class InvalidLink(errors.NotFound):
    """The link has expired, has been used, or belongs to no client."""

    sentence = "This link has expired or has been used; ask for a new link."


def stage(client: ClientRow, purpose: str) -> str:
    """Stage a link for a client, for a purpose in `LIFETIMES`. Return its token, which cannot be read again.

    The caller sends the token to the client's email address, and nowhere else.
    """
    token = ids.random_text(_TOKEN_LENGTH)
    row = _row(client.workspace, token)
    row.client_id, row.proof = client.client_id, _proof(token, client, client.open())
    row.expires_at = clock.to_datetime(clock.seconds() + LIFETIMES[purpose])
    storage.put(row)
    return token


def read(workspace_id: str, token: str) -> Link:
    """Return the link with this token. Raise InvalidLink. This costs at most two requests."""
    key = _row(workspace_id, token)
    row = storage.find(LinkRow, key.workspace, key.item)
    client = (
        clients.find(workspace_id, row.client_id)
        if row and clock.to_datetime(clock.seconds()) < row.expires_at
        else None
    )
    document = client.open() if client else {}
    if (
        row is None
        or client is None
        or document.get("disabled")
        or not hmac.compare_digest(row.proof, _proof(token, client, document))
    ):
        raise InvalidLink()
    return Link(row, client, document)


def stage_use(link: Link) -> None:
    """Stage the use of a link. If it has been used since it was read, the commit raises InvalidLink."""
    storage.delete(link.row, LinkRow.proof.exists(), InvalidLink())


def delete_all(workspace_id: str) -> int:
    """Delete all of a workspace's links, and return how many were deleted."""
    rows = storage.query(LinkRow, storage.join_key(workspace_id, _LINKS))
    storage.delete_many(rows)
    return len(rows)


def _row(workspace_id: str, token: str) -> LinkRow:
    return LinkRow(storage.join_key(workspace_id, _LINKS), tokens.fingerprint(token))


def _proof(token: str, client: ClientRow, document: Document) -> str:
    return session_store.proof(token, session_store.sign_in_data(client, document))
