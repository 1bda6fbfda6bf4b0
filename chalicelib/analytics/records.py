"""The analytics records of an agent by the time of their last write: listed, and deleted.

The time is that of the write, as in reports: the times in a record are the caller's, and may be absent. Records are
stored by conversation, so a request examines a bounded number of them and the next one continues after its cursor.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from chalicelib import errors, ids
from chalicelib.analytics import store
from chalicelib.http import pages, parameters
from chalicelib.storage import Document

# DynamoDB's limits of a transaction: items, and bytes with room for the keys.
_MAX_DELETED = 100
_MAX_BYTES = 3_000_000


class Period(NamedTuple):
    """A period from `since` on and before `until`, in Unix seconds; None is no bound."""

    since: int | None
    until: int | None

    @classmethod
    def from_request(cls, since: str, until: str) -> "Period":
        """Return the period in the query parameters with these names. Raises Invalid."""
        return cls(parameters.seconds(since), parameters.seconds(until))

    def has(self, row: store.AnalyticsRow) -> bool:
        """Whether the records of a conversation were last written in the period."""
        written = _written(row)
        return (self.since is None or written >= self.since) and (self.until is None or written < self.until)


def required(since: str, until: str) -> Period:
    """The same, both required: a deletion of everything must be explicit. Raises Invalid."""
    period = Period.from_request(since, until)
    for name, value in zip((since, until), period, strict=True):
        if value is None:
            raise errors.Invalid.member(name, "is required")
    return period


def examine(workspace_id: str, agent_id: str, period: Period) -> Iterator[pages.Examined]:
    """What the request examines of the records after its cursor: up to 500 conversations."""
    found = pages.in_portions(partial(store.list_page, workspace_id, agent_id), parameters.cursor(), parameters.limit())
    return pages.examine(found, lambda row, stored: _render(row, stored) if period.has(row) else None)


def delete(workspace_id: str, agent_id: str, period: Period) -> tuple[int, str | None]:
    """Stage the deletion of records of the period after the cursor of the request.

    Examines up to 500 conversations, and deletes up to 100 of them. Returns how many, and the position where the next
    request continues, None at the end. The commit raises ConditionFailed if one was written since it was read.
    """
    deleted = size = 0
    for examined, row in enumerate(store.list_page(workspace_id, agent_id, parameters.cursor(), pages.MAX_EXAMINED), 1):
        size += store.stored_bytes(row)
        if period.has(row):
            store.delete(row)
            deleted += 1
        if deleted == _MAX_DELETED or size > _MAX_BYTES or examined == pages.MAX_EXAMINED:
            return deleted, row.position
    return deleted, None


def _render(row: store.AnalyticsRow, stored: Document) -> Document:
    return {"convoID": row.item, "lastModified": _written(row), **stored}


def _written(row: store.AnalyticsRow) -> int:
    return ids.timestamp_of(row.version_tag) // 1000
