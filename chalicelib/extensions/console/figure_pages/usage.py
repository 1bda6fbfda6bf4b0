"""The usage page, which shows organisations' and agents' counts in a period for billing, and its CSV file."""

from functools import partial
from typing import NamedTuple

from chalice.app import Response

from chalicelib.extensions.console.access import calls, guard, organisation_list, rights
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.figure_pages import plots, usage_file, usage_records
from chalicelib.extensions.console.figure_pages.usage_records import COUNTS
from chalicelib.extensions.console.presentation import filtered_lists, pages, periods
from chalicelib.http import current_request, files
from chalicelib.storage import Document

_PATH = "/settings/usage"


class _Request(NamedTuple):
    """The query with its dates, the organisations, and the agents of the selected organisation or None for all."""

    query: dict[str, str]
    organisations: list[Document]
    has_more_organisations: bool
    agent_ids: list[str] | None

    @property
    def selected(self) -> list[Document]:
        """The selected organisation, or else all."""
        return [one for one in self.organisations if self.query["org"] in ("", one["ID"])]


@signed_in("/settings")
def read_usage(session: Session) -> Response:
    """Show totals by organisation and agent in a period of UTC days, by default this month.

    Agents are listed in pages of 20. Reading the organisations costs one request per 100.
    """
    rights.require_operator(session)
    request, cursor = _request(), current_request.query_value("cursor")
    read = partial(_page, session, request, cursor)
    return filtered_lists.page(session, "usage.html", "/settings", request.query, read, **_values(request, cursor))


@signed_in("/settings")
def download(session: Session) -> Response:
    """Return the usage of up to 200 agents as a file. If there are more, the last line contains the next file's path.

    The name of a file with such a line, or of a later file, contains `part`.
    """
    rights.require_operator(session)
    request, cursor = _request(), current_request.query_value("cursor")
    file = usage_file.read(session, request.query, request.selected, request.agent_ids, cursor)
    name, text = "usage.csv" if not (cursor or file.next_cursor) else "usage-part.csv", file.text
    if file.next_cursor:
        following = calls.query_string({**request.query, "cursor": file.next_cursor})
        address = f"{pages.root()}/{session.workspace_id}{_PATH}.csv{following}"
        text += files.csv_line((guard.texts(session)("usage_part"), address))
    return pages.download(name, files.MEDIA[files.CSV], text)


def _request() -> _Request:
    """Return the request. Raise NotFound for an unknown organisation."""
    query = periods.with_dates(filtered_lists.query_from_request(("org", "from", "to")))
    organisations, has_more = organisation_list.read_all()
    known = {one["ID"]: one for one in organisations}
    if not query["org"]:
        return _Request(query, organisations, has_more, None)
    selected = known.get(query["org"]) or calls.get("/v2/orgs/{org_id}", org_id=query["org"])["data"]
    listed = [*{**known, selected["ID"]: selected}.values()]
    return _Request(query, listed, has_more, selected.get("widgetIDs") or [])


def _page(session: Session, request: _Request, cursor: str | None) -> Document:
    """Return a page of records with their titles and groups, and the period before. Raise InvalidPeriod."""
    page = usage_records.read(request.query, request.agent_ids, cursor)
    before = usage_records.read_before(request.query, request.agent_ids, cursor, page)
    usage_records.add_titles(session, page["data"])
    days = usage_records.by_day(page["data"], request.query)
    return {
        **page,
        "groups": usage_records.by_organisation(page["data"], request.selected, before.records if before else ()),
        "totals": usage_records.totals(page["data"]),
        "before": before,
        "trends": plots.trends(COUNTS, days, len(days)) if len(days) > 1 else {},
    }


def _values(request: _Request, cursor: str | None) -> Document:
    recent = periods.recent_periods()
    return {
        "organisations": request.organisations,
        "has_more_organisations": request.has_more_organisations,
        "counts": COUNTS,
        "recent": recent,
        "months": {
            text: dates
            for text, dates in periods.neighbouring_months(request.query).items()
            if dates not in recent.values()
        },
        "is_first": not cursor,
    }
