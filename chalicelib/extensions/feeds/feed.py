"""Feeds: the events of a pull endpoint, numbered from 1 in the order in which they were stored.

A transaction appends up to 49 events: it writes each event's number and a mark for its id, on condition that neither
exists, and updates the row of the previous number. So numbers have no gaps, a late event gets the next number instead
of a place behind a reader, and a repeated event fails the condition on its mark. The numbers were chosen over times
with a safety margin because they need no clocks and add no delay; one feed accepts about 500 events per second.

An append of n events consumes 4n + 2 write units, and costs a query and a transaction. A row contains only an event's
id. Its event is stored once for all endpoints (`webhooks.ledger`), so that erasures delete one copy.
"""

import logging
import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from pynamodb.attributes import TTLAttribute, UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.storage import encryption
from chalicelib.webhooks import ledger, retry_policy

_log = logging.getLogger(__name__)

# A transaction has at most 100 items: two per event, and the previous row.
MAX_APPENDED = 49
_DAY_SECONDS = 24 * 60 * 60
# Rows outlive their events, whose time starts a little earlier. Marks outlive every queue and dead letter.
_ROW_DAYS, _MARK_DAYS = retry_policy.KEPT_DAYS + 1, 60
# The newest row contains the last number, so it stays until the next append, or until the feed has had no event for
# this long. Later events are numbered from 1 again, and `read` rejects all earlier positions.
_NEWEST_DAYS = 400
_DIGITS = 12
POSITION = re.compile(rf"[1-9][0-9]{{0,{_DIGITS - 1}}}-{ids.ULID.pattern}")


class FeedRow(storage.Row):
    """An event's number in a feed. The sort key contains the number, and `event` is the event's id."""

    class Meta:
        table_name = storage.table("events")

    lifecycle = storage.Lifecycle(
        "{workspace}#{webhook}",
        "pull#{number}",
        owner="workspace",
        export="no: begins again after an import",
        erasure="no: contains only ids",
    )
    workspace = UnicodeAttribute(hash_key=True)
    event_id = UnicodeAttribute(range_key=True)
    event = UnicodeAttribute()
    expires_at = TTLAttribute()

    @property
    def number(self) -> int:
        """The event's number, from 1."""
        return int(storage.split_key(self.event_id)[1])


class MarkRow(storage.Row):
    """A mark that an event is in a feed. A feed's marks are spread over 32 partitions."""

    class Meta:
        table_name = storage.table("events")

    lifecycle = storage.Lifecycle(
        "{workspace}#{webhook}#{digit}",
        "pulled#{ULID}",
        owner="workspace",
        export="no: begins again after an import",
        erasure="no: contains only ids",
    )
    workspace = UnicodeAttribute(hash_key=True)
    event_id = UnicodeAttribute(range_key=True)
    expires_at = TTLAttribute()


class Position(NamedTuple):
    """A reader's position: the number and id of the last event that it has read."""

    number: int
    event_id: str

    def __str__(self) -> str:
        return f"{self.number}-{self.event_id}"

    @staticmethod
    def parse(text: str) -> "Position":
        """Return the position for a text that matches `POSITION`."""
        number, _, event_id = text.partition("-")
        return Position(int(number), event_id)


class FeedEntry(NamedTuple):
    """An event in a page, at its position. `event` is None if the event is not stored or cannot be decrypted."""

    position: Position
    is_stored: bool
    event: storage.Document | None


class FeedPage(NamedTuple):
    """Consecutive entries. `is_expired` means that events after the reader's position have expired."""

    entries: list[FeedEntry]
    has_more: bool
    is_expired: bool


def append(workspace_id: str, webhook_id: str, event_ids: Collection[str]) -> None:
    """Append stored events to a feed, except those that it already contains.

    This costs two requests per 49 events, and more if another writer or an earlier attempt came first. Raise
    Unavailable, or ConditionFailed if other writers came first twenty times.
    """
    feed = _Feed(workspace_id, webhook_id)
    distinct = [*dict.fromkeys(event_ids)]
    for start in range(0, len(distinct), MAX_APPENDED):
        new = distinct[start : start + MAX_APPENDED]
        try:
            feed.append(new)
        except storage.ConditionFailed:
            storage.retry_on_conflict(partial(feed.append_missing, new))


def read(workspace_id: str, webhook_id: str, after: Position | None, limit: int) -> FeedPage:
    """Return up to `limit` entries after a position, or from the oldest stored one.

    The page ends before a number whose transaction is still being written. This costs two requests, and one more if the
    page begins after expired events. Raise Invalid if the feed does not contain the position.
    """
    feed = _Feed(workspace_id, webhook_id)
    rows = feed.rows_from(after.number if after else 0, limit + 2)
    if after and (not rows or (rows[0].number == after.number and rows[0].event != after.event_id)):
        raise errors.Invalid.member("after", "must be a position in this feed; without it, the feed begins again")
    previous = after.number if after else 0
    following = [row for row in rows if row.number > previous]
    readable = [*feed.without_unwritten(previous, following)]
    listed = readable[:limit]
    entries = _entries(workspace_id, listed)
    is_expired = after is not None and any(
        row.number != number or (not entry.is_stored and _has_expired(row))
        for number, (row, entry) in enumerate(zip(listed, entries, strict=True), previous + 1)
    )
    return FeedPage(entries, len(following) > len(listed), is_expired)


