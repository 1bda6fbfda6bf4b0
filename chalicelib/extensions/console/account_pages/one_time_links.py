"""One-time links in emails. The token in a link lets a client set a password without signing in.

A token has 256 random bits, and only its hash is stored. The row also contains a proof of the values in
`session_store.sign_in_data`, such as the email and password. A link becomes invalid when one of them changes, so
setting a password invalidates all of the client's links. A conditional delete of the row is part of the commit of the
new password, so only one of several concurrent uses succeeds.
"""

import hmac
from collections.abc import Sequence
from typing import NamedTuple

from pynamodb.attributes import NumberAttribute, TTLAttribute, UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.clients import store as clients
from chalicelib.clients.store import ClientRow
from chalicelib.credentials import tokens
from chalicelib.extensions.console.access import open_sessions, session_store
from chalicelib.storage import Document

INVITATION, RESET = "invitation", "reset"
LIFETIMES = {INVITATION: 7 * 24 * 60 * 60, RESET: 60 * 60}
"""The lifetimes of links in seconds, by purpose: an invitation, or a reset of a forgotten password."""
_LINKS, _TOKEN_LENGTH = "links", 43
# The maximum number of links of a workspace that a page examines.
_MAX_EXAMINED = 500


class LinkRow(storage.Row):
    """A link that has not been used. The token is not stored.

    `sent_at` is in Unix seconds. Links of earlier releases have neither `sent_at` nor `details` (`open_sessions.seal`).
    """

    class Meta:
        table_name = storage.table("workspaces")

    lifecycle = storage.Lifecycle(
        "{workspace}#links", "{hash}", owner="workspace", export="no: expires", erasure="no: contains ids and hashes"
    )
    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    client_id = UnicodeAttribute()
    proof = UnicodeAttribute()
    sent_at = NumberAttribute(null=True)
    details = UnicodeAttribute(null=True)
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
    row.client_id, row.proof, row.sent_at = client.client_id, _proof(token, client, client.open()), clock.seconds()
    row.details = open_sessions.seal(client.workspace, "", session_store.sign_in_data(client, client.open()))
    row.expires_at = clock.to_datetime(row.sent_at + LIFETIMES[purpose])
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


def valid_by_client(workspace_id: str, client_ids: Sequence[str]) -> dict[str, LinkRow]:
    """Return the newest link of each of these clients that has a valid one. This costs at most two requests.

    Of more than 500 links, some are omitted, as are those of earlier releases.
    """
    newest = _newest_by_client(workspace_id) if client_ids else {}
    keys = [clients.key(workspace_id, client_id) for client_id in client_ids if client_id in newest]
    rows = filter(None, storage.find_many(keys) if keys else ())
    return {row.client_id: newest[row.client_id] for row in rows if _is_valid_for(newest[row.client_id], row)}


def _newest_by_client(workspace_id: str) -> dict[str, LinkRow]:
    rows = storage.query(LinkRow, storage.join_key(workspace_id, _LINKS), limit=_MAX_EXAMINED, consistent=False)
    now = clock.to_datetime(clock.seconds())
    kept = (row for row in rows if row.sent_at is not None and now < row.expires_at)
    return {row.client_id: row for row in sorted(kept, key=lambda row: row.sent_at)}


def _is_valid_for(row: LinkRow, client: ClientRow) -> bool:
    return open_sessions.depends_on(client.workspace, row.details, session_store.sign_in_data(client, client.open()))


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
