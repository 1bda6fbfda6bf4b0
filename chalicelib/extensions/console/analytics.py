"""The analytics page: the counts for one or all visible agents in a chosen period, which can be downloaded as CSV."""

from typing import Any

from chalice.app import Response

from chalicelib import extensions
from chalicelib.extensions.console import count_links, figures, guard, overview, pages, periods, plots
from chalicelib.extensions.console.calls import query_string
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request, files
from chalicelib.storage import Document

_REPORTS: Any = extensions.service("series")
# All figures, in the order of their tiles.
FIGURES = (
    "conversations", "messages", "interactions", "newVisitors", "loads", "leads",
    "leadRate", "handoffs", "handoffRate", "averageFirstAnswerSeconds", "averageSeconds", "averageEndSeconds",
)  # fmt: skip
_MAX_ROWS = 20  # of the table by dimension value
_FIELDS = ("agent", "days", "from", "to", "interval", "by", "tz", "chart")


@signed_in("/analytics")
def read_analytics(session: Session) -> Response:
    """Show a period's figures next to the previous period's, and the selected figure in a chart with a table."""
    query = {name: current_request.query_value(name) or "" for name in _FIELDS}
    query["chart"] = query["chart"] if query["chart"] in FIGURES else FIGURES[0]
    query["days"] = periods.CUSTOM if periods.has_dates() else query["days"]
    titles, has_more = overview.visible_agents(session)
    try:
        report, problem = _report(session, titles, query["agent"], query["chart"]), None
        query |= dict(zip(("from", "to"), report["dates"], strict=True)) if query["days"] == periods.CUSTOM else {}
    except periods.InvalidPeriod as error:
        report, problem = {"report": None}, error.field
    return guard.page(
        session,
        "analytics.html",
        "/analytics",
        400 if problem else 200,
        titles=titles,
        query=query,
        problem=problem,
        has_more_agents=has_more,
        query_string=query_string(query),
        charts_of={name: query_string({**query, "chart": name}) for name in FIGURES},
        choices={
            "days": periods.LAST_DAYS,
            "interval": _REPORTS.INTERVALS,
            "by": _REPORTS.DIMENSIONS,
            "tz": periods.ZONES,
        },
        **report,
    )


@signed_in("/analytics")
def download(session: Session) -> Response:
    """Return the report as a file with a row for each interval and dimension value."""
    query = periods.from_request(str(guard.texts(session).zone))
    agent_ids = _agents(overview.visible_agents(session).titles, current_request.query_value("agent"))
    recent = _read_recent(session, agent_ids, query)
    report = _REPORTS.build_report(_REPORTS.read_all(recent, agent_ids, query), query)
    response = pages.download("analytics.csv", files.MEDIA[files.CSV], _REPORTS.table(report, query.by))
    response.headers |= _REPORTS.counted_until(recent)
    return response


def _report(session: Session, titles: dict[str, str], agent_id: str, chart: str) -> Document:
    """Return the template variables for a report. This costs two requests per agent, and at least one more."""
    t = guard.texts(session)
    query = periods.from_request(str(t.zone))
    period, before = query.period, query.before
    agent_ids = _agents(titles, agent_id)
    recent = _read_recent(session, agent_ids, query)
    hourly_counts = [*_REPORTS.read_all(recent, agent_ids, query)]
    report = _REPORTS.build_report(periods.comparable_hours(hourly_counts, period, before), query)
    earlier = _REPORTS.build_series(
        before, before.before(), query.interval, [hour for hour in hourly_counts if hour.start < before.end]
    )
    zone = period.zone
    edges = period.start, period.end - 2 * _REPORTS.SECONDS  # timestamps within the first and last day
    values = figures.for_charts(report, earlier, query.interval, period, t)
    shape = (values[name] for name in ("series", "earlier", "charted_count", "finished_count"))
    return {
        "report": report,
        **values,
        "figures": FIGURES,
        "plot": plots.plot(chart, *shape),
        "trends": plots.trends(FIGURES, values["series"], values["finished_count"]),
        "is_empty": not any(report["totals"].get(name) for name in FIGURES),
        **_groups(session, report, query, agent_id if agent_id in titles else "", chart),
        "links": count_links.of_totals(session, period, agent_id if agent_id in titles else ""),
        "heat": figures.heat_map(hourly_counts, period),
        "period": period,
        "counted_until": recent.counted_until,
        "dimension": query.by,
        "is_exact": not query.warnings(),
        "dates": [periods.local_time(edge, zone).date().isoformat() for edge in edges],
        "range": periods.with_labels([{"from": edge} for edge in edges], "day", zone, t),
    }


def _read_recent(session: Session, agent_ids: list[str], query: Any) -> Any:
    _REPORTS.check_size(agent_ids, query)
    return _REPORTS.read_recent(session.workspace_id, agent_ids, query.before.start, query.period.end)


def _agents(titles: dict[str, str], agent_id: str | None) -> list[str]:
    """Return the agents in a report: the requested agent if the person may see it, otherwise all visible agents."""
    return [agent_id] if agent_id in titles else [*titles]


def _groups(session: Session, report: Document, query: Any, agent_id: str, chart: str) -> Document:
    """Return the rows and columns of the table by dimension value, both without what is always 0 or unknown.

    The columns begin with the figure `chart`, if it is known. At most 20 rows have the highest figures of this column.
    """
    both = ("totals", "previous")
    groups = [
        {**group, **{name: figures.with_rates(group[name]) for name in both}} for group in report.get("groups", ())
    ]
    known = [group["totals"] for group in groups if group["value"] != _REPORTS.UNKNOWN]
    ordered = sorted(FIGURES, key=lambda name: name != chart)
    columns = [name for name in ordered if any(totals.get(name) for totals in known)]
    rows = [group for group in groups if any(group["totals"].get(name) for name in columns)]
    rows.sort(key=lambda group: -(group["totals"].get(columns[0]) or 0))
    if query.by == "origin":
        rows = [{**row, "link": count_links.of_origin(session, query.period, row["value"], agent_id)} for row in rows]
    return {"columns": columns, "rows": rows[:_MAX_ROWS]}
