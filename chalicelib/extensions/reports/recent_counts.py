"""Counts that include the changes of the last seconds.

The current and the previous hour are *recent*: some of their changes may not be counted yet. Reports do not add
anything to the stored counts of these hours. They replace them with the sums of the change rows, which are the only
source of every count. Therefore, a recount at the same time cannot make a total too high.

A recent hour with more than 2,000 changes is *large*, and has its stored counts in reports. If no count has marked the
hour as large yet, the report counts the hour first. The rows only increase, so that count includes every row that an
earlier report has added up, and no total decreases.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from chalicelib import clock, storage
from chalicelib.agents import store as agents
from chalicelib.extensions.reports import counts, hours
from chalicelib.extensions.reports.hours import HourlyCounts, HourTotals

# The maximum number of agents in a report with recent counts. Each costs a query.
MAX_AGENTS = 50
# The time after which a change has a row: the stream's window of three seconds, its delivery and a cold start.
STREAM_SECONDS = 10
# The time after which a change is counted: the stream's, the recount delay of 15 minutes, and two repeated recounts.
COUNTING_SECONDS = 20 * 60
_RECENT_HOURS = 2


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
        """Return an agent's counts for each UTC day that has any, as `counts.read_days` does."""
        return counts.sum_days(self.read(agent_id, start, end, None))


def read(workspace_id: str, agent_ids: Sequence[str], start: int, end: int) -> RecentCounts:
    """Return the recent counts of a report on these agents from `start` until `end` (exclusive), in Unix seconds.

    Above 50 agents, return no recent counts. This costs a query per agent and one per further MB of its changes. One
    more request reads the agents, or two if there are many. A large hour costs two more requests and, if the report has
    to count the hour, the cost of `counts.recount`.
    """
    now = clock.seconds()
    current = now - now % hours.SECONDS
    reported = [hour for hour in (current - hours.SECONDS, current) if start <= hour < end]
    if not reported:
        return RecentCounts(workspace_id, now - STREAM_SECONDS, {})
    if len(agent_ids) > MAX_AGENTS:
        return RecentCounts(workspace_id, now - COUNTING_SECONDS, {})
    by_agent: dict[str, dict[int, HourTotals]] = {}
    until = [now - STREAM_SECONDS]
    for agent in _read_agents(workspace_id, agent_ids, reported):
        totals, large = _add_up(agent, reported)
        for hour in large:
            totals[hour], counted = counts.read_hour(agent.partition, hour)
            is_complete = counted - STREAM_SECONDS >= hour + hours.SECONDS
            until += [] if is_complete else [counted - STREAM_SECONDS]
        by_agent[agent.agent_id] = totals
    return RecentCounts(workspace_id, min(until), by_agent)


class _Agent(NamedTuple):
    """An agent, the Unix second from which changes belong to it, and the hours that are known to be large."""

    agent_id: str
    partition: str
    since: float
    large: frozenset[int]


def _read_agents(workspace_id: str, agent_ids: Sequence[str], recent: Sequence[int]) -> Iterator[_Agent]:
    """Yield the agents that exist."""
    partitions = [storage.join_key(workspace_id, agent_id) for agent_id in agent_ids]
    keys = [agents.key(workspace_id, agent_id) for agent_id in agent_ids]
    day_keys = [counts.day_key(partition, hour) for partition in partitions for hour in recent]
    rows = iter(storage.find_many([*keys, *day_keys]))
    for agent_id, partition, agent in zip(agent_ids, partitions, [*islice(rows, len(keys))], strict=True):
        days = zip(recent, [*islice(rows, len(recent))], strict=True)
        large = frozenset(hour for hour, day in days if counts.is_large(day, hour))
        if agent_id == counts.NO_AGENT:
            yield _Agent(agent_id, partition, 0, large)
        elif agents.is_active(agent):
            yield _Agent(agent_id, partition, counts.start_of_counting(agent.open()), large)


def _add_up(agent: _Agent, recent: Sequence[int]) -> tuple[dict[int, HourTotals], frozenset[int]]:
    """Return the sums of the changes in each recent hour that is not large, and the large hours."""
    small = [hour for hour in recent if hour not in agent.large]
    totals: dict[int, HourTotals] = {}
    changes = counts.iterate_changes(agent.partition, small[0], small[-1]) if small else ()
    for hour, rows in groupby(changes, counts.hour_of):
        taken = [*islice(rows, counts.MAX_CHANGES + 1)]
        if len(taken) > counts.MAX_CHANGES:
            counts.recount(agent.partition, hour, clock.seconds())
            return _add_up(agent._replace(large=agent.large | {hour}), recent)
        totals[hour] = counts.add_up(taken, agent.since)
    return totals, agent.large
