"""The history in the database: changes to records, and their versions."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from chalicelib import ids, storage
from chalicelib.extensions.history.changes import Entry
from chalicelib.extensions.history.rows import HistoryRow, VersionRow, version_of, version_partition

_HIGHEST = (1 << 80) - 1


def save(entries: Iterable[Entry]) -> None:
    """Write history entries. Writing an entry again has no effect."""
    by_key = {entry.row.keys: entry for entry in entries}
    rows: list[storage.Row] = [row for entry in by_key.values() for row in (entry.row, entry.version) if row]
    storage.save_many(rows)
    for replaced in (entry.replaced for entry in by_key.values()):
        if replaced and replaced.version:
            # This write is never retried, because an erased version must stay erased.
            with suppress(storage.ConditionFailed), storage.unit_of_work():
                _keep_again(replaced.row, replaced.version, is_kept=replaced.is_kept)


def list_of_record(
    workspace_id: str, resource: str, record_id: str, span: tuple[str, str], limit: int
) -> Iterator[HistoryRow]:
    """Yield up to `limit` changes to a record in a ULID range, newest first. This costs one request per MB."""
    partition, condition = storage.join_key(workspace_id, resource, record_id), HistoryRow.change.between(*span)
    return storage.iterate(HistoryRow, partition, condition, limit=limit, newest_first=True, consistent=False)


def list_of_workspace(workspace_id: str, span: tuple[str, str], limit: int) -> Iterator[HistoryRow]:
    """Yield up to `limit` of a workspace's changes in a ULID range, newest first. This costs one request per MB."""
    condition = HistoryRow.change.between(*span)
    return storage.iterate(HistoryRow, workspace_id, condition, limit=limit, index="by_time", newest_first=True)


def find_version(workspace_id: str, resource: str, record_id: str, number: int) -> VersionRow | None:
    """Return the version with this number (its time in Unix milliseconds), or None. This costs one request."""
    partition = version_partition(storage.join_key(workspace_id, resource, record_id))
    versions = storage.query(VersionRow, partition, VersionRow.change.between(*span(number, number)), limit=1)
    return next(iter(versions), None)


def list_versions(workspace_id: str, resource: str, record_id: str, last: int, limit: int) -> Iterator[VersionRow]:
    """Yield up to `limit` versions, newest first, beginning with the version `last`. This costs one request per MB."""
    partition = version_partition(storage.join_key(workspace_id, resource, record_id))
    condition = VersionRow.change <= span(last, last)[1]
    return storage.iterate(VersionRow, partition, condition, limit=limit, newest_first=True, consistent=False)


def list_page(workspace_id: str, after: str | None, limit: int) -> list[HistoryRow]:
    """Return up to `limit` of a workspace's changes after the change `after`, oldest first."""
    condition = HistoryRow.change > after if after else None
    return storage.query(HistoryRow, workspace_id, condition, limit=limit, index="by_time")


def find_versions(rows: Sequence[HistoryRow]) -> list[VersionRow | None]:
    """Return each change's version, or None for a change without a version."""
    keys = [storage.Key(VersionRow, version_partition(row.record), row.change, consistent=False) for row in rows]
    versions: list[VersionRow | None] = storage.find_many(keys)
    return versions


def delete(rows: Sequence[HistoryRow]) -> None:
    """Delete changes and their versions."""
    storage.delete_many([version_of(row) for row in rows])
    storage.delete_many(rows)


def row_for_key(record: str, change: str) -> HistoryRow:
    """Return a row that contains only a change's key, for `delete`."""
    return HistoryRow(record, change)


def span(first: int, last: int) -> tuple[str, str]:
    """Return the lowest ULID for the time `first` and the highest for `last`, in Unix milliseconds."""
    return ids.id_at(first, 0), ids.id_at(last, _HIGHEST)


def _keep_again(row: HistoryRow, version: VersionRow, *, is_kept: bool) -> None:
    """Stage a later expiry for a version, and the version itself if it is missing.

    With `is_kept`, the commit raises ConditionFailed if the version is missing.
    """
    expiry = HistoryRow.expires_at.set(row.expires_at)
    workspace = HistoryRow.workspace.set(row.workspace)
    actions = [HistoryRow.entry.set(HistoryRow.entry | row.entry), workspace, expiry]
    storage.update(row, actions, HistoryRow.change.exists() if is_kept else None)
    storage.update(version, [VersionRow.document.set(VersionRow.document | version.document), expiry])
