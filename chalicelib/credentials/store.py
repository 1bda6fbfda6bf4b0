"""Credential storage (§5).

A credential consists of two items, which are written and deleted in the same unit of work. `CredentialRow` is keyed by
the token hash. `CredentialEntry` lists the credential in its workspace's partition. Visitor tokens have no entry
(`visitors`).
"""

from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from pynamodb.attributes import BooleanAttribute, NumberAttribute, TTLAttribute, UnicodeAttribute, UnicodeSetAttribute
from pynamodb.expressions.update import Action

from chalicelib import clock, errors, ids, storage
from chalicelib.credentials import scopes, tokens
from chalicelib.storage import deletion_hooks

DAY = 24 * 60 * 60
KEY_LIFETIME = 365 * DAY
TOKEN_LIFETIME = 30 * DAY
OVERLAP = DAY
# Minimum seconds between updates of `lastUsedAt`, which limits the writes per credential.
_USE_INTERVAL = 600
_ENTRY = "credential"
_RESOURCES = {tokens.ACCESS: "tokens", tokens.WORKSPACE: "keys", tokens.AGENT: "keys"}


class CredentialEntry(storage.Row):
    """An entry in a workspace's list of credentials."""

    class Meta:
        table_name = storage.table("workspaces")

    lifecycle = storage.Lifecycle(
        "{workspace}",
        "credential#{kind}#{ULID} or credential#{kind}#{owner}#{ULID}",
        owner="workspace",
        export="credential",
        erasure="no: contains only ids",
    )
    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    token_hash = UnicodeAttribute()
    expires_at = TTLAttribute(null=True)

    def lists(self, row: "CredentialRow") -> bool:
        """Return whether this entry lists `row`, and not a different credential with the same token."""
        return self.keys == _entry(row).keys


class CredentialRow(storage.AuthoredRow):
    """A credential, keyed by its token hash. The token itself is not stored."""

    class Meta:
        table_name = storage.table("credentials")

    lifecycle = storage.Lifecycle(
        "{hash}", "", owner="workspace", export="credential", erasure="no: names a system or a role"
    )
    token_hash = UnicodeAttribute(hash_key=True)
    workspace = UnicodeAttribute()
    credential_id = UnicodeAttribute()
    kind = UnicodeAttribute()
    name = UnicodeAttribute()
    agent_id = UnicodeAttribute(null=True)
    # An access token is read-only, has scopes, or permits all v3 routes.
    read_only = BooleanAttribute(default=False)
    scopes = UnicodeSetAttribute(null=True)
    created_at = NumberAttribute()
    # The lifetime in seconds that a successor gets, or None for no expiry. Rotation shortens only `expires_at`.
    lifetime = NumberAttribute(null=True)
    expires_at = TTLAttribute(null=True)
    last_used_at = NumberAttribute(null=True)
    # Only visitor tokens have these attributes (`visitors`).
    issuer = UnicodeAttribute(null=True)
    issuer_id = UnicodeAttribute(null=True)
    agent_created = NumberAttribute(null=True)
    conversation = UnicodeAttribute(null=True)
    conversation_created = UnicodeAttribute(null=True)
    # Only client sessions have these attributes (`sessions`).
    client_id = UnicodeAttribute(null=True)
    proof = UnicodeAttribute(null=True)
    details = UnicodeAttribute(null=True)
    # Set while the workspace is suspended, so that a lookup needs no second read.
    suspended = BooleanAttribute(null=True)

    @property
    def is_active(self) -> bool:
        """Whether the credential is still valid. DynamoDB may delete expired items days later (TTL)."""
        return self.ends_at is None or clock.seconds() < self.ends_at

    @property
    def granted(self) -> frozenset[str] | None:
        """The credential's scopes, or None if the credential permits all routes of its kind."""
        if self.read_only:
            return scopes.READ
        return None if self.scopes is None else frozenset(self.scopes)

    @property
    def only_reads(self) -> bool:
        """Whether the credential has only read scopes."""
        return self.granted is not None and self.granted <= scopes.READ

    @property
    def resource(self) -> str | None:
        """The resource that the history uses for a token or key, or None for a visitor token or session."""
        return _RESOURCES.get(self.kind)

    @property
    def ends_at(self) -> int | None:
        """The expiry in Unix seconds, or None if the credential never expires."""
        return int(self.expires_at.timestamp()) if self.expires_at else None


