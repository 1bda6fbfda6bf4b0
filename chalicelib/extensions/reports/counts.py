"""Agents' hourly counts (`hours`) in the database, in the table `tallies`.

Each counted change is stored as a small row whose key contains the change's version tag, so a repeated change
overwrites its row. An hour's counts are the sums of these rows. The two rows for the day store the sums as absolute
numbers that are never incremented, so repeated and reordered messages have no effect. Change rows expire a week after
their hour. An hour can be recounted for six days. Until an hour is counted, reports add up its rows (`recent_counts`).

A stream may deliver a change after its agent was deleted and another agent was created with the same id. Therefore,
counts omit changes that are older than the agent.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby

from pynamodb.attributes import TTLAttribute, UnicodeAttribute

from chalicelib import clock, ids, storage
from chalicelib.agents import store as agents
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import hours, queue
from chalicelib.extensions.reports.hours import HourlyCounts, HourTotals
from chalicelib.extensions.reports.queue import RecountHour
from chalicelib.queues import shared_messages
from chalicelib.storage import Document
from chalicelib.workspaces import store as workspaces

# The agent id in the partition key of counts that belong to no agent, such as deliveries of clients' events.
NO_AGENT = ""
# Reports use the stored counts of an hour with more changes. Reading and decrypting 2,000 rows takes about 0.2 s.
MAX_CHANGES = 2_000
_CHANGE, _COUNTS, _GROUPS, _PEOPLE = "change", "counts", "groups", "people"
_KINDS = {None: _COUNTS, hours.PERSON: _PEOPLE}  # a dimension's kind is `_GROUPS`
_LARGE, _WORK = "large", "work"
_DAY_SECONDS = 24 * 60 * 60
_KEPT_SECONDS = 7 * _DAY_SECONDS
# Streams keep changes for a day. Rows for older changes are not written.
_RECENT_SECONDS = 2 * _DAY_SECONDS
# The maximum clock difference between two processes. No process writes for a deleted agent in the last four seconds
# before its id becomes available again (`deletion.cascade`).
_SKEW_SECONDS = 2
# A recount includes all changes that share its request if it begins this time after the request.
_SHARED_SECONDS = shared_messages.SHARED_SECONDS + 10


class ChangeRow(storage.SealedRow):
    """One change's counts."""

    class Meta:
        table_name = storage.table("tallies")

    lifecycle = storage.Lifecycle(
        "{workspace}#{agent}",
        "change#{hour}#{ULID}",
        owner="agent",
        export="no: expires",
        erasure="no: contains clients' ids only",
    )
    agent = UnicodeAttribute(hash_key=True)
    period = UnicodeAttribute(range_key=True)
    expires_at = TTLAttribute()


class DayRow(storage.DocumentRow):
    """A UTC day's counts by hour, or by dimension, hour and value, or by hour and client.

    The counts by client have a row of their own, because earlier releases drop them when they recount an hour.
    In the row by hour, `counted` contains the time of the count that last changed an hour, and `large` the number of
    changes of each hour with more than 2,000.
    """

    class Meta:
        table_name = storage.table("tallies")

    lifecycle = storage.Lifecycle(
        "{workspace}#{agent}",
        "counts#{day} or groups#{day} or people#{day}",
        owner="agent",
        export="no: counts earlier changes",
        erasure="no: contains clients' ids only",
    )
    agent = UnicodeAttribute(hash_key=True)
    period = UnicodeAttribute(range_key=True)


def record_changes(changes: Iterable[CountedChange]) -> None:
    """Store the changes' counts, and request a recount of their hours. This costs as much as `save_rows`."""
    save_rows([row for change in changes if (row := change_row(change))])


def change_row(change: CountedChange) -> ChangeRow | None:
    """Return an unstored row for a change, or None if the row would already have expired."""
    is_recent = abs(clock.seconds() - _second(change.version_tag)) <= _RECENT_SECONDS
    return _row(change) if is_recent else None


def save_rows(changes: Iterable[ChangeRow]) -> None:
    """Store change rows, and queue a recount of their hours. This costs one request per 25 rows, plus the queue's.

    Changes to the same hour share a recount for a minute.
    """
    rows = {row.keys: row for row in changes}
    storage.save_many([*rows.values()])
    shared_messages.send(((row.agent, hour_of(row)) for row in rows.values()), _request_recounts)


