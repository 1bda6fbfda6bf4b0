"""Leads of the agents that a person sees: a list with filters, and a CSV file."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.console import guard, overview, pages, periods
from chalicelib.console.calls import query_string
from chalicelib.console.guard import signed_in
from chalicelib.console.sessions import Session
from chalicelib.http import exchange, files, queries
from chalicelib.http.pages import examine, take_bounded
from chalicelib.leads import browse, export
from chalicelib.leads.store import LeadRow
from chalicelib.storage import Document

_FIELDS = ("agent", "from", "to", "q")
SHOWN, MAX_EXPORTED = 50, 5_000
_MAX_EXAMINED = 20_000  # for a file: about three seconds


@signed_in("/leads")
def list_leads(session: Session) -> Response:
    """List the leads of an agent, newest first, or of all agents, one agent after the other."""
    given = {name: exchange.query_value(name) or "" for name in _FIELDS}
    (titles, has_more), problem = overview.shown_agents(session), None
    try:
        found, following = _page(session, titles, _asked(titles))
    except periods.Problem as error:
        found, following, problem = [], None, error.field
    return guard.page(
        session,
        "leads.html",
        "/leads",
        400 if problem else 200,
        titles=titles,
        given=given,
        problem=problem,
        found=found,
        following=query_string({**given, "cursor": following}) if following else None,
        query=query_string(given),
        most=MAX_EXPORTED,
        has_more_agents=has_more,
    )


@signed_in("/leads")
def download(session: Session) -> Response:
    """The leads that match the filters as a file, up to 5,000."""
    titles = overview.shown_agents(session).titles
    found = islice(_all(session, titles, _asked(titles)._replace(after=None)), MAX_EXPORTED)
    text = files.heading(files.CSV, export.COLUMNS) + export.text(map(json.dumps, found), files.CSV)
    return pages.download("leads.csv", files.MEDIA[files.CSV], text)


def _asked(titles: dict[str, str]) -> browse.Asked:
    """The query of the page: days are those of UTC. Raises Problem, and Invalid for a cursor that is not ours."""
    since, until = periods.requested_bounds()
    agent_id, cursor = exchange.query_value("agent"), _cursor()
    after = browse.position_of(cursor) if cursor else None
    text = (exchange.query_value("q") or "")[: queries.MAX_TEXT].casefold()
    known = after if after and after[0] in titles else None  # a cursor of another agent opens nothing
    return browse.Asked(agent_id if agent_id in titles else None, since, until, text, known)


def _cursor() -> str | None:
    cursor = exchange.query_value("cursor")
    if cursor and not browse.POSITION.fullmatch(cursor):
        raise errors.Invalid.member("cursor", "must be the nextCursor of an earlier response")
    return cursor or None


def _page(session: Session, titles: dict[str, str], asked: browse.Asked) -> tuple[list[Any], str | None]:
    """The leads of a page, and where it continues, as a cursor."""
    examined = examine(_rows(session, titles, asked), lambda row, lead: _shown(row, lead, asked))
    records, position = take_bounded(examined, SHOWN)
    return [json.loads(one) for one in records], position


def _all(session: Session, titles: dict[str, str], asked: browse.Asked) -> Iterator[Document]:
    for _, row in islice(_rows(session, titles, asked), _MAX_EXAMINED):
        lead = _shown(row, row.open(), asked) if row else None
        if lead is not None:
            yield lead


def _rows(session: Session, titles: dict[str, str], asked: browse.Asked) -> Iterator[tuple[str, LeadRow | None]]:
    if asked.agent_id is not None:
        return browse.of_agent(session.workspace_id, asked.agent_id, asked, SHOWN)
    after = asked.after[0] if asked.after else ""
    remaining = sorted(one for one in titles if one > after)
    return browse.of_agents(session.workspace_id, remaining, asked, SHOWN)


def _shown(row: LeadRow, lead: Document, asked: browse.Asked) -> Document | None:
    return {"id": row.lead_id, **lead} if asked.lists(lead) else None
