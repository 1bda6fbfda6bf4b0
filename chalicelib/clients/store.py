"""Clients in the database: one sealed document each; an email belongs to one client of a workspace.

A claim row holds an email for its client. It is written and deleted in the transaction that saves the client, so two
clients cannot take the same email at the same time. Its key is a hash: the table shows no email in clear.
"""

import hashlib

from pynamodb.attributes import UnicodeAttribute

from chalicelib import errors, storage
from chalicelib.storage import Document, DocumentRow, json_equal


class ClientRow(DocumentRow):
    """A client. Its document has the writable members of the wire."""

    class Meta:
        table_name = storage.table("clients")

    workspace = UnicodeAttribute(hash_key=True)
    client_id = UnicodeAttribute(range_key=True)


class EmailRow(storage.Row):
    """Which client an email belongs to; in a partition beside the clients', so that lists do not meet it."""

    class Meta:
        table_name = storage.table("clients")

    workspace = UnicodeAttribute(hash_key=True)
    client_id = UnicodeAttribute(range_key=True)
    owner = UnicodeAttribute()


class EmailTaken(errors.Conflict):
    """Another client of the workspace has this email."""

    code = "EMAIL_TAKEN"
    sentence = "email belongs to another client of this workspace; use another one."


def find(workspace_id: str, client_id: str) -> ClientRow | None:
    """The client, or None. One request."""
    return storage.find(ClientRow, workspace_id, client_id)


def read(workspace_id: str, client_id: str) -> ClientRow:
    """The client. Raises NotFound."""
    row = find(workspace_id, client_id)
    if row is None:
        raise errors.NotFound.of("client")
    return row


def list_page(workspace_id: str, after: str | None = None, limit: int | None = None) -> list[ClientRow]:
    """At most `limit` clients in the order of their ids, from the first one after `after`; all without.

    One request for each MB.
    """
    condition = ClientRow.client_id > after if after else None
    return storage.query(ClientRow, workspace_id, condition, limit=limit)


def new(workspace_id: str, client_id: str) -> ClientRow:
    """A client that is not stored yet."""
    return ClientRow(workspace_id, client_id)


def save(row: ClientRow, before: Document, after: Document) -> None:
    """Stage a client. No change is no write. Fails with EmailTaken for the email of another client."""
    if json_equal(after, before) and row.version_tag is not None:
        return
    row.seal(after)
    storage.put(row)
    old, new = _claim(row, before.get("email")), _claim(row, after.get("email"))
    if old == new:
        return
    if new is not None:
        unclaimed = EmailRow.owner.does_not_exist() | (EmailRow.owner == row.client_id)
        storage.put(_email(row, new), unclaimed, EmailTaken())
    if old is not None:
        storage.delete(_email(row, old), EmailRow.owner == row.client_id)


def delete(row: ClientRow) -> None:
    """Stage the deletion of a client; its email is free again."""
    storage.delete(row)
    claim = _claim(row, row.open().get("email"))
    if claim is not None:
        storage.delete(_email(row, claim), EmailRow.owner == row.client_id)


def _claim(row: ClientRow, email: str | None) -> str | None:
    """What stands for an email: case and surrounding blanks do not make another one. None for a blank one."""
    bare = (email or "").strip().lower()
    return hashlib.sha256(f"{row.workspace}:{bare}".encode()).hexdigest() if bare else None


def _email(row: ClientRow, claim: str) -> EmailRow:
    return EmailRow(storage.key(row.workspace, "emails"), claim, owner=row.client_id)
