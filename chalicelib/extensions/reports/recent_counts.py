"""Counts that include the changes of the last seconds.

The current and the previous hour are *recent*: some of their changes may not be counted yet. Reports do not add
anything to the stored counts of these hours. They replace them with the sums of the change rows, which are the only
source of every count. Therefore, a recount at the same time cannot make a total too high.

No total decreases, because change rows are only added, and because stored counts replace sums only if they include the
same rows:

- A recent hour with more than 2,000 changes is *large*, and has its stored counts in reports. If no recount has found
  that number of changes yet, the report itself recounts the hour. Earlier reports have added up fewer rows.
- If the previous hour is still not counted 20 minutes after its end, the report recounts it. An hour later, reports use
  its stored counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from chalicelib import clock, storage
from chalicelib.agents import store as agents
from chalicelib.extensions.reports import counts, hours
from chalicelib.extensions.reports.hours import HourlyCounts, HourTotals
from chalicelib.storage import Document

# The maximum number of agents in a report with recent counts. Each costs a query.
MAX_AGENTS = 50
# The time after which a change has a row: the stream's window of three seconds, its delivery and a cold start.
STREAM_SECONDS = 10
# The time after which a change is counted: the stream's, the recount delay of 15 minutes, and two repeated recounts.
COUNTING_SECONDS = 20 * 60
_DAY_SECONDS = 24 * 60 * 60


class RecentCounts(NamedTuple):
    """A workspace's counts for recent hours, by agent id and hour. They replace the stored counts.

    All changes from before `counted_until`, in Unix seconds, are included.
    """

    workspace_id: str
    counted_until: int
    by_agent: dict[str, dict[int, HourTotals]]

    def read(self, agent_id: str, start: int, end: int, dimension: str | None) -> Iterator[HourlyCounts]:
        """Yield an agent's hourly counts as `counts.read` does, and at the same cost, with the recent counts."""
        recent = self.by_agent.get(agent_id, {})
        for stored in counts.read(self.workspace_id, agent_id, start, end, dimension):
            if stored.start not in recent:
                yield stored
        for hour, totals in recent.items():
            if start <= hour < end:
                values = {"": totals.counts} if dimension is None else totals.groups[dimension]
                yield from (HourlyCounts(hour, value, numbers) for value, numbers in values.items() if any(numbers))

    def read_days(self, agent_id: str, start: int, end: int) -> dict[int, list[int]]:
        """Return the sums of an agent's counts by UTC day, which is the day's first second. This costs as `read`."""
        days: dict[int, list[int]] = {}
        for hour in self.read(agent_id, start, end, None):
            hours.add(days.setdefault(hour.start - hour.start % _DAY_SECONDS, [0] * len(hours.NAMES)), hour.counts)
        return days


def read(workspace_id: str, agent_ids: Sequence[str], start: int, end: int) -> RecentCounts:
    """Return the recent counts of a report on these agents from `start` until `end` (exclusive), in Unix seconds.

    Above 50 agents, return no recent counts. This costs a query per agent and one per further MB of its changes. One
    more request reads the agents, or two if there are many. A large hour costs two more requests, and so does an hour
    that the report recounts, plus the cost of `counts.recount`.
    """
    now = clock.seconds()
    current = now - now % hours.SECONDS
    reported = [hour for hour in (current - hours.SECONDS, current) if start <= hour < end]
    if not reported:
        return RecentCounts(workspace_id, now - STREAM_SECONDS, {})
    if len(agent_ids) > MAX_AGENTS:
        return RecentCounts(workspace_id, now - COUNTING_SECONDS, {})
    by_agent: dict[str, dict[int, HourTotals]] = {}
    until = now - STREAM_SECONDS
    for agent in _read_agents(workspace_id, agent_ids, reported):
        totals, stored_hours = _add_up(agent, reported, now - COUNTING_SECONDS)
        for hour in stored_hours:
            totals[hour], counted = counts.read_hour(agent.partition, hour)
            # The time of the last recount is not stored if the recount changed nothing.
            included = max(counted - STREAM_SECONDS, now - COUNTING_SECONDS)
            until = min(until, included) if included < hour + hours.SECONDS else until
        by_agent[agent.agent_id] = totals
    return RecentCounts(workspace_id, until, by_agent)


class _Agent(NamedTuple):
    """An agent, the Unix second from which changes belong to it, its days, and the hours with stored counts.

    `days` contains the document with the stored counts for each recent hour.
    """

    agent_id: str
    partition: str
    since: float
    days: Mapping[int, Document]
    stored_hours: frozenset[int]


def _read_agents(workspace_id: str, agent_ids: Sequence[str], recent: Sequence[int]) -> Iterator[_Agent]:
    """Yield the agents that exist."""
    keys = {agent_id: agents.key(workspace_id, agent_id) for agent_id in agent_ids}
    partitions = {agent_id: storage.join_key(workspace_id, agent_id) for agent_id in agent_ids}
    day_keys = [counts.day_key(partition, hour) for partition in partitions.values() for hour in recent]
    all_keys = [*keys.values(), *day_keys]
    rows = dict(zip(all_keys, storage.find_many(all_keys), strict=True))
    for agent_id, partition in partitions.items():
        days = {hour: row.open() if (row := rows[counts.day_key(partition, hour)]) else {} for hour in recent}
        large = frozenset(hour for hour in recent if counts.is_large(days[hour], hour))
        agent = rows[keys[agent_id]]
        if agent_id == counts.NO_AGENT:
            yield _Agent(agent_id, partition, 0, days, large)
        elif agents.is_active(agent):
            yield _Agent(agent_id, partition, counts.start_of_counting(agent.open()), days, large)


def _add_up(agent: _Agent, recent: Sequence[int], due: int) -> tuple[dict[int, HourTotals], frozenset[int]]:
    """Return the sums of the changes by hour, and the hours whose stored counts are used instead.

    `due` is the Unix second until which ended hours should have been counted.
    """
    small = [hour for hour in recent if hour not in agent.stored_hours]
    totals: dict[int, HourTotals] = {}
    changes = counts.iterate_changes(agent.partition, small[0], small[-1]) if small else ()
    for hour, rows in groupby(changes, counts.hour_of):
        taken = [*islice(rows, counts.MAX_CHANGES + 1)]
        totals[hour] = counts.add_up(taken, agent.since)
        is_overdue = hour + hours.SECONDS <= due and totals[hour].counts != counts.stored(agent.days[hour], hour)
        if len(taken) > counts.MAX_CHANGES or is_overdue:
            counts.recount(agent.partition, hour, clock.seconds())
            return _add_up(agent._replace(stored_hours=agent.stored_hours | {hour}), recent, due)
    return totals, agent.stored_hours
