"""The history in the database: reading the changes and versions of records, and writing those of a stream."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from chalicelib import ids, storage
from chalicelib.history.changes import Found
from chalicelib.storage import history
from chalicelib.storage.history import HistoryRow, VersionRow, version_partition

_HIGHEST = (1 << 80) - 1


def save(found: Iterable[Found]) -> None:
    """Write what changes are found in a stream. Writing one again has no effect."""
    changes = {one.row.keys: one for one in found}
    rows: list[storage.Row] = [row for one in changes.values() for row in (one.row, one.version) if row]
    storage.save_many(rows)
    for one in changes.values():
        if one.replaced and one.replaced.version:
            # Not repeated: an erased version stays erased.
            with suppress(storage.ConditionFailed), storage.unit_of_work():
                _keep_again(one.replaced.row, one.replaced.version, is_kept=one.replaced.is_kept)


def list_of_record(
    workspace_id: str, resource: str, record_id: str, span: tuple[str, str], limit: int
) -> Iterator[HistoryRow]:
    """Up to `limit` changes of a record in a span of ULIDs, newest first. One request per MB."""
    partition, condition = storage.key(workspace_id, resource, record_id), HistoryRow.change.between(*span)
    return storage.iterate(HistoryRow, partition, condition, limit=limit, newest_first=True, consistent=False)


def list_of_workspace(workspace_id: str, span: tuple[str, str], limit: int) -> Iterator[HistoryRow]:
    """Up to `limit` changes of a workspace in a span of ULIDs, newest first. One request per MB."""
    condition = HistoryRow.change.between(*span)
    return storage.iterate(HistoryRow, workspace_id, condition, limit=limit, index="by_time", newest_first=True)


def find_version(workspace_id: str, resource: str, record_id: str, number: int) -> VersionRow | None:
    """A version, by its number: the Unix milliseconds of its write. None if it is not kept. One request."""
    partition = version_partition(storage.key(workspace_id, resource, record_id))
    found = storage.query(VersionRow, partition, VersionRow.change.between(*span(number, number)), limit=1)
    return found[0] if found else None


def batch_of_workspace(workspace_id: str, after: str | None, limit: int) -> list[HistoryRow]:
    """Up to `limit` changes of a workspace after the change `after`, oldest first."""
    condition = HistoryRow.change > after if after else None
    return storage.query(HistoryRow, workspace_id, condition, limit=limit, index="by_time")


def find_versions(rows: Sequence[HistoryRow]) -> list[VersionRow | None]:
    """The versions that changes wrote; None for each that has none."""
    keys = [storage.Key(VersionRow, version_partition(row.record), row.change, consistent=False) for row in rows]
    found: list[VersionRow | None] = storage.find_many(keys)
    return found


def delete(rows: Sequence[HistoryRow]) -> None:
    """Delete changes and the versions that they wrote."""
    storage.delete_many([history.version_of(row) for row in rows])
    storage.delete_many(rows)


def row_for_key(record: str, change: str) -> HistoryRow:
    """A row with the key of a change, for `delete`."""
    return HistoryRow(record, change)


def span(first: int, last: int) -> tuple[str, str]:
    """The lowest and the highest ULID of a time from `first` to `last`, Unix milliseconds."""
    return ids.id_at(first, 0), ids.id_at(last, _HIGHEST)


def _keep_again(row: HistoryRow, version: VersionRow, *, is_kept: bool) -> None:
    """Stage that a version expires later, and is stored if it is not there.

    The commit raises ConditionFailed if it should be there, because `is_kept`, and is not.
    """
    expiry = HistoryRow.expires_at.set(row.expires_at)
    workspace = HistoryRow.workspace.set(row.workspace)
    actions = [HistoryRow.entry.set(HistoryRow.entry | row.entry), workspace, expiry]
    storage.update(row, actions, HistoryRow.change.exists() if is_kept else None)
    storage.update(version, [VersionRow.document.set(VersionRow.document | version.document), expiry])
