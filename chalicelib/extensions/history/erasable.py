"""The history records that an erasure searches and deletes (the hook `erasable`)."""

import logging
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from chalicelib import storage
from chalicelib.extensions.history import store
from chalicelib.extensions.history.rows import HistoryRow, VersionRow
from chalicelib.storage import encryption

KIND = "history"
_log = logging.getLogger(__name__)


class Record(NamedTuple):
    """A change: its key, the JSON value that may contain a person, and the member paths that may identify them.

    The value omits the change's author, because an audit log must keep authors.
    """

    key: list[str]
    value: Any
    paths: list[str]


def list_page(workspace_id: str, after: list[str] | None, limit: int) -> list[Record]:
    """Return up to `limit` of a workspace's changes after the change keyed by `after`."""
    rows = store.list_page(workspace_id, after[1] if after else None, limit)
    return [_record(*pair) for pair in zip(rows, store.find_versions(rows), strict=True)]


def delete(keys: Collection[list[str]]) -> None:
    """Delete the changes with these keys, and their versions."""
    store.delete([store.row_for_key(*key) for key in keys])


def _record(row: HistoryRow, version: VersionRow | None) -> Record:
    document = _open(version.open) if version else None
    entry = _open(storage.unseal, row, "entry") or {}
    return Record(
        [row.record, row.change], [{"id": row.resource.partition("/")[2]}, document], entry.get("changed", [])
    )


def _open(read: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of `read`, or None if no key can decrypt the row."""
    try:
        return read(*arguments)
    except encryption.DecryptionError:
        _log.exception("Cannot decrypt a history row; the erasure does not delete it")
        return None
