"""Reports: the counts of agents, read from the tallies and added up."""

from collections.abc import Iterable, Iterator

from chalicelib.analytics import counts, series
from chalicelib.analytics.asked import Asked
from chalicelib.analytics.hours import Hour
from chalicelib.storage import Document


def of_agents(workspace_id: str, agent_ids: Iterable[str], asked: Asked) -> Document:
    """The report of some agents together. One request per agent, and one more for each further MB."""
    found = _read(workspace_id, agent_ids, asked)
    if asked.by is None:
        return series.build(asked.period, asked.before, asked.interval, found)
    hours = [*found]
    whole = series.build(asked.period, asked.before, asked.interval, hours)
    return {**whole, "groups": series.build_groups(asked.period, asked.before, asked.interval, hours)}


def _read(workspace_id: str, agent_ids: Iterable[str], asked: Asked) -> Iterator[Hour]:
    for agent_id in agent_ids:
        yield from counts.read(workspace_id, agent_id, asked.before.start, asked.period.end, asked.by)
