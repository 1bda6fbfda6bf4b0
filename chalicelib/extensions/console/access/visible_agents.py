"""The agents that a person sees, with their titles."""

from collections.abc import Iterable
from typing import NamedTuple

from chalicelib.agents import store as agents
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import template_filters
from chalicelib.ids import IDENTIFIER
from chalicelib.storage import Document

MAX_AGENTS = 50
"""The maximum number of agents on a page that shows them all."""


class VisibleAgents(NamedTuple):
    """The titles of the first agents that a person sees, by agent id, and whether there are more."""

    titles: dict[str, str]
    has_more: bool


def read(session: Session) -> VisibleAgents:
    """Return the first 50 agents that the person sees. An untitled agent has its id as title."""
    if session.agent_ids is None:
        return first(session.workspace_id, MAX_AGENTS)
    ids = session.agent_ids
    return VisibleAgents(titles_of(session.workspace_id, ids[:MAX_AGENTS]), len(ids) > MAX_AGENTS)


def first(workspace_id: str, limit: int) -> VisibleAgents:
    """Return a workspace's first agents by id. This costs one request per 1 MB of the index, about 1 KB per agent."""
    entries = agents.list_entries(workspace_id, None, limit + 1)
    titles = [(entry.agent_id, _title(entry, agents.summary_of(entry))) for entry in entries]
    return VisibleAgents(dict(titles[:limit]), len(titles) > limit)


def titles_of(workspace_id: str, agent_ids: Iterable[str]) -> dict[str, str]:
    """Return the titles of the agents that exist. This reads whole agents, and costs one request per 20."""
    keyed = [agents.row_for_key(workspace_id, agent_id) for agent_id in agent_ids if IDENTIFIER.fullmatch(agent_id)]
    rows = [row for _, row in agents.read_entries(keyed) if row is not None]
    return {row.agent_id: _title(row, row.open()) for row in rows}


def _title(row: agents.AgentRow, agent: Document) -> str:
    return template_filters.agent_title({**agent, "ID": row.agent_id})
