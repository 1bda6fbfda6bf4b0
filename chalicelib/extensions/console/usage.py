"""The usage page, which shows organisations' and agents' counts in a period for billing, and its CSV file."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from chalice.app import Response

from chalicelib import clock, errors
from chalicelib.extensions.console import calls, filtered_lists, overview, pages, periods, rights, usage_records
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.extensions.console.usage_records import COUNTS
from chalicelib.http import current_request, files
from chalicelib.storage import Document

# The maximum number of pages of 20 agents in a file. Each agent costs two requests.
_MAX_PAGES = 10
_MAX_ORGANISATIONS = 100


class _Request(NamedTuple):
    """The query with its dates, the organisations, and the agents of the selected organisation or None for all."""

    query: dict[str, str]
    organisations: list[Document]
    agent_ids: list[str] | None


@signed_in("/settings")
def read_usage(session: Session) -> Response:
    """Show totals by organisation and agent in a period of UTC days, by default this month.

    The query may select one of the first 100 organisations. Agents are listed in pages of 20.
    """
    rights.require_operator(session)
    request, cursor = _request(), current_request.query_value("cursor")
    read, values = partial(_page, request, cursor), _values(session, request, cursor)
    return filtered_lists.page(session, "usage.html", "/settings", request.query, read, **values)


@signed_in("/settings")
def download(session: Session) -> Response:
    """Return the usage of at most 200 agents as a file with a row for each agent and day."""
    rights.require_operator(session)
    lines = [files.csv_line(cells) for record in _records(_request()) for cells in _rows(record)]
    text = files.heading(files.CSV, ("agentId", "day", *COUNTS)) + "".join(lines)
    return pages.download("usage.csv", files.MEDIA[files.CSV], text)


def _request() -> _Request:
    """Return the request. Raise NotFound for an unknown organisation."""
    query = periods.with_dates(filtered_lists.query_from_request(("org", "from", "to")))
    organisations = calls.get("/v3/orgs", {"pageSize": _MAX_ORGANISATIONS})["data"]
    if not query["org"]:
        return _Request(query, organisations, None)
    selected = next((one for one in organisations if one["ID"] == query["org"]), None)
    if selected is None:
        raise errors.NotFound.of("organisation")
    return _Request(query, organisations, selected.get("widgetIDs") or [])


def _page(request: _Request, cursor: str | None) -> Document:
    """Return a page of records with their groups. Raise InvalidPeriod."""
    page = usage_records.read(request.query, request.agent_ids, cursor)
    selected = [one for one in request.organisations if request.query["org"] in ("", one["ID"])]
    return {**page, "groups": usage_records.by_organisation(page["data"], selected)}


def _values(session: Session, request: _Request, cursor: str | None) -> Document:
    return {
        "titles": overview.visible_agents(session).titles,
        "organisations": request.organisations,
        "counts": COUNTS,
        "recent": periods.recent_periods(),
        "is_first": not cursor,
        "before": usage_records.read_before(request.query, request.agent_ids, cursor),
    }


def _records(request: _Request) -> Iterator[Document]:
    cursor = None
    for _ in range(_MAX_PAGES):
        page = usage_records.read(request.query, request.agent_ids, cursor)
        yield from page["data"]
        cursor = page.get("nextCursor")
        if cursor is None:
            return


def _rows(record: Document) -> Iterator[tuple[Any, ...]]:
    for day in record["days"]:
        yield record.get("agentId"), clock.iso(day["from"])[:10], *(day[name] for name in COUNTS)