class NewCredential(NamedTuple):
    """A new credential and its token, which is shown only once."""

    credential: CredentialRow
    token: str

    def __repr__(self) -> str:
        return f"NewCredential({self.credential.credential_id})"


def prepare(
    workspace_id: str,
    kind: str,
    name: str,
    lifetime: int | None,
    *,
    agent_id: str | None = None,
    read_only: bool = False,
    granted: Collection[str] | None = None,
    token: str | None = None,
) -> NewCredential:
    """Return a new credential without storing it. `lifetime` is in seconds, or None for no expiry.

    `granted` contains an access token's scopes, or is None. `token` is an agent key that the caller chose, or None.
    """
    token = token or tokens.new(kind)
    row = CredentialRow(
        tokens.fingerprint(token),
        workspace=workspace_id,
        credential_id=ids.new_id(),
        kind=kind,
        name=name,
        agent_id=agent_id,
        read_only=read_only,
        scopes=None if granted is None else set(granted),
        created_at=clock.seconds(),
        lifetime=lifetime,
    )
    if lifetime is not None:
        row.expires_at = clock.to_datetime(clock.seconds() + lifetime)
    return NewCredential(row, token)


def stage(issued: NewCredential, error: errors.ApiError | None = None) -> None:
    """Stage a prepared credential. The commit raises `error` if the token is already in use."""
    # An expired item may still exist, because DynamoDB deletes expired items days later.
    is_expired = CredentialRow.expires_at <= clock.to_datetime(clock.seconds())
    storage.put(issued.credential, CredentialRow.token_hash.does_not_exist() | is_expired, error)
    storage.put(_entry(issued.credential))


def find(token_hash: str) -> CredentialRow | None:
    """Return the active credential with this token hash, or None. Update `lastUsedAt` unless it is a visitor token."""
    row = find_active(token_hash)
    if row and row.issuer is None:
        _record_use(row)
    return row


def find_active(token_hash: str) -> CredentialRow | None:
    """Return the active credential with this token hash, or None. This costs one request."""
    row = storage.find(CredentialRow, token_hash)
    return row if row and row.is_active else None


def list_active(workspace_id: str, kind: str, owner: str = "", newest: int | None = None) -> list[CredentialRow]:
    """Return the active credentials of a workspace, agent or client, oldest first, or the `newest`, newest first."""
    beginning = CredentialEntry.item.startswith(_item(kind, owner, "") if owner else _item(kind, ""))
    return _active(storage.query(CredentialEntry, workspace_id, beginning, limit=newest, newest_first=bool(newest)))


def list_page(workspace_id: str, kind: str, after: str | None, limit: int) -> tuple[list[CredentialRow], str | None]:
    """Return up to `limit` credentials after the id `after`, and the next page's `after`, or None on the last page.

    Expired credentials are omitted, so a page may be shorter.
    """
    beyond = CredentialEntry.item > _item(kind, after or "")
    entries = storage.query(CredentialEntry, workspace_id, beyond, limit=limit + 1)
    entries = [entry for entry in entries if entry.item.startswith(_item(kind, ""))]
    more = entries[limit - 1].item.removeprefix(_item(kind, "")) if len(entries) > limit else None
    return _active(entries[:limit]), more


def _active(entries: list[CredentialEntry]) -> list[CredentialRow]:
    rows: list[CredentialRow | None] = storage.find_many(
        [storage.Key(CredentialRow, entry.token_hash) for entry in entries]
    )
    return [row for entry, row in zip(entries, rows, strict=True) if row and row.is_active and entry.lists(row)]


