"""The list of conversations: its tabs, its filters and its search."""

import hashlib
import json
from functools import partial
from typing import Any, NamedTuple

from chalice.app import Response

from chalicelib.conversations.filters import Filters
from chalicelib.extensions.console.access import guard, organisation_list, visible_agents
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.access.colleagues import list_colleagues
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.access.visible_agents import VisibleAgents
from chalicelib.extensions.console.conversation_pages.conversation_actions import BULK_ACTIONS
from chalicelib.extensions.console.inbox_pages import (
    all_conversations,
    conversation_filters,
    inbox,
    list_pages,
    previews,
)
from chalicelib.extensions.console.inbox_pages.all_conversations import ConversationPage
from chalicelib.extensions.console.presentation import pages, periods
from chalicelib.http import current_request
from chalicelib.storage import Document

STATES = ("requested_chat", "human-chatting", "ai-chatting", "ended_chat")
# The template variables for the result of a form: the action, the number of changed conversations, and the failures.
_NO_RESULT: dict[str, Any] = {"done": None, "changed": 0, "ended": [], "problem": None, "failures": {}, "chosen": set()}
_MAX_TAGS = 50  # the maximum number of tags that the filter suggests
MAX_STEPS = 5  # the maximum number of reads for a page of a search
MAX_PAGES = 10  # the maximum number of pages in a file
_MISSING = "missing"  # the query parameter that contains a requested tab that the person does not have
_NEWEST_FIRST = "newest"  # the value of `sort` that lists the newest waiting conversation first


class ConversationList(NamedTuple):
    """The page of a tab that a query describes, and the numbers at the tabs. `agents` is None unless it was needed.

    `waiting` contains the waiting conversations, the longest wait first. In their tab, they satisfy the query.
    """

    query: dict[str, Any]
    tab: str
    counts: dict[str, str]
    page: ConversationPage
    agents: VisibleAgents | None
    waiting: list[Document]

    @property
    def is_filtered(self) -> bool:
        """Whether the query contains a filter or a search."""
        return any(self.query[name] for name in conversation_filters.NAMES)

    @property
    def address(self) -> str:
        """The list's query string, which is empty for the waiting conversations without filters."""
        return address_of(self.query)

    @property
    def without(self) -> dict[str, str]:
        """The query string of the same list without each filter, by the filter's name."""
        names = [name for name in conversation_filters.NAMES if self.query[name]]
        return {name: address_of({**self.query, **list_pages.FIRST, name: None}) for name in names}

    @property
    def other_order(self) -> str:
        """The query string of the same list in the other order."""
        return address_of({**self.query, "sort": None if self.query["sort"] == _NEWEST_FIRST else _NEWEST_FIRST})

    @property
    def following(self) -> str | None:
        """The next page's query string, or None at the end of the list."""
        if not self.page.following:
            return None
        return query_string({**self.query, **list_pages.next_page(self.query, self.page)})

    @property
    def newer(self) -> str:
        """The query string of the page before this one, which may be the first page."""
        return address_of({**self.query, **list_pages.newer_page(self.query)})

    @property
    def long_waits(self) -> dict[tuple[str, str], int]:
        """The hours that conversations have been waiting for, if more than one, by agent id and conversation id."""
        hours = [(record, inbox.hours_of_long_wait(record)) for record in self.page.conversations]
        return {(record["agentId"], record["ID"]): number for record, number in hours if number}

    @property
    def version(self) -> str:
        """A digest of everything that the list shows, except names of agents and colleagues, and the number of all."""
        counts = {name: number for name, number in self.counts.items() if name != "all"}
        waiting = [(one["agentId"], one["ID"], one.get("chatAssignedTo")) for one in self.waiting]
        long_waits = sorted(self.long_waits.items())
        shown = [self.tab, counts, self.page.conversations, self.page.following, long_waits, waiting]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:32]


