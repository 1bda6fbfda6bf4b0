"""The analytics page's breakdown, which compares a figure of organisations, agents or a dimension's values."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from chalicelib import extensions
from chalicelib.extensions.console.access import colleagues, guard, organisation_list
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.figure_pages import answer_times, figures, plots
from chalicelib.extensions.console.presentation import count_links
from chalicelib.storage import Document

_REPORTS: Any = extensions.service("series")
AGENT, ORGANISATION = "agent", "organisation"
OF_AGENTS = (AGENT, ORGANISATION)
"""The breakdowns whose groups consist of agents. The others compare the values of a dimension."""
LIMITED = (ORGANISATION, _REPORTS.PERSON)
"""The breakdowns that only some people may see."""
CHANGE = "change"
"""The value of `sort` with which the greatest increase is first. By default, the highest figure is first."""
_MAX_ROWS = 20
_PERIODS = ("totals", "previous")
# The figures of the table that compares agents or organisations.
_COLUMNS = ("conversations", "handoffs", "leads", "medianFirstAnswerSeconds")
# The figures of the table that compares people, whose other figures are not counted.
_WORK_COLUMNS = ("firstAnswers", "medianFirstAnswerSeconds", "ends")


def choices(session: Session) -> tuple[str, ...]:
    """Return what a breakdown may compare.

    Operators who see several organisations can compare these. Only administrators and operators can compare people.
    """
    own = OF_AGENTS if organisation_list.names_by_agent(session) else (AGENT,)
    people = (_REPORTS.PERSON,) if session.is_admin else ()
    return *own, *people, *_REPORTS.DIMENSIONS


def read_hours(session: Session, recent: Any, agent_ids: list[str], query: Any) -> Iterator[Any]:
    """Yield the hourly counts for a report.

    In a breakdown by agent, their value is the agent's id, and in one by organisation, the names of its organisations.
    In a breakdown by person, it is the person's name, or `OTHER` for people whom the session's person may not see.
    """
    if query.by == _REPORTS.PERSON:
        names = _distinct_names(colleagues.names(session))
        for hour in _REPORTS.read_all(recent, agent_ids, query):
            yield hour._replace(value=names.get(hour.value, _REPORTS.OTHER))
        return
    if query.by not in OF_AGENTS:
        yield from _REPORTS.read_all(recent, agent_ids, query)
        return
    names = organisation_list.names_by_agent(session) if query.by == ORGANISATION else {}
    for agent_id in agent_ids:
        value = names.get(agent_id, "") if query.by == ORGANISATION else agent_id
        for hour in recent.read(agent_id, query.before.start, query.period.end, None):
            yield hour._replace(value=value)


def compare(
    session: Session, report: Document, query: Any, selected: dict[str, str], titles: dict[str, str]
) -> Document:
    """Return the template variables for a report's groups, the 20 `rows` with the highest figures.

    `name` is the selected figure, or else the first of the `figures` that the groups have. If it is a count, each row
    has its `share` of the total, as a percentage. For groups of agents, `table` contains the 20 with the most
    conversations, and `columns` its figures.
    """
    groups = [_named(session, query, _with_rates(group), selected, titles) for group in report["groups"]]
    columns = _WORK_COLUMNS if query.by == _REPORTS.PERSON else _COLUMNS
    known = [name for name in figures.NAMES if _has(groups, name)]
    name = _figure(known, selected["chart"])
    rows = _rows(groups, name, selected["sort"]) if known else []
    return {
        "by": query.by,
        "name": name,
        "figures": known,
        "highest": max((row["totals"].get(name) or 0 for row in rows), default=0),
        "rows": [{**row, "share": _share(row["totals"], report["totals"], name)} for row in rows],
        "sort": selected["sort"],
        "table": _table(query.by, groups),
        "columns": answer_times.known(columns, figures.with_rates(report["totals"])),
    }


def _distinct_names(names: dict[str, str]) -> dict[str, str]:
    """Return people's names by id. A name that several people have is followed by the id."""
    frequency = Counter([*names.values(), _REPORTS.OTHER])
    return {client_id: name if frequency[name] == 1 else f"{name} ({client_id})" for client_id, name in names.items()}


def _with_rates(group: Document) -> Document:
    return {**group, **{name: figures.with_rates(group[name]) for name in _PERIODS}}


def _named(session: Session, query: Any, group: Document, selected: dict[str, str], titles: dict[str, str]) -> Document:
    """Return a group with its link and its title."""
    agent_id = selected["agent"] if selected["agent"] in titles else ""
    link = _link(session, query, group["value"], agent_id)
    return {**group, "link": link, "title": _title(session, query.by, group["value"], titles)}


def _table(by: str, groups: list[Document]) -> list[Document]:
    """Return the rows that compare the figures of agents or organisations, or of people, with all others last."""
    if by == _REPORTS.PERSON:
        return sorted(groups, key=lambda group: (group["value"] == _REPORTS.OTHER, -_work(group["totals"])))
    return _highest(groups, _COLUMNS[0]) if by in OF_AGENTS else []


def _work(totals: Document) -> int:
    return int(totals["firstAnswers"] + totals["ends"])


def _highest(groups: list[Document], name: str) -> list[Document]:
    return sorted(groups, key=lambda group: -(group["totals"].get(name) or 0))[:_MAX_ROWS]


def _figure(known: list[str], selected: str) -> str:
    """Return the selected figure if the groups have it or have no figures, otherwise the first that they have."""
    if selected in known:
        return selected
    return known[0] if known else selected or figures.NAMES[0]


def _has(groups: list[Document], name: str) -> bool:
    """Return whether a group with a known value has a figure in the period."""
    return any(group["totals"].get(name) for group in groups if group["value"] != _REPORTS.UNKNOWN)


def _rows(groups: list[Document], name: str, sort: str) -> list[Document]:
    """Return the groups with the highest figures in the selected order, without those that never had any."""
    rows = [group for group in groups if any(group[period].get(name) for period in _PERIODS)]
    rows = _highest(rows, name)
    return sorted(rows, key=lambda row: -_growth(row, name)) if sort == CHANGE else rows


def _link(session: Session, query: Any, value: str, agent_id: str) -> str:
    """Return the link to a group's conversations, or an empty string."""
    if query.by == AGENT:
        return count_links.of_conversations(session, query.period, agent=value)
    return count_links.of_origin(session, query.period, value, agent_id) if query.by == "origin" else ""


def _title(session: Session, by: str, value: str, titles: dict[str, str]) -> str | None:
    """Return the title of a group of agents or of other people, or None for a value that is its own title."""
    if by == ORGANISATION:
        return value or guard.texts(session)("no_organisation")
    if by == _REPORTS.PERSON and value == _REPORTS.OTHER:
        return guard.texts(session)("other_people")
    return titles.get(value) if by == AGENT else None


def _share(part: Document, whole: Document, name: str) -> int | None:
    """Return a count's part of a total as a percentage, or None for an average or a rate."""
    return round(100 * part[name] / whole[name]) if plots.is_sum(name) and whole[name] else None


def _growth(row: Document, name: str) -> float:
    """Return a figure's increase: a difference for rates, otherwise a ratio. An unknown increase is the lowest."""
    now, before = (row[period].get(name) for period in _PERIODS)
    if now is None or before is None:
        return float("-inf")
    if name.endswith("Rate"):
        return float(now - before)
    return now / before if before else float("inf" if now else 1)