def read(workspace_id: str, credential_id: str, kind: str) -> CredentialRow:
    """Return the active workspace key or access token with this id. Raise NotFound if there is none."""
    entry = storage.find(CredentialEntry, workspace_id, _item(kind, credential_id))
    row = find_active(entry.token_hash) if entry else None
    if entry is None or row is None or not entry.lists(row):
        raise errors.NotFound.of("credential")
    return row


@storage.in_unit_of_work
def revoke(row: CredentialRow) -> None:
    """Delete a credential. Processes that have cached it accept it for at most 30 more seconds.

    If another credential with the same token has been stored since, that credential is kept.
    """
    storage.delete(_entry(row))
    unchanged = CredentialRow.credential_id == row.credential_id
    storage.delete(row, unchanged | CredentialRow.credential_id.does_not_exist())
    if row.resource is not None:
        deletion_hooks.stage(row.workspace, row.resource, row.credential_id)


@storage.in_unit_of_work
def rotate(row: CredentialRow, overlap: int = OVERLAP) -> NewCredential:
    """Issue a successor with identical permissions and lifetime. The old credential works for `overlap` more seconds.

    The caller can repeat the rotation if the response was lost. Each successor has the full lifetime.
    """
    lifetime = None if row.lifetime is None else int(row.lifetime)
    issued = prepare(
        row.workspace, row.kind, row.name, lifetime, agent_id=row.agent_id, read_only=row.read_only, granted=row.scopes
    )
    stage(issued)
    retire(row, overlap)
    return issued


def retire(row: CredentialRow, overlap: int) -> None:
    """Stage a credential's expiry in `overlap` seconds, unless it expires sooner.

    The commit raises ConditionFailed if the expiry has changed since the read, so a shortened expiry is never extended.
    """
    expiry = CredentialRow.expires_at
    unchanged = expiry.does_not_exist() if row.expires_at is None else expiry == row.expires_at
    end = clock.seconds() + overlap
    row.expires_at = clock.to_datetime(min(end, row.ends_at or end))
    storage.put(row, CredentialRow.token_hash.exists() & unchanged)
    storage.put(_entry(row))


def list_entries(workspace_id: str) -> list[CredentialEntry]:
    """Return all of a workspace's credential entries, including expired ones."""
    return storage.query(CredentialEntry, workspace_id, CredentialEntry.item.startswith(_item("")))


def restore(row: CredentialRow, error: errors.ApiError) -> None:
    """Stage an imported credential. The commit raises `error` if another workspace has the same token."""
    storage.put(row, CredentialRow.token_hash.does_not_exist() | (CredentialRow.workspace == row.workspace), error)
    storage.put(_entry(row))


def suspend(entry: CredentialEntry) -> None:
    """Suspend a credential. Processes that have cached it accept it for at most 30 more seconds."""
    _mark(entry, CredentialRow.suspended.set(True))


def resume(entry: CredentialEntry) -> None:
    """Reactivate a suspended credential."""
    _mark(entry, CredentialRow.suspended.remove())


def _mark(entry: CredentialEntry, action: Action) -> None:
    # The credential may have been revoked since it was listed.
    with suppress(storage.ConditionFailed), storage.unit_of_work():
        storage.update(CredentialRow(entry.token_hash), [action], CredentialRow.workspace == entry.workspace)


def _item(*parts: str) -> str:
    """Return an entry's sort key: the kind, the agent or client of a key or session, and the id, by creation time."""
    return storage.join_key(_ENTRY, *parts)


def _entry(row: CredentialRow) -> CredentialEntry:
    item = _item(*filter(None, (row.kind, row.agent_id, row.client_id, row.credential_id)))
    return CredentialEntry(row.workspace, item, token_hash=row.token_hash, expires_at=row.expires_at)


def _record_use(row: CredentialRow) -> None:
    now = clock.seconds()
    if now - (row.last_used_at or 0) < _USE_INTERVAL:
        return
    # A failed update must not fail the request, because the credential may just have been revoked, or the row may be
    # contended.
    with suppress(storage.ConditionFailed, errors.Unavailable), storage.unit_of_work():
        storage.update(row, [CredentialRow.last_used_at.set(now)], CredentialRow.token_hash.exists())
