"""Deleted agents' usage by UTC day, which remains for billing.

The cascading delete removes an agent's counts, so that a new agent with the same id begins at zero. Before that, the
agent's usage is saved as one row, in the partition of the counts that belong to no agent. Rows are sorted by the time
of the deletion, so a report reads only the agents that were deleted after its period began.
"""

from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby, islice

from pynamodb.attributes import TTLAttribute, UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.agents import store as agents
from chalicelib.agents.store import AgentRow
from chalicelib.extensions.reports import counts, hours
from chalicelib.extensions.reports.counts import NO_AGENT, ChangeRow
from chalicelib.storage import Document

_DAY_SECONDS = 24 * 60 * 60
# A usage report begins at most 366 days ago.
_KEPT_SECONDS = 400 * _DAY_SECONDS
# The changes of the last two hours that are added up. Their hours' stored counts are at most 20 minutes older.
_MAX_CHANGES = 20_000
# The most deleted agents in which one agent's usage is searched.
_MAX_DELETED = 1_000
_USAGE = "usage"


class DeletedUsageRow(storage.DocumentRow):
    """A deleted agent's counts by UTC day. Its ULID is the deletion's version tag."""

    class Meta:
        table_name = storage.table("tallies")

    lifecycle = storage.Lifecycle(
        "{workspace}#",
        "usage#{ULID}#{agent}",
        owner="workspace",
        export="no: expires",
        erasure="no: describes no person",
    )
    agent = UnicodeAttribute(hash_key=True)
    period = UnicodeAttribute(range_key=True)
    expires_at = TTLAttribute()

    @property
    def agent_id(self) -> str:
        """The deleted agent's id."""
        return storage.split_key(self.period)[2]

    @property
    def deletion(self) -> str:
        """The deletion's version tag."""
        return storage.split_key(self.period)[1]

    @property
    def deleted_at(self) -> int:
        """The Unix second of the deletion."""
        return ids.timestamp_of(self.deletion) // 1000

    def days(self, start: int, end: int) -> dict[int, list[int]]:
        """Return the counts from `start` until `end` (exclusive) by UTC day, which is the day's first second."""
        by_day = {clock.start_of_day(day): numbers for day, numbers in self.open()["days"].items()}
        return {day: hours.padded(numbers) for day, numbers in by_day.items() if start <= day < end}


def list_changes(workspace_id: str, agent_id: str, limit: int) -> list[ChangeRow]:
    """Return up to `limit` change rows for the cascading delete, after the agent's usage was saved.

    This costs up to three requests, and once for each agent one per MB of its counts.
    """
    tombstone = agents.find_tombstone(workspace_id, agent_id)
    if tombstone is not None:
        _save(tombstone)
    return counts.list_changes(workspace_id, agent_id, limit)


def list_page(workspace_id: str, since: int, after: str, limit: int) -> list[DeletedUsageRow]:
    """Return up to `limit` agents' rows for deletions at or after the Unix second `since`, oldest first.

    `after` is the last page's last deletion, or empty. This costs one request.
    """
    first = f"{after}{ids.HIGHEST}" if after else ids.id_at(since * 1000, 0)
    deletions = DeletedUsageRow.period.between(storage.join_key(_USAGE, first), storage.join_key(_USAGE, ids.HIGHEST))
    partition = storage.join_key(workspace_id, NO_AGENT)
    return storage.query(DeletedUsageRow, partition, deletions, limit=limit, consistent=False)


def read(workspace_id: str, agent_id: str, since: int) -> list[DeletedUsageRow]:
    """Return the rows of the agents with an id that were deleted at or after `since`. Raise NotFound if there are none.

    Only the workspace's newest 1,000 deletions are searched. This costs one request per MB of their usage.
    """
    deletions = DeletedUsageRow.period > storage.join_key(_USAGE, ids.id_at(since * 1000, 0))
    partition = storage.join_key(workspace_id, NO_AGENT)
    newest = storage.query(
        DeletedUsageRow, partition, deletions, newest_first=True, limit=_MAX_DELETED, consistent=False
    )
    rows = [row for row in reversed(newest) if row.agent_id == agent_id]
    return rows or errors.require(None, "agent")


def _save(tombstone: AgentRow) -> None:
    """Save the usage once. Later runs of the cascade find only a part of the counts."""
    agent = storage.join_key(tombstone.workspace_id, tombstone.agent_id)
    key = storage.join_key(_USAGE, str(tombstone.version_tag), tombstone.agent_id)
    row = DeletedUsageRow(storage.join_key(tombstone.workspace_id, NO_AGENT), key)
    saved = storage.query(DeletedUsageRow, row.agent, DeletedUsageRow.period == row.period, limit=1)
    if not saved and (days := _by_day(agent, int(tombstone.deleted_at))):
        row.seal({"days": days})
        row.expires_at = clock.to_datetime(int(tombstone.deleted_at) + _KEPT_SECONDS)
        with suppress(storage.ConditionFailed), storage.unit_of_work():  # another run may have saved it
            storage.put(row)


def _by_day(agent: str, deleted_at: int) -> Document:
    """Return an agent's counts by UTC day. The last two hours may not be counted yet, so their changes are added up."""
    workspace_id, agent_id = storage.split_key(agent)
    stored = counts.read(workspace_id, agent_id, deleted_at - _KEPT_SECONDS, deleted_at + _DAY_SECONDS, None)
    by_hour = {hour.start: hours.padded(hour.counts) for hour in stored}
    current = deleted_at - deleted_at % hours.SECONDS
    changes = counts.iterate_changes(agent, current - hours.SECONDS, current + hours.SECONDS)
    for hour, rows in groupby(islice(changes, _MAX_CHANGES), counts.hour_of):
        sums = counts.add_up(rows, 0).counts
        by_hour[hour] = [*map(max, by_hour.get(hour, sums), sums)]
    return _sums(by_hour.items())


def _sums(by_hour: Iterable[tuple[int, list[int]]]) -> Document:
    days: dict[str, list[int]] = {}
    for hour, numbers in by_hour:
        hours.add(days.setdefault(clock.iso(hour)[:10], [0] * len(hours.NAMES)), numbers)
    return {day: hours.to_store(numbers) for day, numbers in sorted(days.items())}
