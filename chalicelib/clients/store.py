"""Clients in the database: one sealed document each; an email belongs to one client of a workspace.

A claim row stands for an email. It is taken and given back in the transaction that saves the client, so
that two clients cannot take the same one at the same time. Its key is a hash: an email is not readable
in the table.
"""

import hashlib

from pynamodb.attributes import UnicodeAttribute

from chalicelib import errors, storage
from chalicelib.storage import Document, DocumentRow, same


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

    sentence = "email belongs to another client of this workspace."


def find(workspace_id: str, client_id: str) -> ClientRow | None:
    """The client, or None. One request."""
    return storage.find(ClientRow, workspace_id, client_id)


def read(workspace_id: str, client_id: str) -> ClientRow:
    """The client. Raises NotFound."""
    row = find(workspace_id, client_id)
    if row is None:
        raise errors.NotFound.of("client")
    return row


def listed(workspace_id: str, after: str | None = None, limit: int | None = None) -> list[ClientRow]:
    """At most `limit` clients in the order of their ids, from the first one after `after`; all without.

    One request for each MB.
    """
    condition = ClientRow.client_id > after if after else None
    return storage.query(ClientRow, workspace_id, condition, limit=limit)


def new(workspace_id: str, client_id: str) -> ClientRow:
    """A client that is not stored yet."""
    return ClientRow(workspace_id, client_id)


def save(row: ClientRow, before: Document, after: Document) -> None:
    """Store a client. No change is no write. Raises EmailTaken, and ConditionFailed when somebody was faster."""
    if same(after, before) and row.version is not None:
        return
    row.seal(after)
    old, new = _claim(row, before.get("email")), _claim(row, after.get("email"))
    if old == new:
        storage.save(row)
        return
    steps = [storage.put(row)]
    if new is not None:
        unclaimed = EmailRow.owner.does_not_exist() | (EmailRow.owner == row.client_id)
        steps.append(storage.put(_email(row, new), unclaimed))
    if old is not None:
        steps.append(storage.remove(_email(row, old), EmailRow.owner == row.client_id))
    try:
        storage.transact(*steps)
    except storage.ConditionFailed as stale:
        raise _email_taken(stale, first_put=int(old is not None), claims=new is not None) from stale


def delete(row: ClientRow) -> None:
    """Delete a client and give its email back. Raises ConditionFailed after another write."""
    claim = _claim(row, row.open().get("email"))
    steps = [] if claim is None else [storage.remove(_email(row, claim), EmailRow.owner == row.client_id)]
    storage.transact(storage.remove(row), *steps)


def _email_taken(stale: storage.ConditionFailed, first_put: int, claims: bool) -> errors.Conflict:
    """Which condition failed: reasons come in the order deletes, then puts (the client, the claim)."""
    claim = stale.reasons[first_put + 1] if claims else None
    client = stale.reasons[first_put]
    return EmailTaken() if claim is not None and client is None else stale


def _claim(row: ClientRow, email: str | None) -> str | None:
    """What stands for an email: case and surrounding blanks do not make another one. None for a blank one."""
    bare = (email or "").strip().lower()
    return hashlib.sha256(f"{row.workspace}:{bare}".encode()).hexdigest() if bare else None


def _email(row: ClientRow, claim: str) -> EmailRow:
    return EmailRow(storage.key(row.workspace, "emails"), claim, owner=row.client_id)
