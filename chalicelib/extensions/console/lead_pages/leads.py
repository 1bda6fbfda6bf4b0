"""The leads page: the leads of the agents that a person sees, as a filterable list and as a CSV file."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from heapq import merge
from itertools import chain, islice
from operator import itemgetter
from urllib.parse import quote

from chalice.app import Response

from chalicelib import errors, ids
from chalicelib.extensions.console.access import organisation_list, visible_agents
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.access.visible_agents import VisibleAgents
from chalicelib.extensions.console.lead_pages import lead_file, lead_people, lead_ranges, lead_status
from chalicelib.extensions.console.presentation import filtered_lists, periods
from chalicelib.extensions.console.presentation.template_filters import unix_seconds
from chalicelib.http import current_request, parameters
from chalicelib.http.pages import PositionedRows, examine, take_bounded
from chalicelib.leads import listing
from chalicelib.leads.listing import LeadQuery
from chalicelib.leads.store import LeadRow
from chalicelib.storage import Document

FILTERS = ("agent", "from", "to", "q", "status", "order")
_OLDEST = "oldest"  # the value of `order` with which the oldest lead is first
PAGE_SIZE, MAX_EXPORTED = 50, 5_000
_MAX_COUNTED = 500  # leads
_MAX_EXAMINED = 20_000  # leads per file; examining them takes about three seconds
# The minimum number of leads in the first request for each of several agents.
_LEAST_PORTION = 5
PERSON = ("email", "phone")
"""The members that identify a lead's person in the list, in order."""
# The members that may identify a lead's conversation in a search, in order, and the maximum characters of a search.
_SEARCHED, _MAX_SEARCH = ("userID", "email", "phone", "name"), 200
_HOUR = 60 * 60


@signed_in("/leads")
def list_leads(session: Session) -> Response:
    """List the leads of one agent or of all visible agents, newest first or oldest first."""
    query, agents = filtered_lists.query_from_request(FILTERS), visible_agents.read(session)
    read, titles = partial(_page, session, agents.titles), agents.titles
    names = organisation_list.names_by_agent(session) if len(titles) > 1 else {}
    agents = agents._replace(titles=organisation_list.with_organisations(session, titles))
    values = {**_values(query, agents), "agent_titles": titles, "organisations": names}
    return filtered_lists.page(session, "leads.html", "/leads", query, read, **values)


@signed_in("/leads")
def download(session: Session) -> Response:
    """Return up to 5,000 leads that match the filters, as a file."""
    titles = visible_agents.read(session).titles
    return lead_file.download(islice(_all(session, titles, _query(titles)._replace(after=None)), MAX_EXPORTED))


def conversation_of(lead: Document) -> str | None:
    """Return the path of a lead's conversation or of a search for it, or None if the lead identifies no visitor.

    A lead names its conversation if its sender has set the member `convoId`. A search covers the lead's agent, and
    begins with the conversations that exist within an hour after the capture.
    """
    if convo_id := lead_people.conversation_id(lead):
        return f"/convos/{quote(lead['agentId'])}/{convo_id}"
    _, text = first_text(lead, _SEARCHED)
    if not text:
        return None
    captured = unix_seconds(lead.get("createdAt"))
    query = {"tab": "all", "agent": lead["agentId"], "q": text, "to": captured and captured + _HOUR}
    return f"/convos{query_string(query)}"


def require_administrator(session: Session) -> None:
    """Raise Forbidden if the person may not delete leads."""
    if not session.is_admin:
        raise errors.Forbidden("Only administrators can delete leads.")


def first_text(lead: Document, names: Iterable[str]) -> tuple[str, str]:
    """Return the first of these members that has a text, with up to 200 characters of it, or two empty strings."""
    texts = ((name, str(lead.get(name) or "").strip()[:_MAX_SEARCH]) for name in names)
    return next((one for one in texts if one[1]), ("", ""))


