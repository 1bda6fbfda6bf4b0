"""Reports on agents' counts, as JSON or CSV."""

from collections.abc import Iterable, Iterator, Sequence

from chalice.app import Response

from chalicelib import clock
from chalicelib.extensions.reports import hours, recent_counts, report_query, series
from chalicelib.extensions.reports.hours import HourlyCounts
from chalicelib.extensions.reports.recent_counts import RecentCounts
from chalicelib.extensions.reports.report_query import ReportQuery, TooManyAgents
from chalicelib.http import files, responses
from chalicelib.storage import Document

MAX_AGENTS = 500
# The maximum number of rows that a request decrypts. There is one per agent and day. A row with groups takes 2 ms,
# other rows 0.1 ms.
_MAX_DAYS, _MAX_GROUPED_DAYS = 20_000, 4_000
_DAY_SECONDS = 24 * 60 * 60
# The columns of people's work, whose other counts are unknown.
_WORK_COLUMNS = (
    "firstAnswers", "averageFirstAnswerSeconds", "ends", "averageEndSeconds", *hours.ANSWER_SECONDS, hours.TIMED,
)  # fmt: skip
# Callers may read columns by position, so new columns must be appended.
_COLUMNS = (*hours.RANKED, "averageSeconds", *_WORK_COLUMNS)


def respond(workspace_id: str, agent_ids: Sequence[str], query: ReportQuery) -> Response:
    """Return one report on all these agents, in the format that the request prefers.

    This costs one request per agent, one for each further MB, and those of `recent_counts.read`.
    """
    recent = recent_counts.read(workspace_id, agent_ids, query.before.start, query.period.end)
    data = build(read(recent, agent_ids, query), query) | {"countedUntil": recent.counted_until}
    if not report_query.prefers_csv():
        return responses.success("Analytics retrieved successfully", data, query.warnings())
    response = files.response(files.CSV, table(data, query.by), None)
    response.headers |= {**files.warning(query.warnings()), **counted_until(recent)}
    return response


def check_size(agent_ids: Sequence[str], query: ReportQuery) -> None:
    """Raise TooManyAgents if the report covers too many agents or days."""
    days = (query.period.end - query.before.start) // _DAY_SECONDS + 1
    limit = _MAX_GROUPED_DAYS if query.by else _MAX_DAYS
    if len(agent_ids) > MAX_AGENTS or len(agent_ids) * days > max(limit, days):
        kind = "A report with groups" if query.by else "A report"
        raise TooManyAgents(f"{kind} covers at most {MAX_AGENTS} agents and {limit:,} agent-days.")


def build(hourly_counts: Iterable[HourlyCounts], query: ReportQuery) -> Document:
    """Return the series, the totals, the previous period's totals and, with a dimension, the groups."""
    if query.by is None:
        return series.build(query.period, query.before, query.interval, hourly_counts)
    all_hours = hours.combine(hourly_counts)
    totals = series.build(query.period, query.before, query.interval, all_hours)
    return {**totals, "groups": series.build_groups(query.period, query.before, query.interval, all_hours)}


def read(recent: RecentCounts, agent_ids: Sequence[str], query: ReportQuery) -> Iterator[HourlyCounts]:
    """Yield the hourly counts for a period and the previous period."""
    for agent_id in agent_ids:
        yield from recent.read(agent_id, query.before.start, query.period.end, query.by)


def counted_until(recent: RecentCounts) -> dict[str, str]:
    """Return the header that contains `countedUntil` in a CSV response."""
    return {"Cams-Counted-Until": str(recent.counted_until)}


def table(data: Document, by: str | None) -> str:
    """Return the series as CSV, with a row for each interval and dimension value."""
    groups = [((), data)] if by is None else [((group["value"],), group) for group in data["groups"]]
    columns = ("from", *(_WORK_COLUMNS if by == hours.PERSON else _COLUMNS))
    lines = [files.csv_line((*(() if by is None else (by,)), *columns))]
    for labels, group in groups:
        for entry in group["series"]:
            cells = {**entry, "from": clock.iso(entry["from"])}
            lines.append(files.csv_line((*labels, *(cells.get(name) for name in columns))))
    return "".join(lines)
