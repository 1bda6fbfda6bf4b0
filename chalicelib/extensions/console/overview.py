"""The overview: what happened at a person's agents in the last 30 days, and who waits for a person."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from chalice.app import Response

from chalicelib import clock, extensions
from chalicelib.agents import store as agents
from chalicelib.conversations import filtered_lists, store
from chalicelib.extensions.console import guard, periods, template_filters
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.ids import IDENTIFIER
from chalicelib.storage import Document, split_key

_REPORTS: Any = extensions.service("series")  # None if the reports are off
TILES = ("conversations", "messages", "newVisitors", "handoffs", "leads")
CHARTS = ("conversations", "messages", "handoffs")
# What is shown by each dimension. Only page loads, which count visitors, have a country.
DIMENSIONS = {"origin": "conversations", "country": "newVisitors"}
MAX_AGENTS = 50
_DAYS, _DAY_SECONDS = 30, 24 * 60 * 60
_MAX_BARS, _MAX_WAITING = 8, 5


class Agents(NamedTuple):
    """The titles of the first agents that a person sees, by id, and whether there are more."""

    titles: dict[str, str]
    has_more: bool


@signed_in("/overview")
def read_overview(session: Session) -> Response:
    """Show what happened in the last 30 days, and who waits for a person.

    Requests: the agents, the inbox, and two for each agent, up to 50.
    """
    entries, has_more = shown_agents(session)
    period = _period()
    of_agents = {one: [*_REPORTS.read(session.workspace_id, one, *_bounds(period), None)] for one in entries}
    found, before = _all(of_agents), period.before()
    report = _REPORTS.build_series(period, before, "day", periods.comparable(found, period, before))
    earlier = _REPORTS.build_series(before, before.before(), "day", [one for one in found if one.start < before.end])
    t = guard.texts(session)
    return guard.page(
        session,
        "overview.html",
        "/overview",
        report=report,
        series=periods.labelled(report["series"], "day", period.zone, t),
        earlier=periods.labelled(earlier["series"], "day", period.zone, t),
        tiles=TILES,
        charts_shown=CHARTS,
        bars={"agent": _by_agent(period, entries, of_agents), **_by_dimensions(session, period, [*entries])},
        waiting=waiting(session, _MAX_WAITING),
        charted_count=periods.charted_count(report["series"], period.end),
        titles=entries,
        has_more_agents=has_more,
        period=period,
    )


def shown_agents(session: Session) -> Agents:
    """Return the first 50 agents that the person sees; an untitled agent has its id as title."""
    if session.agent_ids is None:
        entries = agents.list_entries(session.workspace_id, None, MAX_AGENTS + 1)
        titles = [(one.agent_id, _title(one, agents.summary_of(one))) for one in entries]
        return Agents(dict(titles[:MAX_AGENTS]), len(titles) > MAX_AGENTS)
    ids = session.agent_ids
    keyed = [agents.row_for_key(session.workspace_id, one) for one in ids[:MAX_AGENTS] if IDENTIFIER.fullmatch(one)]
    rows = [row for _, row in agents.read_entries(keyed) if row is not None]
    return Agents({row.agent_id: _title(row, row.open()) for row in rows}, len(ids) > MAX_AGENTS)


def _title(row: agents.AgentRow, agent: Document) -> str:
    return template_filters.agent_title({**agent, "ID": row.agent_id})


def waiting(session: Session, limit: int) -> list[Document]:
    """Return at most `limit` conversations that wait for a person, latest activity first, with `ID` and `agentId`."""
    conversations: list[Document] = []
    for _, row, _ in filtered_lists.inbox(session.workspace_id, None, limit):
        if row is None:
            continue
        agent_id = split_key(row.agent)[1]
        metadata = store.read_metadata(row)
        if (session.agent_ids is None or agent_id in session.agent_ids) and not store.has_expired(metadata):
            conversations.append({**metadata, "ID": split_key(row.conversation)[2], "agentId": agent_id})
        if len(conversations) == limit:
            break
    return conversations


def _period() -> Any:
    from zoneinfo import ZoneInfo

    now = clock.seconds()
    today = now - now % _DAY_SECONDS
    return _REPORTS.Period(today - (_DAYS - 1) * _DAY_SECONDS, today + _DAY_SECONDS, ZoneInfo("UTC"))


def _bounds(period: Any) -> tuple[int, int]:
    return period.before().start, period.end


def _all(of_agents: dict[str, list[Any]]) -> Sequence[Any]:
    return [hour for found in of_agents.values() for hour in found]


def _by_agent(period: Any, titles: dict[str, str], of_agents: dict[str, list[Any]]) -> list[tuple[str, int]]:
    totals = {one: _conversations(period, found) for one, found in of_agents.items()}
    return _largest([(titles[one], total) for one, total in totals.items()])


def _by_dimensions(session: Session, period: Any, agent_ids: list[str]) -> dict[str, list[tuple[str, int]]]:
    return {one: _by_dimension(session, period, agent_ids, one) for one in DIMENSIONS}


def _by_dimension(session: Session, period: Any, agent_ids: list[str], dimension: str) -> list[tuple[str, int]]:
    sums: dict[str, int] = {}
    index = _REPORTS.NAMES.index(DIMENSIONS[dimension])
    for agent_id in agent_ids:
        for hour in _REPORTS.read(session.workspace_id, agent_id, period.start, period.end, dimension):
            sums[hour.value] = sums.get(hour.value, 0) + hour.counts[index]
    return _largest([*sums.items()])


def _conversations(period: Any, of_agent: Sequence[Any]) -> int:
    return sum(hour.counts[_REPORTS.NAMES.index("conversations")] for hour in of_agent if hour.start >= period.start)


def _largest(bars: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return sorted([bar for bar in bars if bar[1]], key=lambda bar: (-bar[1], bar[0]))[:_MAX_BARS]