def rows(session: Session, titles: dict[str, str], query: LeadQuery) -> PositionedRows[LeadRow]:
    """Yield the leads of one agent or of all visible agents in the request's order, by default newest first.

    Operators read all agents' leads from one index. For others, each agent has a partition, so this costs at least one
    request per agent.
    """
    is_oldest_first = current_request.query_value("order") == _OLDEST
    read = lead_ranges.oldest_first if is_oldest_first else listing.rows
    if query.agent_id is not None or session.agent_ids is None:
        return read(session.workspace_id, query, PAGE_SIZE)
    portion = max(_LEAST_PORTION, PAGE_SIZE // max(len(titles), 1))
    of_agents = (read(session.workspace_id, query._replace(agent_id=one), portion) for one in titles)
    return merge(*of_agents, key=itemgetter(0), reverse=not is_oldest_first)


def _values(query: dict[str, str], agents: VisibleAgents) -> Document:
    without = {name: query_string({**query, name: ""}) for name in ("from", "to") if query[name]}
    return {
        "without": without,
        "order_query": query_string({**query, "order": "" if query["order"] == _OLDEST else _OLDEST}),
        "titles": agents.titles,
        "has_more_agents": agents.has_more,
        "conversation_of": conversation_of,
        "statuses": lead_status.STATUSES,
        "status_of": lead_status.status_of,
        "this_page": query_string({**query, "cursor": current_request.query_value("cursor")}),
        "export_limit": MAX_EXPORTED,
        "day_label": periods.day_label,
        "saved": current_request.query_value("saved"),
        "changed": current_request.query_value("changed") or "",
        "before": current_request.query_value("before") or "",
    }


def _query(titles: dict[str, str]) -> LeadQuery:
    """Return the page's lead query. Days are in UTC. Raise InvalidPeriod, or Invalid for an unknown cursor."""
    since, until = periods.bounds_from_request()
    agent_id = current_request.query_value("agent")
    text = (current_request.query_value("q") or "")[: parameters.MAX_TEXT].casefold()
    return LeadQuery(agent_id if agent_id in titles else None, since, until, text, cursor())


def cursor() -> str | None:
    """Return the ULID after which the list continues, or None if there is no cursor. Raise Invalid."""
    after = current_request.query_value("cursor")
    if after and not ids.ULID.fullmatch(after):
        raise errors.Invalid.member("cursor", "must be the nextCursor of an earlier response")
    return after or None


def _page(session: Session, titles: dict[str, str]) -> Document:
    """Return a page of leads, the next page's cursor, the number of leads, the people, and what they asked about.

    `is_continued` is whether the list has an earlier page.

    What they asked about is read for each person's first lead, and costs at most five requests. Raise InvalidPeriod.
    """
    query = _query(titles)
    examined = examine(rows(session, titles, query), lambda row, lead: _listed(row, lead, query))
    records, position = take_bounded(examined, PAGE_SIZE)
    data = [json.loads(record) for record in records]
    people = lead_people.by_person(data)
    total = len(data) if not (position or query.after) else _count(session, titles, query)
    return {
        "data": data,
        "nextCursor": position,
        "total": total,
        "is_continued": query.after is not None,
        "people": people,
        "questions": lead_people.questions(session, (one.leads[0] for one in people)),
    }


def _count(session: Session, titles: dict[str, str], query: LeadQuery) -> str | None:
    """Return the number of leads in the list's period, such as 252 or 500+, or None on other pages and in searches.

    Operators' lists cost one request, and others at most one per agent.
    """
    if query.text or query.after or lead_status.from_query():
        return None
    is_one = query.agent_id is not None or session.agent_ids is None
    queries = [query] if is_one else [query._replace(agent_id=agent_id) for agent_id in titles]
    every = chain.from_iterable(lead_ranges.oldest_first(session.workspace_id, one, _MAX_COUNTED) for one in queries)
    counted = sum(1 for _ in islice(every, _MAX_COUNTED))
    return f"{counted}{'+' if counted == _MAX_COUNTED else ''}"


def _all(session: Session, titles: dict[str, str], query: LeadQuery) -> Iterator[Document]:
    for _, row in islice(rows(session, titles, query), _MAX_EXAMINED):
        lead = _listed(row, row.open(), query)
        if lead is not None:
            yield lead


def _listed(row: LeadRow, lead: Document, query: LeadQuery) -> Document | None:
    is_listed = query.match(lead) and lead_status.from_query() in ("", lead_status.status_of(lead))
    return {"id": row.lead_id, **lead} if is_listed else None