@signed_in("/convos")
def list_conversations(session: Session) -> Response:
    """List the waiting conversations, the person's own, or all, and count them.

    Without a `tab` in the query, list the waiting conversations, or all if there are filters. A tab that the person
    does not have redirects to these, and the page says why a workspace key has no tab Mine.
    """
    query, tab = read_query(session), current_request.query_value("tab")
    if (tab or query["tab"]) != query["tab"]:
        address = address_of(query, **{_MISSING: tab if tab == "mine" else None})
        return pages.redirect(f"/{session.workspace_id}/convos{address}")
    done, changed = (current_request.query_value(name) or "" for name in ("done", "changed"))
    is_result = done in BULK_ACTIONS and changed.isascii() and changed.isdecimal() and len(changed) < 3
    ended = (current_request.query_value("ended") or "").split()
    result: dict[str, Any] = {"done": done, "changed": int(changed), "ended": ended} if is_result else {}
    return show(session, **result)


def show(session: Session, status: int = 200, **result: Any) -> Response:
    """Return the page with the list that the request's query describes, and with the result of a form."""
    conditions, wrong_day = conversation_filters.explained(session)
    listed, agents = with_all_counted(session, _read(session, read_query(session), conditions, None))
    return guard.page(
        session,
        "conversations.html",
        "/convos",
        400 if wrong_day else status,
        wrong_day=wrong_day,
        searched_until=listed.page.searched_until,
        found_before=list_pages.found_before(listed.query),
        newest=address_of({**listed.query, **list_pages.FIRST}),
        newer=listed.newer,
        titles=agents.titles,
        has_more_agents=agents.has_more,
        max_rows=inbox.MAX_ROWS,
        max_exported=inbox.MAX_ROWS * (MAX_PAGES if listed.tab == "all" else 1),
        is_beside=False,
        next_waiting=inbox.next_waiting(session, listed.waiting),
        has_new_samples=current_request.query_value("saved") == "sample",
        known_tags=known_tags(listed.page.conversations),
        has_no_own_list=session.client_id is None and current_request.query_value(_MISSING) == "mine",
        **list_colleagues(session).values(),
        **{**_NO_RESULT, **result},
        **row_values(session, listed),
    )


def read_query(session: Session) -> dict[str, Any]:
    """Return the values in the request's query by name. The value of a missing name is None."""
    query = {
        name: current_request.query_value(name)
        for name in ("tab", "inbox", "sort", *list_pages.NAMES, *conversation_filters.NAMES)
    }
    if session.agent_ids is not None and query["agent"] not in session.agent_ids:
        query["agent"] = None
    return {**query, "tab": _tab(session, query)}


def address_of(query: dict[str, Any], **others: Any) -> str:
    """Return the query string of the list that `read_query` describes, with other values."""
    is_default = query["tab"] == "waiting" and not any(query[name] for name in ("sort", *conversation_filters.NAMES))
    return query_string({**query, "inbox": None, "tab": None if is_default else query["tab"], **others})


def read(session: Session, selected: tuple[str, str] | None = None) -> ConversationList:
    """Return the list that the request's query describes, which may be beside the conversation with these ids.

    Raise Invalid.
    """
    return _read(session, read_query(session), conversation_filters.from_request(session), selected)


def with_all_counted(session: Session, listed: ConversationList) -> tuple[ConversationList, VisibleAgents]:
    """Return the list, with the number at the tab All if it has no filters, and the agents with their organisations.

    The number costs one request per agent, at most ten.
    """
    agents = listed.agents or visible_agents.read(session)
    named = agents._replace(titles=organisation_list.with_organisations(session, agents.titles))
    if listed.is_filtered:
        return listed, named
    number = all_conversations.count(session.workspace_id, [*agents.titles])
    return listed._replace(counts={**listed.counts, "all": number}), named


def _read(
    session: Session, query: dict[str, Any], conditions: Filters, selected: tuple[str, str] | None
) -> ConversationList:
    tab = query["tab"]
    waiting = inbox.read(session, conditions, query["agent"] or None)
    if tab != "all":
        page = ConversationPage(_in_order(query, waiting.conversations[tab])[: inbox.MAX_ROWS])
        queue = waiting.conversations[tab] if tab == "waiting" else waiting.all_waiting
        return ConversationList(query, tab, waiting.counts, page, None, queue)
    agents = visible_agents.read(session)
    read_step, max_steps = _reader(session, agents, query, conditions), MAX_STEPS if query["q"] else 1
    page = all_conversations.read_steps(read_step, query["cursor"] or None, max_steps, selected)
    page = page._replace(conversations=inbox.with_waits(page.conversations, waiting.all_waiting))
    return ConversationList(query, tab, waiting.counts, page, agents, waiting.all_waiting)