def recount(agent: str, hour: int, requested_at: int) -> None:
    """Replace an hour's counts with the sums of its changes.

    `agent` is the partition key, and `hour` is the first second of the hour. Omit changes from before the agent's
    creation. Do nothing if the hour was counted more than 70 seconds after `requested_at`, if the agent (or the
    workspace, for counts without an agent) was deleted, or if the changes may soon expire. This costs four requests,
    plus one per MB of changes.
    """
    if hour > clock.seconds() - (_KEPT_SECONDS - _DAY_SECONDS):
        storage.retry_on_conflict(lambda: _recount(agent, hour, requested_at))


def recount_all(workspace_id: str, agent_id: str) -> int:
    """Recount every hour in which an agent has changes. Return the number of hours."""
    agent = storage.join_key(workspace_id, agent_id)
    rows = storage.iterate(ChangeRow, agent, ChangeRow.period.startswith(f"{_CHANGE}#"))
    changed_hours = sorted({hour_of(row) for row in rows})
    for hour in changed_hours:
        recount(agent, hour, clock.seconds())
    return len(changed_hours)


def read(workspace_id: str, agent_id: str, start: int, end: int, dimension: str | None) -> Iterator[HourlyCounts]:
    """Yield the hourly counts from `start` until `end` (exclusive), in Unix seconds. This costs one request per MB."""
    kind = _KINDS.get(dimension, _GROUPS)
    days = DayRow.period.between(_period(kind, clock.iso(start)[:10]), _period(kind, clock.iso(end - 1)[:10]))
    for row in storage.query(DayRow, storage.join_key(workspace_id, agent_id), days, consistent=False):
        first, document = clock.start_of_day(storage.split_key(row.period)[1]), row.open()
        by_hour = document["hours"] if dimension is None else document.get(dimension, {})
        for number, of_hour in by_hour.items():
            hour = first + int(number) * hours.SECONDS
            if start <= hour < end:
                values = {"": of_hour} if dimension is None else of_hour
                yield from (HourlyCounts(hour, value, counts) for value, counts in values.items())


def day_key(agent: str, hour: int) -> storage.Key:
    """Return the key of the row that contains an hour's counts. `agent` is the partition key."""
    return _key(_COUNTS, agent, hour)


def is_large(day: Document, hour: int) -> bool:
    """Return whether an hour was counted with more than 2,000 changes. `day` is the document of its row."""
    return _number(hour) in day.get(_LARGE, {})


def stored(day: Document, hour: int) -> list[int]:
    """Return an hour's stored counts. `day` is the document of its row."""
    return hours.padded(day.get("hours", {}).get(_number(hour), ()))


def read_hour(agent: str, hour: int) -> tuple[HourTotals, int]:
    """Return an hour's stored counts, and the Unix second before which they include all change rows.

    This costs two requests. The groups are read last, because they are written first.
    """
    (total,) = storage.find_many([day_key(agent, hour)])
    grouped = storage.find_many([_key(kind, agent, hour) for kind in (_GROUPS, _PEOPLE)])
    day, groups, people = (row.open() if row else {} for row in (total, *grouped))
    number, values = _number(hour), {**groups, **people}
    by_dimension = {name: values.get(name, {}).get(number, {}) for name in (*hours.DIMENSIONS, hours.PERSON)}
    totals = HourTotals(stored(day, hour), by_dimension, day.get(_LARGE, {}).get(number, 0))
    return totals, day.get("counted", {}).get(number, hour)


def iterate_changes(agent: str, first: int, last: int) -> Iterator[ChangeRow]:
    """Yield the change rows from the hour `first` to the hour `last`, ordered by time. This costs a request per MB."""
    prefixes = (_period(_CHANGE, clock.iso(hour)[:13], end) for hour, end in ((first, ""), (last, ids.HIGHEST)))
    return storage.iterate(ChangeRow, agent, ChangeRow.period.between(*prefixes))


def add_up(rows: Iterable[ChangeRow], since: float) -> HourTotals:
    """Return the sums of the changes that were caused at or after `since`, in Unix seconds."""
    return hours.add_up(
        (document["counts"], document["values"], document.get(_WORK, {}))
        for row in rows
        if (document := row.open()).get("causedAt", _second(storage.split_key(row.period)[-1])) >= since
    )


def start_of_counting(agent: Document) -> float:
    """Return the Unix second from which changes belong to this agent, and not to a deleted agent with the same id."""
    created = agent.get(agents.CREATED)
    # An invalid stored time must not block the agent's counts.
    return created - _SKEW_SECONDS if isinstance(created, int | float) else 0


