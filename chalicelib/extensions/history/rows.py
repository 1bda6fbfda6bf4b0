"""The history's rows: one for each change to a record, and one for each version of an agent or tool.

The stream follower writes all rows except those for deletions and acts. A deleted item's image does not contain who
deleted it, and an act changes no record. Therefore, these rows are committed together with the request's writes.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from pynamodb.attributes import BinaryAttribute, TTLAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection

from chalicelib import clock, ids
from chalicelib.storage import documents, unit
from chalicelib.storage.authors import current_author
from chalicelib.storage.documents import Document
from chalicelib.storage.rows import Lifecycle, Row, join_key, split_key, table

KEPT_SECONDS = 400 * 24 * 60 * 60
CREATE, UPDATE, DELETE = "create", "update", "delete"
ACTS = ("erasures", "views", "keyviews")
"""The resources of acts: an erasure, and what an operator viewed: the console as a client, or an agent's key."""


class ByTime(GlobalSecondaryIndex["HistoryRow"]):  # type: ignore[no-untyped-call]
    """An index of a workspace's changes by time."""

    class Meta:
        index_name = "by_time"
        projection = IncludeProjection(["entry"])

    workspace = UnicodeAttribute(hash_key=True)
    change = UnicodeAttribute(range_key=True)


class HistoryRow(Row):
    """A change. `entry` is sealed JSON: `{operation?, by?, restoredFrom?, changed}`.

    `by` is in `storage.authors`' format. `restoredFrom` is the number of the version that the change restored.

    The partition key consists of the workspace, the resource and the record id. The sort key is a ULID that is derived
    from the change, usually the version tag of its write. An entry without `operation` belongs to a version that was
    written without history.
    """

    class Meta:
        table_name = table("history")

    lifecycle = Lifecycle(
        "{workspace}#{resource}#{record}",
        "{ULID}",
        owner="workspace",
        export="no: begins again after an import",
        erasure="history",
    )
    record = UnicodeAttribute(hash_key=True)
    change = UnicodeAttribute(range_key=True)
    by_time = ByTime()
    workspace = UnicodeAttribute()
    entry = BinaryAttribute(legacy_encoding=False)
    expires_at = TTLAttribute()

    @property
    def resource(self) -> str:
        """The record's resource and id, such as `agents/support`."""
        return "/".join(split_key(self.record)[1:])

    @property
    def milliseconds(self) -> int:
        """The time of the change, in Unix milliseconds."""
        return ids.timestamp_of(self.change)


class VersionRow(documents.SealedRow):
    """A version: the document of an agent or tool after a change.

    List requests do not read versions, which keeps them cheap.
    """

    class Meta:
        table_name = table("history")

    lifecycle = Lifecycle(
        "{workspace}#{resource}#{record}#versions",
        "{ULID}",
        owner="workspace",
        export="no: begins again after an import",
        erasure="history",
    )
    record = UnicodeAttribute(hash_key=True)
    change = UnicodeAttribute(range_key=True)
    expires_at = TTLAttribute()


def version_of(row: HistoryRow) -> VersionRow:
    """Return the row for the version that a change wrote, still without its document."""
    return VersionRow(version_partition(row.record), row.change, expires_at=row.expires_at)


def version_partition(record: str) -> str:
    """Return the partition key of a record's versions, derived from the partition key of its changes."""
    return join_key(record, "versions")


def new(workspace_id: str, resource: str, record_id: str, change: str, entry: Document) -> HistoryRow:
    """Return an unstored row with its entry. The row expires 400 days after the change."""
    row = HistoryRow(join_key(workspace_id, resource, record_id), change, workspace=workspace_id)
    row.entry = documents.seal(row, "entry", entry)
    row.expires_at = clock.to_datetime(row.milliseconds // 1000 + KEPT_SECONDS)
    return row


def change_at(milliseconds: int, *parts: str) -> str:
    """Return the sort key of a change without a version tag. Equal times and parts give the same key."""
    digest = hashlib.blake2b("/".join(parts).encode(), digest_size=10).digest()
    return ids.id_at(milliseconds, int.from_bytes(digest, "big"))


def stage_deletion(workspace_id: str, resource: str, record_id: str) -> None:
    """Stage the row for a deletion by the current author (`storage.deletion_hooks`)."""
    unit.put(_entry(DELETE, workspace_id, resource, record_id, ids.new_id(), current_author()))


def stage_act(workspace_id: str, resource: str, record_id: str) -> None:
    """Stage the row for an act of the current author that changes no record, such as an erasure.

    This is the service `stage_act`. `resource` names the kind of act, and is in `ACTS`.
    """
    unit.put(_entry(CREATE, workspace_id, resource, record_id, ids.new_id(), current_author()))


def cascade_deletions(
    workspace_id: str, resource: str, record_ids: Sequence[str], milliseconds: int, author: str | None
) -> list[HistoryRow]:
    """Return the rows for records that were deleted with another record at this time (`storage.deletion_hooks`)."""
    changes = {record_id: change_at(milliseconds, resource, record_id) for record_id in record_ids}
    return [_entry(DELETE, workspace_id, resource, one, change, author) for one, change in changes.items()]


def _entry(
    operation: str, workspace_id: str, resource: str, record_id: str, change: str, author: str | None
) -> HistoryRow:
    by: dict[str, Any] = {} if author is None else {"by": author}
    return new(workspace_id, resource, record_id, change, {"operation": operation, **by, "changed": []})