def list_all(workspace_id: str, webhook_id: str) -> Iterator[storage.Row]:
    """Yield a feed's rows and marks."""
    feed = _Feed(workspace_id, webhook_id)
    yield from storage.iterate(FeedRow, feed.partition)
    for digit in ids.CROCKFORD:
        yield from storage.iterate(MarkRow, storage.join_key(feed.partition, digit))


class _Feed(NamedTuple):
    """A pull endpoint's feed."""

    workspace_id: str
    webhook_id: str

    @property
    def partition(self) -> str:
        return storage.join_key(self.workspace_id, self.webhook_id)

    def append_missing(self, event_ids: Sequence[str]) -> None:
        """Append the events that have no mark. Raise ConditionFailed if another writer came first."""
        marks = storage.find_many([storage.Key(MarkRow, *self._mark_key(event_id)) for event_id in event_ids])
        self.append([event_id for event_id, mark in zip(event_ids, marks, strict=True) if mark is None])

    def append(self, event_ids: Sequence[str]) -> None:
        """Append events. Raise ConditionFailed if another writer came first, or if an event has a mark."""
        if not event_ids:
            return
        newest = next(storage.iterate(FeedRow, self.partition, limit=1, newest_first=True), None)
        last = (newest.number if newest else 0) + len(event_ids)
        with storage.unit_of_work():
            if newest:
                # DynamoDB finishes an earlier transaction on this row first, so its rows are visible before these.
                storage.update(
                    newest,
                    [FeedRow.expires_at.set(clock.to_datetime(_days_from_now(_ROW_DAYS)))],
                    FeedRow.event.exists(),
                )
            for number, event_id in enumerate(event_ids, last - len(event_ids) + 1):
                row = FeedRow(self.partition, _sort_key(number), event=event_id)
                row.expires_at = clock.to_datetime(_days_from_now(_NEWEST_DAYS if number == last else _ROW_DAYS))
                storage.put(row, FeedRow.event.does_not_exist())
                mark = MarkRow(*self._mark_key(event_id), expires_at=clock.to_datetime(_days_from_now(_MARK_DAYS)))
                storage.put(mark, MarkRow.event_id.does_not_exist())

    def rows_from(self, number: int, limit: int) -> list[FeedRow]:
        """Return up to `limit` rows from a number on. This costs one request."""
        return storage.query(FeedRow, self.partition, FeedRow.event_id >= _sort_key(number), limit=limit)

    def without_unwritten(self, previous: int, rows: Sequence[FeedRow]) -> Iterator[FeedRow]:
        """Yield rows after a number, until an earlier row is missing because its transaction is still being written.

        Other missing rows have expired. A transactional read distinguishes them, unless the next row has expired, too:
        TTL deletes expired rows in any order.
        """
        now = clock.seconds()
        for row in rows:
            if row.number != previous + 1 and row.expires_at.timestamp() > now:
                missing = storage.Key(FeedRow, self.partition, _sort_key(row.number - 1))
                if storage.find_serializable(missing):
                    return
            previous = row.number
            yield row

    def _mark_key(self, event_id: str) -> tuple[str, str]:
        return storage.join_key(self.partition, event_id[-1:]), storage.join_key("pulled", event_id)


def _entries(workspace_id: str, rows: Sequence[FeedRow]) -> list[FeedEntry]:
    events = storage.find_written([ledger.event_key(workspace_id, row.event) for row in rows])
    return [_entry(Position(row.number, row.event), event) for row, event in zip(rows, events, strict=True)]


def _entry(position: Position, event: ledger.EventRow | None) -> FeedEntry:
    if event is None or event.expires_at.timestamp() <= clock.seconds():
        return FeedEntry(position, False, None)
    try:
        return FeedEntry(position, True, event.open())
    except encryption.DecryptionError:
        # The event was tampered with, or restored without its key. Raising an error would block all later events.
        _log.exception("Cannot decrypt an event; the feed lists it as unreadable: %s", event)
        return FeedEntry(position, True, None)


def _has_expired(row: FeedRow) -> bool:
    """Return whether a missing event may have expired. A younger event was deleted by an erasure."""
    return ids.timestamp_of(row.event) // 1000 + retry_policy.KEPT_DAYS * _DAY_SECONDS <= clock.seconds()


def _sort_key(number: int) -> str:
    return storage.join_key("pull", f"{number:0{_DIGITS}}")


def _days_from_now(days: int) -> int:
    return clock.seconds() + days * _DAY_SECONDS
