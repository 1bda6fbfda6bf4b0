"""The list of conversations: its tabs, its filters and its search."""

from chalice.app import Response

from chalicelib.extensions.console import all_conversations, conversations, guard, inbox, overview, pages, previews
from chalicelib.extensions.console.calls import query_string
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request
from chalicelib.storage import Document

STATES = ("requested_chat", "human-chatting", "ai-chatting", "ended_chat")
_FILTERS = ("agent", "state", "tag", "origin", "assignedTo", "q")


@signed_in("/convos")
def list_conversations(session: Session) -> Response:
    """List the waiting conversations, the person's own, or all, and count the first two.

    Without a `tab` in the query, list the waiting conversations, or all if there are filters.
    """
    titles, has_more = overview.visible_agents(session)
    query = {name: current_request.query_value(name) for name in ("tab", "inbox", "cursor", *_FILTERS)}
    query["agent"] = query["agent"] if query["agent"] in titles else None
    query["tab"] = tab = _tab(session, query)
    conditions, agent_ids = inbox.filters_from_request(), [query["agent"]] if query["agent"] else [*titles]
    listed = inbox.read(session, conditions, query["agent"])
    page = all_conversations.ConversationPage(listed.conversations.get(tab, []))
    if tab == "all":
        text = (query["q"] or "").strip()
        page = all_conversations.read(session.workspace_id, agent_ids, conditions, text, query["cursor"] or None)
    is_assigned = any(record.get("chatAssignedTo") for record in page.conversations)
    return guard.page(
        session,
        "conversations.html",
        "/convos",
        conversations=page.conversations,
        authors=previews.read_authors(session, page.conversations, page.matches),
        following=query_string({**query, "cursor": page.following}) if page.following else None,
        searched_until=page.searched_until,
        query=query,
        is_filtered=any(query[name] for name in _FILTERS),
        titles=titles,
        has_more_agents=has_more,
        states=STATES,
        max_rows=inbox.MAX_ROWS,
        here=f"{pages.root()}/{session.workspace_id}/convos{query_string(query)}",
        colleagues=conversations.list_colleagues(session)[0] if is_assigned else [],
        **conversations.tab_values(session, tab, listed),
    )


def _tab(session: Session, query: Document) -> str:
    """Return the tab in the query if the person has it. Operators, who are not clients, have no conversations."""
    if query["tab"] in conversations.tabs(session):
        return str(query["tab"])
    return "all" if not query["inbox"] and any(query[name] for name in _FILTERS) else "waiting"
