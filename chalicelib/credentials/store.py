"""Credentials in the database: who calls, and for which workspace (§5).

A credential is two items. `CredentialRow` is found by the token's hash and says who calls; `CredentialEntry`, in the
workspace's own partition, lists it. They are written and deleted together.
"""

from contextlib import suppress
from typing import NamedTuple

from pynamodb.attributes import BooleanAttribute, NumberAttribute, TTLAttribute, UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.credentials import tokens

DAY = 24 * 60 * 60
KEY_LIFETIME = 365 * DAY
TOKEN_LIFETIME = 30 * DAY
OVERLAP = DAY
# How exact `lastUsedAt` is: one small write per credential and ten minutes, not one per request.
_USE_RECORDED_EVERY = 600
_ENTRY = "credential"


class CredentialEntry(storage.Row):
    """A credential as its workspace lists it."""

    class Meta:
        table_name = storage.table("workspaces")

    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    token_hash = UnicodeAttribute()
    expires_at = TTLAttribute(null=True)


class CredentialRow(storage.Row):
    """A credential under the hash of its token. It holds nothing that opens anything."""

    class Meta:
        table_name = storage.table("credentials")

    token_hash = UnicodeAttribute(hash_key=True)
    workspace = UnicodeAttribute()
    credential_id = UnicodeAttribute()
    kind = UnicodeAttribute()
    name = UnicodeAttribute()
    agent_id = UnicodeAttribute(null=True)
    read_only = BooleanAttribute(default=False)
    created_at = NumberAttribute()
    # What a successor gets; `expires_at` of one that was rotated says nothing about it. None for no end.
    lifetime = NumberAttribute(null=True)
    expires_at = TTLAttribute(null=True)
    last_used_at = NumberAttribute(null=True)

    @property
    def is_active(self) -> bool:
        """Whether it still opens something; the database may delete an expired item days later."""
        return self.ends_at is None or clock.seconds() < self.ends_at

    @property
    def ends_at(self) -> int | None:
        """The Unix second at which it ends, None for never."""
        return int(self.expires_at.timestamp()) if self.expires_at else None


class Issued(NamedTuple):
    """A new credential and its token, which is shown this once."""

    credential: CredentialRow
    token: str

    def __repr__(self) -> str:
        return f"Issued({self.credential.credential_id})"


def prepare(
    workspace_id: str,
    kind: str,
    name: str,
    lifetime: int | None,
    *,
    agent_id: str | None = None,
    read_only: bool = False,
    token: str | None = None,
) -> Issued:
    """A credential that is not stored yet; `token` only where a caller brings a well-formed one."""
    token = token or tokens.new(kind)
    row = CredentialRow(
        tokens.fingerprint(token),
        workspace=workspace_id,
        credential_id=ids.new_id(),
        kind=kind,
        name=name,
        agent_id=agent_id,
        read_only=read_only,
        created_at=clock.seconds(),
        lifetime=lifetime,
    )
    if lifetime is not None:
        row.expires_at = clock.to_datetime(clock.seconds() + lifetime)
    return Issued(row, token)


def stage(issued: Issued, error: errors.ApiError | None = None) -> None:
    """Stage a prepared credential; `error` says that its token is known already."""
    storage.put(issued.credential, CredentialRow.token_hash.does_not_exist(), error)
    storage.put(_entry(issued.credential))


def find(token_hash: str) -> CredentialRow | None:
    """The active credential with this hash, or None. Records that it was used."""
    row = find_active(token_hash)
    if row:
        _record_use(row)
    return row


def find_active(token_hash: str) -> CredentialRow | None:
    """The active credential with this hash, or None."""
    row = storage.find(CredentialRow, token_hash)
    return row if row and row.is_active else None


def list_active(workspace_id: str, kind: str, agent_id: str | None = None) -> list[CredentialRow]:
    """All active credentials of a workspace and kind, oldest first; of one agent where it is given."""
    beginning = _item(kind, agent_id, "") if agent_id else _item(kind, "")
    entries = storage.query(CredentialEntry, workspace_id, CredentialEntry.item.startswith(beginning))
    return _active(entries)


def list_page(workspace_id: str, kind: str, after: str | None, limit: int) -> tuple[list[CredentialRow], str | None]:
    """A page of them: at most `limit` after the id `after`, and the id to continue after where there are more."""
    beyond = CredentialEntry.item > _item(kind, after or "")
    entries = storage.query(CredentialEntry, workspace_id, beyond, limit=limit + 1)
    entries = [entry for entry in entries if entry.item.startswith(_item(kind, ""))]
    more = entries[limit - 1].item.removeprefix(_item(kind, "")) if len(entries) > limit else None
    return _active(entries[:limit]), more


def _active(entries: list[CredentialEntry]) -> list[CredentialRow]:
    rows: list[CredentialRow | None] = storage.find_many(
        [storage.Key(CredentialRow, entry.token_hash) for entry in entries]
    )
    return [row for row in rows if row and row.is_active]


def credential(workspace_id: str, credential_id: str, kind: str) -> CredentialRow:
    """One active workspace key or access token. Raises NotFound."""
    entry = storage.find(CredentialEntry, workspace_id, _item(kind, credential_id))
    row = find_active(entry.token_hash) if entry else None
    if row is None:
        raise errors.NotFound.of("credential")
    return row


@storage.in_unit_of_work
def revoke(row: CredentialRow) -> None:
    """End a credential now. A process that looked it up within the last 30 seconds still accepts it until then."""
    storage.delete(_entry(row))
    storage.delete(row)


@storage.in_unit_of_work
def rotate(row: CredentialRow, overlap: int = OVERLAP) -> Issued:
    """A successor with the same rights and lifetime; the old one works for `overlap` more seconds.

    May be repeated with the old one, after a lost answer: every successor lives its full time.
    """
    lifetime = None if row.lifetime is None else int(row.lifetime)
    issued = prepare(row.workspace, row.kind, row.name, lifetime, agent_id=row.agent_id, read_only=row.read_only)
    stage(issued)
    retire(row, overlap)
    return issued


def retire(row: CredentialRow, overlap: int) -> None:
    """Stage that a credential ends after `overlap` seconds, or at its own end if that is earlier."""
    end = clock.seconds() + overlap
    row.expires_at = clock.to_datetime(min(end, row.ends_at or end))
    storage.put(row, CredentialRow.token_hash.exists())
    storage.put(_entry(row))


def _item(*parts: str) -> str:
    """Where an entry stands in its workspace's partition: by kind, agent keys by agent, then in order of time."""
    return storage.key(_ENTRY, *parts)


def _entry(row: CredentialRow) -> CredentialEntry:
    item = _item(row.kind, *([row.agent_id] if row.agent_id else []), row.credential_id)
    return CredentialEntry(row.workspace, item, token_hash=row.token_hash, expires_at=row.expires_at)


def _record_use(row: CredentialRow) -> None:
    now = clock.seconds()
    if now - (row.last_used_at or 0) < _USE_RECORDED_EVERY:
        return
    # A request does not fail because its use could not be recorded, after a revocation or while the row is busy.
    with suppress(storage.ConditionFailed, errors.Unavailable), storage.unit_of_work():
        storage.update(row, [CredentialRow.last_used_at.set(now)], CredentialRow.token_hash.exists())
