"""The analytics page: the counts for one or all visible agents in a chosen period, which can be downloaded as CSV."""

from typing import Any

from chalice.app import Response

from chalicelib import extensions
from chalicelib.extensions.console.access import guard, operator_selection, organisation_list, visible_agents
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.access.visible_agents import VisibleAgents
from chalicelib.extensions.console.figure_pages import answer_times, breakdown, figures, plots
from chalicelib.extensions.console.presentation import count_links, pages, periods, time_zones
from chalicelib.http import current_request, files
from chalicelib.storage import Document

_REPORTS: Any = extensions.service("series")
_FIELDS = ("agent", "days", "from", "to", "interval", "by", "tz", "chart", "sort")


@signed_in("/analytics")
def read_analytics(session: Session) -> Response:
    """Show a period's figures next to the previous period's, and the selected figure in a chart and a breakdown."""
    agents, query = visible_agents.read(session), _query()
    agents = agents._replace(titles=organisation_list.with_organisations(session, agents.titles))
    try:
        values = _report(session, agents.titles, query)
    except periods.InvalidPeriod as error:
        values = {"report": None, "query": query, "problem": error.field}
    values |= _choices(session, agents, values["query"])
    response = guard.page(session, "analytics.html", "/analytics", 400 if values["problem"] else 200, **values)
    response.headers |= _remembered_zone(session, values)
    return response


@signed_in("/analytics")
def download(session: Session) -> Response:
    """Return the report as a file with a row for each interval and dimension value."""
    query = _report_query(session)
    if query.interval != (current_request.query_value("interval") or query.interval):
        raise periods.InvalidPeriod("interval")
    agent_ids = _agents(visible_agents.read(session).titles, current_request.query_value("agent"))
    recent = _read_recent(session, agent_ids, query)
    report = _REPORTS.build_report(breakdown.read_hours(session, recent, agent_ids, query), query)
    response = pages.download("analytics.csv", files.MEDIA[files.CSV], _REPORTS.table(report, query.by))
    response.headers |= _REPORTS.counted_until(recent)
    return response


def _remembered_zone(session: Session, values: Document) -> dict[str, str]:
    """Return the header with which an operator's browser remembers a selected time zone. Clients have a profile."""
    if session.client_id is not None or values["problem"] or not values["query"]["tz"]:
        return {}
    zone = str(values["period"].zone)
    return {"Set-Cookie": operator_selection.preferences_cookie(session, {"timezone": zone})}


def _query() -> dict[str, str]:
    """Return the request's query parameters. Unknown figures and orders are omitted."""
    query = {name: current_request.query_value(name) or "" for name in _FIELDS}
    chart = query["chart"] if query["chart"] in figures.NAMES else ""
    sort = query["sort"] if query["sort"] == breakdown.CHANGE else ""
    return {**query, "chart": chart, "sort": sort, "days": periods.CUSTOM if periods.has_dates() else query["days"]}


def _choices(session: Session, agents: VisibleAgents, query: dict[str, str]) -> Document:
    """Return the template variables for what a person can select. A page with an invalid query has these, too."""
    return {
        "titles": agents.titles,
        "has_more_agents": agents.has_more,
        "query_string": query_string(query),
        "charts_of": {name: query_string({**query, "chart": name}) for name in figures.NAMES},
        "sorts": {sort: query_string({**query, "sort": sort}) for sort in ("", breakdown.CHANGE)},
        "choices": {
            "days": periods.LAST_DAYS,
            "months": periods.MONTHS,
            "interval": _REPORTS.INTERVALS,
            "by": breakdown.choices(session),
            "tz": time_zones.ZONES,
        },
    }


def _report_query(session: Session) -> Any:
    """Return the report's query. It ignores a breakdown that only other people may see."""
    choices = breakdown.choices(session)
    query = periods.from_request(str(guard.texts(session).zone), (*choices, *breakdown.LIMITED))
    return query._replace(by=query.by if query.by in choices else None)


