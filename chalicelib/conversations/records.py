"""The records that a conversation request reads and writes: the agent and the conversation."""

from typing import Any, NamedTuple

from chalicelib import storage
from chalicelib.agents import store as agents
from chalicelib.conversations import retention, store, visitors
from chalicelib.conversations.rows import ConversationRow
from chalicelib.conversations.state import State
from chalicelib.http import auth
from chalicelib.storage import Document


class AgentAndConversation(NamedTuple):
    """A request's agent and conversation, and other records that were read with them.

    `row` is None if the conversation does not exist or has expired. `expired` is the conversation if it has expired.
    """

    agent: agents.AgentRow
    conversation_id: str
    row: ConversationRow | None
    expired: ConversationRow | None
    extra_rows: list[Any]


def load(agent_id: str, conversation_id: str, *extra_keys: storage.Key) -> AgentAndConversation:
    """Read the agent, the conversation and `extra_keys` in one request. Raise NotFound for an unknown agent.

    The agent read is eventually consistent; the conversation read is strongly consistent.
    """
    workspace_id = auth.caller().workspace_id
    keys = [agents.key(workspace_id, agent_id), store.key(workspace_id, agent_id, conversation_id), *extra_keys]
    agent_row, stored, *extra_rows = storage.find_many(keys)
    agent, row = agents.reread_if_missing(agent_row, workspace_id, agent_id), store.unless_expired(stored)
    return AgentAndConversation(agent, conversation_id, row, None if row else stored, extra_rows)


def save(records: AgentAndConversation, agent: Document, before: State, after: State) -> ConversationRow:
    """Stage a changed state. Create the conversation if it does not exist. `agent` is the agent's document."""
    name, row = agents.display_name(agent), records.row
    if row:
        store.save(row, before, after, name)
        return row
    workspace_id, days = records.agent.workspace_id, retention.days_of(records.agent.workspace_id, agent)
    place = (workspace_id, records.agent.agent_id, records.conversation_id)
    row = store.create(*place, after, name, days=days, expired=records.expired)
    visitors.bind(row)
    return row
