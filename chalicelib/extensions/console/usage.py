"""The usage page, which shows each agent's counts in a period for billing, and its CSV file."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from chalice.app import Response

from chalicelib import clock, errors
from chalicelib.extensions.console import calls, filtered_lists, overview, pages, periods, rights
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request, files
from chalicelib.storage import Document

_COUNTS = ("conversations", "messages", "interactions", "deliveries", "leads")
# The maximum number of pages of 20 agents in a file. Each agent costs two requests.
_MAX_PAGES = 10
_DAY_SECONDS = 24 * 60 * 60


@signed_in("/settings")
def read_usage(session: Session) -> Response:
    """Show each agent's totals in a period of UTC days, by default this month, and the totals of the page."""
    rights.require_operator(session)
    query = periods.with_dates(filtered_lists.query_from_request(("from", "to")))
    cursor = current_request.query_value("cursor")
    return filtered_lists.page(
        session,
        "usage.html",
        "/settings",
        query,
        partial(_page, query, cursor),
        titles=overview.visible_agents(session).titles,
        counts=_COUNTS,
        recent=periods.recent_periods(),
        is_first=not cursor,
        before=_before(query, cursor),
    )


@signed_in("/settings")
def download(session: Session) -> Response:
    """Return the usage of at most 200 agents as a file with a row for each agent and day."""
    rights.require_operator(session)
    lines = [files.csv_line(cells) for record in _records() for cells in _rows(record)]
    text = files.heading(files.CSV, ("agentId", "day", *_COUNTS)) + "".join(lines)
    return pages.download("usage.csv", files.MEDIA[files.CSV], text)


def _page(query: dict[str, str], cursor: str | None) -> Any:
    """Return a page of the API's report. Raise InvalidPeriod."""
    since, until = periods.bounds(query["from"], query["to"])
    try:
        return calls.get("/v3/usage", {"from": since, "to": until, "cursor": cursor})
    except errors.Invalid as error:
        raise periods.InvalidPeriod("from") from error


def _before(query: dict[str, str], cursor: str | None) -> Document | None:
    """Return the totals of the page's agents in the equally long period before, `{days, totals}`.

    Return None if the period or the one before is invalid or has no beginning.
    """
    try:
        since, until = periods.bounds(query["from"], query["to"])
        if since is None or until is None:
            return None
        page = calls.get("/v3/usage", {"from": 2 * since - until, "to": since, "cursor": cursor})
    except (errors.Invalid, periods.InvalidPeriod):
        return None
    totals = {name: sum(one["totals"][name] for one in page["data"]) for name in _COUNTS}
    return {"days": (until - since) // _DAY_SECONDS, "totals": totals}


def _records() -> Iterator[Document]:
    query = periods.with_dates(filtered_lists.query_from_request(("from", "to")))
    cursor = None
    for _ in range(_MAX_PAGES):
        page = _page(query, cursor)
        yield from page["data"]
        cursor = page.get("nextCursor")
        if cursor is None:
            return


def _rows(record: Document) -> Iterator[tuple[Any, ...]]:
    for day in record["days"]:
        yield record.get("agentId"), clock.iso(day["from"])[:10], *(day[name] for name in _COUNTS)