def _report(session: Session, titles: dict[str, str], selected: dict[str, str]) -> Document:
    """Return the template variables for a report. This costs two requests per agent, and at least one more."""
    t, query = guard.texts(session), _report_query(session)
    period, before = query.period, query.before
    agent_ids = _agents(titles, selected["agent"])
    recent = _read_recent(session, agent_ids, query)
    hourly_counts = [*breakdown.read_hours(session, recent, agent_ids, query)]
    report = _REPORTS.build_report(periods.comparable_hours(hourly_counts, period, before), query)
    if query.by == _REPORTS.PERSON:  # most counts belong to no person
        hourly_counts = [*_REPORTS.read_all(recent, agent_ids, query._replace(by=None))]
        totals = _REPORTS.build_series(
            period, before, query.interval, periods.comparable_hours(hourly_counts, period, before)
        )
        report |= totals
    earlier = _REPORTS.build_series(
        before, before.before(), query.interval, [hour for hour in hourly_counts if hour.start < before.end]
    )
    values = figures.for_charts(report, earlier, query.interval, period, t)
    main = answer_times.known(figures.MAIN, values["totals"])
    shape = (values[name] for name in ("series", "earlier", "charted_count", "finished_count", "passed_part"))
    agent_id = selected["agent"] if selected["agent"] in titles else ""
    groups = breakdown.compare(session, report, query, selected, titles) if query.by else None
    # By default, the chart shows the breakdown's figure, because some breakdowns have no conversations.
    chart = selected["chart"] or (groups["name"] if groups and query.by != _REPORTS.PERSON else figures.NAMES[0])
    return {
        **_dates(selected, query, t),
        **values,
        "problem": None,
        "report": report,
        "figures": answer_times.known(figures.NAMES, values["totals"]),
        "main": main,
        "plot": plots.plot(chart, *shape),
        "trends": plots.trends(main, values["series"], values["finished_count"]),
        "is_empty": not any(report["totals"].get(name) for name in figures.NAMES),
        "breakdown": groups,
        "links": count_links.of_totals(session, period, agent_id),
        "heat": figures.heat_map(hourly_counts, period, figures.hourly_count(chart)),
        "heat_name": figures.hourly_count(chart),
        "period": period,
        "counted_until": recent.counted_until,
        "is_exact": not query.warnings(),
    }


def _dates(selected: dict[str, str], query: Any, t: Any) -> Document:
    """Return the selection with the query's dates and interval, and the labels of both periods' first and last days."""
    ranges = {
        name: periods.with_labels([{"from": edge} for edge in _edges(period)], "day", period.zone, t)
        for name, period in (("range", query.period), ("range_before", query.before))
    }
    dates = (periods.local_time(edge, query.period.zone).date().isoformat() for edge in _edges(query.period))
    custom = dict(zip(("from", "to"), dates, strict=True)) if selected["days"] == periods.CUSTOM else {}
    interval = query.interval if selected["interval"] else ""
    is_longer = interval != selected["interval"]
    return {"query": {**selected, **custom, "interval": interval}, **ranges, "is_longer_interval": is_longer}


def _edges(period: Any) -> tuple[int, int]:
    """Return timestamps within a period's first and last day."""
    return period.start, period.end - 2 * _REPORTS.SECONDS


def _read_recent(session: Session, agent_ids: list[str], query: Any) -> Any:
    _REPORTS.check_size(agent_ids, query._replace(by=None) if query.by in breakdown.OF_AGENTS else query)
    return _REPORTS.read_recent(session.workspace_id, agent_ids, query.before.start, query.period.end)


def _agents(titles: dict[str, str], agent_id: str | None) -> list[str]:
    """Return the agents in a report: the requested agent if the person may see it, otherwise all visible agents."""
    return [agent_id] if agent_id in titles else [*titles]