def _in_order(query: Document, conversations: list[Document]) -> list[Document]:
    """Return the inbox's conversations in the order of the query, by default the longest wait first."""
    is_newest_first = query["tab"] == "waiting" and query["sort"] == _NEWEST_FIRST
    return conversations[::-1] if is_newest_first else conversations


def read_first(session: Session) -> list[Document]:
    """Return the conversations on the page that the request's query describes, and on up to nine following pages."""
    listed = read(session)
    page, conversations = listed.page, listed.page.conversations
    for _ in range(1, MAX_PAGES):
        if not (page.following and listed.agents):
            break
        read_step = _reader(session, listed.agents, listed.query, conversation_filters.from_request(session))
        page = all_conversations.read_steps(read_step, page.following, 1)
        conversations = conversations + page.conversations
    return conversations


def _reader(session: Session, agents: VisibleAgents, query: Document, conditions: Filters) -> partial[ConversationPage]:
    """Return the function that reads the page of the tab All after a cursor."""
    agent_ids = [query["agent"]] if query["agent"] in agents.titles else [*agents.titles]
    text = (query["q"] or "").strip()
    return partial(all_conversations.read, session.workspace_id, agent_ids, conditions, text)


def row_values(session: Session, listed: ConversationList, selected: Document | None = None) -> Document:
    """Return the template variables for the tabs and the rows, without colleagues.

    If the list does not contain the open conversation (`selected`), its row is the first.
    """
    conversations = listed.page.conversations
    listed_ids = {(one["agentId"], one["ID"]) for one in conversations}
    extra = [selected] if selected and (selected["agentId"], selected["ID"]) not in listed_ids else []
    return {
        "tab": listed.tab,
        "tabs": _tabs(session),
        "counts": listed.counts,
        "waiting_count": listed.counts["waiting"],
        "states": STATES,
        "query": listed.query,
        "list_query": listed.address,
        "without": listed.without,
        "other_order": listed.other_order,
        "exact_bounds": conversation_filters.exact_bounds(listed.query),
        "day_label": periods.day_label,
        "unassigned": conversation_filters.UNASSIGNED,
        "conversations": extra + conversations,
        "is_extra": bool(extra),
        "author": partial(previews.author, session),
        "is_unanswered": previews.is_unanswered,
        "needs_answer": previews.needs_answer,
        "since_of": previews.since,
        "place": partial(previews.place, session),
        "long_waits": listed.long_waits,
        "following": listed.following,
        "is_filtered": listed.is_filtered,
        "list_version": listed.version,
    }


def known_tags(conversations: list[Document]) -> list[str]:
    """Return the different tags of the conversations that fit into the filter, at most 50 in alphabetical order."""
    tags = {tag for record in conversations for tag in record.get("tags") or () if len(tag) <= inbox.MAX_FILTER}
    return sorted(tags)[:_MAX_TAGS]


def titles_beside(session: Session, listed: ConversationList, selected: Document | None) -> dict[str, str]:
    """Return the titles of the agents in a list beside an open conversation, or an empty dictionary for one agent.

    This costs at most one request.
    """
    agent_ids = sorted({record["agentId"] for record in [*listed.page.conversations, *filter(None, [selected])]})
    if len(agent_ids) < 2:
        return {}
    return listed.agents.titles if listed.agents else visible_agents.titles_of(session.workspace_id, agent_ids)


def _tab(session: Session, query: Document) -> str:
    """Return the tab in the query if the person has it. Operators, who are not clients, have no conversations."""
    if query["tab"] in _tabs(session):
        return str(query["tab"])
    return "all" if not query["inbox"] and any(query[name] for name in conversation_filters.NAMES) else "waiting"


def _tabs(session: Session) -> tuple[str, ...]:
    return ("waiting", "all") if session.client_id is None else ("waiting", "mine", "all")
