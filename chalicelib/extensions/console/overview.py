"""The overview page: the conversations waiting for a person, and the counts for the last 30 days."""

from collections.abc import Iterator
from typing import NamedTuple

from chalice.app import Response

from chalicelib import extensions, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import listing, store
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console import guard, template_filters
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http.lazy_module import LazyModule
from chalicelib.ids import IDENTIFIER
from chalicelib.storage import Document, split_key

_counts = LazyModule("chalicelib.extensions.console.overview_counts")
MAX_AGENTS = 50
_MAX_WAITING = 5
_WAITING = "requested_chat"
# The inbox entries per request after the first request.
_PORTIONS = (100,) * 10
_LOWEST = "0"  # sorts before all inbox positions


class VisibleAgents(NamedTuple):
    """The titles of the first agents that a person sees, by agent id, and whether there are more."""

    titles: dict[str, str]
    has_more: bool


@signed_in("/overview")
def read_overview(session: Session) -> Response:
    """Show the conversations waiting for a person and, with the reports extension, the counts for the last 30 days.

    Besides the requests for the agents and the inbox, the page costs two per agent if the reports extension is enabled.
    """
    titles, has_more = visible_agents(session)
    return guard.page(
        session,
        "overview.html",
        "/overview",
        waiting=longest_waits(session, _MAX_WAITING),
        titles=titles,
        has_more_agents=has_more,
        **(_counts.read(session, titles) if extensions.has("reports") else {"report": None}),
    )


def visible_agents(session: Session) -> VisibleAgents:
    """Return the first 50 agents that the person sees. An untitled agent has its id as title."""
    if session.agent_ids is None:
        entries = agents.list_entries(session.workspace_id, None, MAX_AGENTS + 1)
        titles = [(entry.agent_id, _title(entry, agents.summary_of(entry))) for entry in entries]
        return VisibleAgents(dict(titles[:MAX_AGENTS]), len(titles) > MAX_AGENTS)
    ids = session.agent_ids
    keyed = [
        agents.row_for_key(session.workspace_id, agent_id)
        for agent_id in ids[:MAX_AGENTS]
        if IDENTIFIER.fullmatch(agent_id)
    ]
    rows = [row for _, row in agents.read_entries(keyed) if row is not None]
    return VisibleAgents({row.agent_id: _title(row, row.open()) for row in rows}, len(ids) > MAX_AGENTS)


def _title(row: agents.AgentRow, agent: Document) -> str:
    return template_filters.agent_title({**agent, "ID": row.agent_id})


def longest_waits(session: Session, limit: int) -> list[Document]:
    """Return up to `limit` conversations waiting for a person, the longest wait first, with `ID` and `agentId`.

    A wait begins at the conversation's latest change. This costs one request for the first `limit` inbox entries, plus
    one per 100 further entries, up to 1,000. Entries that are with a person or of other agents are skipped.
    """
    conversations: list[Document] = []
    for row in _oldest_changes(session, limit):
        metadata = store.read_metadata(row)
        if metadata.get("state") == _WAITING and not store.has_expired(metadata):
            agent_id, conversation_id = split_key(row.agent)[1], split_key(row.conversation)[2]
            conversations.append({**metadata, "ID": conversation_id, "agentId": agent_id})
        if len(conversations) == limit:
            break
    return conversations


def _oldest_changes(session: Session, limit: int) -> Iterator[ConversationRow]:
    """Yield the visible agents' inbox entries, the oldest change first."""
    after = _LOWEST
    for portion in (limit + 1, *_PORTIONS):
        condition = ConversationRow.activity > after
        entries = storage.query(ConversationRow, session.workspace_id, condition, index="by_activity", limit=portion)
        visible = [row for row in entries if session.agent_ids is None or split_key(row.agent)[1] in session.agent_ids]
        yield from filter(None, listing.read_long(visible))
        if len(entries) < portion:
            return
        after = entries[-1].activity