def hour_of(row: ChangeRow) -> int:
    """Return the first second of the hour in which a change was written."""
    day, hour = storage.split_key(row.period)[1].split("T")
    return clock.start_of_day(day) + int(hour) * hours.SECONDS


def list_changes(workspace_id: str, agent_id: str, limit: int) -> list[ChangeRow]:
    """Return up to `limit` change rows, for the cascading delete."""
    within = ChangeRow.period.startswith(f"{_CHANGE}#")
    return storage.query(ChangeRow, storage.join_key(workspace_id, agent_id), within, limit=limit)


def _request_recounts(agent_hours: list[tuple[str, int]]) -> None:
    for workspace_id, of_workspace in groupby(agent_hours, lambda hour: storage.split_key(hour[0])[0]):
        queue.send(workspace_id, [RecountHour(agent, hour, clock.seconds()) for agent, hour in of_workspace])


def _recount(agent: str, hour: int, requested_at: int) -> None:
    workspace_id, agent_id = storage.split_key(agent)
    number, keys = _number(hour), [_key(kind, agent, hour) for kind in (_COUNTS, _GROUPS, _PEOPLE)]
    has_agent = agent_id != NO_AGENT
    owner_key = agents.key(workspace_id, agent_id) if has_agent else workspaces.key(workspace_id)
    owner, *rows = storage.find_many([owner_key, *keys])
    is_gone = owner is None or (has_agent and not agents.is_active(owner))
    total, groups, people = (row or DayRow(key.partition, key.sort) for row, key in zip(rows, keys, strict=True))
    counts_before = total.open() if total.version_tag else {"hours": {}, "counted": {}}
    if is_gone or counts_before["counted"].get(number, 0) > requested_at + _SHARED_SECONDS:
        return
    now = clock.seconds()
    sums = add_up(iterate_changes(agent, hour, hour), start_of_counting(owner.open()) if has_agent else 0)
    if not any(sums.counts) and number not in counts_before["hours"]:
        return
    _put_groups(groups, number, {name: sums.groups[name] for name in hours.DIMENSIONS})
    _put_groups(people, number, {hours.PERSON: sums.groups[hours.PERSON]})
    # This row is written last, because it marks the hour as counted.
    by_hour = {**counts_before["hours"], number: hours.to_store(sums.counts)}
    if not any(sums.counts):
        del by_hour[number]
    large = {**counts_before.get(_LARGE, {}), **({number: sums.changes} if sums.changes > MAX_CHANGES else {})}
    after = {**counts_before, "hours": by_hour, **({_LARGE: large} if large else {})}
    if after != counts_before:
        _put_if_changed(total, counts_before, {**after, "counted": {**counts_before["counted"], number: now}})


def _put_groups(row: DayRow, number: str, groups: hours.Groups) -> None:
    """Replace an hour's groups in their day's row, which is not written if it has none before and after."""
    before = row.open() if row.version_tag else {}
    if any(groups.values()) or any(number in before.get(name, {}) for name in groups):
        to_store = {name: {value: hours.to_store(values[value]) for value in values} for name, values in groups.items()}
        after = {name: {**before.get(name, {}), number: values} for name, values in to_store.items()}
        _put_if_changed(row, before, after)


def _put_if_changed(row: DayRow, before: Document, after: Document) -> None:
    if before != after:
        row.seal(after)
        with storage.unit_of_work():
            storage.put(row)


def _row(change: CountedChange) -> ChangeRow:
    second = _second(change.version_tag)
    row = ChangeRow(change.agent, _period(_CHANGE, clock.iso(second)[:13], change.version_tag))
    row.expires_at = clock.to_datetime(second - second % hours.SECONDS + _KEPT_SECONDS)
    cause = {} if change.caused_at is None else {"causedAt": change.caused_at}
    work = {_WORK: own} if (own := hours.work_of(change)) else {}
    row.seal({"counts": hours.to_store(hours.numbers_of(change)), "values": hours.values_of(change), **cause, **work})
    return row


def _key(kind: str, agent: str, hour: int) -> storage.Key:
    return storage.Key(DayRow, agent, _period(kind, clock.iso(hour)[:10]))


def _number(hour: int) -> str:
    """Return the hour's name in its day's documents, such as `09`."""
    return clock.iso(hour)[11:13]


def _second(version_tag: str) -> int:
    return ids.timestamp_of(version_tag) // 1000


def _period(kind: str, *texts: str) -> str:
    return storage.join_key(kind, *texts)
