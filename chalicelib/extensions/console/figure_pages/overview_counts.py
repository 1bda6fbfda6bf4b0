"""The overview's tiles, chart and bars, which show the counts for the last days from the reports extension."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from chalicelib import errors, extensions
from chalicelib.extensions.console.access import guard, organisation_list
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.figure_pages import answer_times, bars, figures, plots
from chalicelib.extensions.console.figure_pages.bars import Bar
from chalicelib.extensions.console.presentation import count_links, periods
from chalicelib.storage import Document

_REPORTS: Any = extensions.service("series")
TILES = ("conversations", "unassistedRate", "handoffs", "medianFirstAnswerSeconds", "messages", "leads")
CHART = "conversations"
# The count that each group of bars shows. Only page loads, which count visitors, have a country.
FIGURES = {"country": "newVisitors", **dict.fromkeys(("organisation", "agent", "origin"), CHART)}
_DIMENSIONS = ("origin", "country")


def read(session: Session, titles: dict[str, str]) -> Document:
    """Return the template variables for these agents' counts in the last 7, 30 or 90 days.

    This costs three requests per agent, and up to two. Raise InvalidPeriod, or TooManyAgents for a long period.
    """
    t, names = guard.texts(session), organisation_list.names_by_agent(session) if len(titles) > 1 else {}
    days = periods.days_from_request()
    period = periods.last_days(days, t.zone)
    before = period.before()
    _check_size(titles, period)
    recent = _REPORTS.read_recent(session.workspace_id, [*titles], before.start, period.end)
    of_agents = {name: [*recent.read(name, before.start, period.end, None)] for name in titles}
    hourly_counts = [hour for hours in of_agents.values() for hour in hours]
    report = _REPORTS.build_series(period, before, "day", periods.comparable_hours(hourly_counts, period, before))
    earlier = _REPORTS.build_series(
        before, before.before(), "day", [hour for hour in hourly_counts if hour.start < before.end]
    )
    values = figures.for_charts(report, earlier, "day", period, t)
    tiles, organisations = (
        answer_times.known(TILES, values["totals"]), _by_organisation(session, period, names, of_agents)
    )  # fmt: skip
    shape = [values[name] for name in ("series", "earlier", "charted_count", "finished_count", "passed_part")]
    return {
        "report": report,
        "period": period,
        "days": days,
        "choices": [number for number in periods.LAST_DAYS if _is_allowed(titles, periods.last_days(number, t.zone))],
        "counted_until": recent.counted_until,
        **values,
        "tiles": tiles,
        "plot": plots.plot(CHART, *shape),
        "trends": plots.trends(tiles, values["series"], values["finished_count"]),
        "links": {**count_links.of_charts(session, tiles, days), **count_links.of_totals(session, period)},
        "breakdowns": count_links.of_breakdowns(session, FIGURES, days),
        "groups": ("organisation", "agent", "origin") if names else ("agent", "origin"),
        "idle": {"organisation": len(organisations) - len(+organisations) + organisation_list.count_idle(session)},
        "bars": {
            "agent": _by_agent(session, period, titles, of_agents),
            "organisation": bars.largest(Bar(name, total) for name, total in organisations.items()),
            **_by_dimensions(session, recent, period, [*titles]),
        },
    }


def _check_size(titles: dict[str, str], period: Any) -> None:
    _REPORTS.check_size([*titles], _REPORTS.ReportQuery(period, period.before(), "day", "origin"))


def _is_allowed(titles: dict[str, str], period: Any) -> bool:
    """Return whether reports can cover the agents' counts in this period."""
    try:
        _check_size(titles, period)
    except errors.Conflict:
        return False
    return True


def _by_agent(session: Session, period: Any, titles: dict[str, str], of_agents: dict[str, list[Any]]) -> list[Bar]:
    totals = {agent_id: _conversations(period, hours) for agent_id, hours in of_agents.items()}
    links = {agent_id: count_links.of_conversations(session, period, agent=agent_id) for agent_id in titles}
    return bars.largest(Bar(titles[agent_id], total, links[agent_id]) for agent_id, total in totals.items())


def _by_organisation(
    session: Session, period: Any, names: dict[str, str], of_agents: dict[str, list[Any]]
) -> Counter[str]:
    """Return the conversations of the organisations that have agents, or nothing if `names` is empty."""
    totals: Counter[str] = Counter()
    for agent_id, hours in of_agents.items() if names else ():
        totals[names.get(agent_id, "")] += _conversations(period, hours)
    if other := totals.pop("", 0):  # agents without an organisation
        totals[guard.texts(session)("no_organisation")] = other
    return totals


def _by_dimensions(session: Session, recent: Any, period: Any, agent_ids: list[str]) -> dict[str, list[Bar]]:
    sums = {dimension: _by_dimension(recent, period, agent_ids, dimension) for dimension in _DIMENSIONS}
    links = {value: count_links.of_origin(session, period, value) for value in sums["origin"]}
    return {
        "origin": bars.largest(Bar(value, total, links[value]) for value, total in sums["origin"].items()),
        "country": bars.largest(Bar(value, total) for value, total in sums["country"].items()),
    }


def _by_dimension(recent: Any, period: Any, agent_ids: list[str], dimension: str) -> dict[str, int]:
    sums: dict[str, int] = {}
    index = _REPORTS.NAMES.index(FIGURES[dimension])
    for agent_id in agent_ids:
        for hour in recent.read(agent_id, period.start, period.end, dimension):
            sums[hour.value] = sums.get(hour.value, 0) + hour.counts[index]
    return sums


def _conversations(period: Any, of_agent: Sequence[Any]) -> int:
    return sum(hour.counts[_REPORTS.NAMES.index("conversations")] for hour in of_agent if hour.start >= period.start)
