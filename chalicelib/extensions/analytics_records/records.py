"""Lists and deletes an agent's analytics records by last write time.

Callers may omit or choose the times in a record, so only the write time is reliable. Records are stored by
conversation, so a request examines a bounded number of them, and the next request continues from the returned cursor.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from chalicelib import errors, ids
from chalicelib.analytics import store
from chalicelib.http import pages, parameters
from chalicelib.storage import Document

# DynamoDB's transaction limits: the number of items, and the size in bytes minus a reserve for keys.
_MAX_DELETED = 100
_MAX_BYTES = 3_000_000


class TimeRange(NamedTuple):
    """The times at or after `since` and before `until`, in Unix seconds. None means unbounded."""

    since: int | None
    until: int | None

    @classmethod
    def from_request(cls, since: str, until: str) -> "TimeRange":
        """Return the time range from the query parameters with these names. Raise Invalid for a malformed time."""
        return cls(parameters.seconds(since), parameters.seconds(until))

    @classmethod
    def required_from_request(cls, since: str, until: str) -> "TimeRange":
        """Return the time range as `from_request` does. Raise Invalid if a bound is missing.

        Both are required, so that no caller deletes all records by accident.
        """
        time_range = cls.from_request(since, until)
        for name, value in zip((since, until), time_range, strict=True):
            if value is None:
                raise errors.Invalid.member(name, "is required")
        return time_range

    def contains(self, row: store.AnalyticsRow) -> bool:
        """Return whether a conversation's records were last written in this range."""
        written_at = _written_at(row)
        return (self.since is None or written_at >= self.since) and (self.until is None or written_at < self.until)


def examine(workspace_id: str, agent_id: str, time_range: TimeRange) -> Iterator[pages.Examined]:
    """Yield the examined records after the request's cursor, for up to 500 conversations."""
    portions = pages.in_portions(
        partial(store.list_page, workspace_id, agent_id), parameters.cursor(), parameters.limit()
    )
    return pages.examine(portions, lambda row, stored: _render(row, stored) if time_range.contains(row) else None)


def delete(workspace_id: str, agent_id: str, time_range: TimeRange) -> tuple[int, str | None]:
    """Stage the deletion of records in the range, starting after the request's cursor.

    Examine up to 500 conversations, and delete the records of up to 100 of them. Return the number of conversations
    whose records are deleted, and the position at which the next request continues, or None at the end. The commit
    raises ConditionFailed if a record was written after it was read.
    """
    deleted = size = 0
    for examined, row in enumerate(store.list_page(workspace_id, agent_id, parameters.cursor(), pages.MAX_EXAMINED), 1):
        size += sum(len(sealed) for sealed in (row.load, row.convo) if sealed is not None)
        if time_range.contains(row):
            store.delete(row)
            deleted += 1
        if deleted == _MAX_DELETED or size > _MAX_BYTES or examined == pages.MAX_EXAMINED:
            return deleted, row.position
    return deleted, None


def _render(row: store.AnalyticsRow, stored: Document) -> Document:
    return {"convoID": row.item, "lastModified": _written_at(row), **stored}


def _written_at(row: store.AnalyticsRow) -> int:
    return ids.timestamp_of(row.version_tag) // 1000
