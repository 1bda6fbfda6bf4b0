"""Client storage: one sealed document per client. Emails are unique within a workspace.

A claim row reserves an email for its client. The transaction that saves the client also writes and deletes its claims,
so two clients cannot take the same email concurrently. The claim key is a hash, so the table contains no email in plain
text.
"""

import hashlib
from collections.abc import Iterator

from pynamodb.attributes import UnicodeAttribute

from chalicelib import errors, ids, storage
from chalicelib.storage import Document, DocumentRow, deletion_hooks, json_equal

_NO_CLIENT = "#"  # neither an identifier nor a hash


class ClientRow(storage.AuthoredRow, DocumentRow):
    """A client. Its document contains the writable members of the wire model.

    `created` is the ULID of the first write, and `signed_out` changes when all sessions end. Both may be absent.
    """

    class Meta:
        table_name = storage.table("clients")

    lifecycle = storage.Lifecycle(
        "{workspace}", "{client}", owner="workspace", export="client", erasure="no: a client is a user of the workspace"
    )
    workspace = UnicodeAttribute(hash_key=True)
    client_id = UnicodeAttribute(range_key=True)
    created = UnicodeAttribute(null=True)
    signed_out = UnicodeAttribute(null=True)


class EmailRow(storage.Row):
    """A claim that reserves an email for the client `owner`. Claims have a separate partition, so lists omit them."""

    class Meta:
        table_name = storage.table("clients")

    lifecycle = storage.Lifecycle(
        "{workspace}#emails", "{hash}", owner="workspace", export="email", erasure="no: deleted with its client"
    )
    workspace = UnicodeAttribute(hash_key=True)
    client_id = UnicodeAttribute(range_key=True)
    owner = UnicodeAttribute()


class EmailTaken(errors.Conflict):
    """The email belongs to another client in the workspace."""

    code = "EMAIL_TAKEN"
    sentence = "email belongs to another client of this workspace; use a different email."


def find(workspace_id: str, client_id: str) -> ClientRow | None:
    """Return the client, or None if it does not exist. This costs one request."""
    return storage.find(ClientRow, workspace_id, client_id)


def read(workspace_id: str, client_id: str) -> ClientRow:
    """Return the client. Raise NotFound if it does not exist. This costs one request."""
    return errors.require(find(workspace_id, client_id), "client")


def email_key(workspace_id: str, email: str) -> storage.Key:
    """Return the claim key for an email, ignoring case, for `storage.find_many`. A blank email has no claim."""
    return storage.Key(EmailRow, storage.join_key(workspace_id, "emails"), _claim(workspace_id, email) or _NO_CLIENT)


def find_owner(workspace_id: str, claim: EmailRow | None) -> ClientRow | None:
    """Return the client that owns a claim, or None. This costs one request, even if `claim` is None."""
    return find(workspace_id, claim.owner if claim else _NO_CLIENT)


def key(workspace_id: str, client_id: str) -> storage.Key:
    """Return a client's key, for `storage.find_many`."""
    return storage.Key(ClientRow, workspace_id, client_id)


def list_page(workspace_id: str, after: str | None = None, limit: int | None = None) -> Iterator[ClientRow]:
    """Yield up to `limit` clients after the id `after`, ordered by id. This costs one request per MB."""
    condition = ClientRow.client_id > after if after else None
    return storage.iterate(ClientRow, workspace_id, condition, limit=limit)


def new(workspace_id: str, client_id: str) -> ClientRow:
    """Return a row for a new client, without storing it."""
    return ClientRow(workspace_id, client_id, created=ids.new_id())


def save(row: ClientRow, before: Document, after: Document) -> None:
    """Stage a client. An unchanged document is not written.

    The commit raises EmailTaken if another client has the email.
    """
    if json_equal(after, before) and row.version_tag is not None:
        return
    row.seal(after)
    if after.get("disabled"):  # otherwise, unused sessions would become valid again when the client is enabled
        row.signed_out = ids.new_id()
    storage.put(row)
    old, new = _claim(row.workspace, before.get("email")), _claim(row.workspace, after.get("email"))
    if new not in (None, old):
        unclaimed = EmailRow.owner.does_not_exist() | (EmailRow.owner == row.client_id)
        storage.put(_email(row, new), unclaimed, EmailTaken())
    if old not in (None, new):
        storage.delete(_email(row, old), EmailRow.owner == row.client_id)


def delete(row: ClientRow) -> None:
    """Stage the deletion of a client and its email claim."""
    storage.delete(row)
    deletion_hooks.stage(row.workspace, "clients", row.client_id)
    claim = _claim(row.workspace, row.open().get("email"))
    if claim is not None:
        storage.delete(_email(row, claim), EmailRow.owner == row.client_id)


def _claim(workspace_id: str, email: str | None) -> str | None:
    """Return an email's hash, ignoring case and surrounding whitespace, or None for a blank email."""
    normalised = (email or "").strip().lower()
    return hashlib.sha256(f"{workspace_id}:{normalised}".encode()).hexdigest() if normalised else None


def _email(row: ClientRow, claim: str) -> EmailRow:
    return EmailRow(storage.join_key(row.workspace, "emails"), claim, owner=row.client_id)
