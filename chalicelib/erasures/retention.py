"""A changed retention period, applied to the conversations that exist: in pages, which a queue continues.

It starts 90 seconds after the change, when no process knows the old period any longer. Each conversation gets the days
that hold when it is reached, so repeated and overlapping runs have the same result. One that has expired stays so.
"""

import json
from functools import partial

from chalicelib import clock, errors, queues, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import retention
from chalicelib.conversations import store as conversations
from chalicelib.erasures.kinds import next_agent
from chalicelib.workspaces import store as workspaces

_PAGE = 25


def resume(
    workspace_id: str, agent_id: str | None = None, is_only: bool = False, after: str | None = None, *, seconds: float
) -> None:
    """Continue with an agent, behind the conversation created at `after`, for up to `seconds`.

    Goes on with the next agent, unless `is_only`. Sends a message for what is left.
    """
    end = clock.monotonic() + seconds
    try:
        days = workspaces.read(workspace_id).get("retentionDays")
    except errors.NotFound:
        return
    agent_id = agent_id or next_agent(workspace_id, None)
    while agent_id is not None:
        after = _apply_page(workspace_id, agent_id, after, days)
        if after is None:
            agent_id = None if is_only else next_agent(workspace_id, agent_id)
        if agent_id is not None and clock.monotonic() > end:
            message = json.dumps(["retain", workspace_id, agent_id, is_only, after])
            queues.send(queues.ERASURES, [message], workspace_id)
            return


def _apply_page(workspace_id: str, agent_id: str, after: str | None, default: int | None) -> str | None:
    """Apply the days of an agent to a page of its conversations; return where the next page begins."""
    agent = agents.find(workspace_id, agent_id)
    if agent is None:
        return None
    own = retention.own_days(agent.open())
    days = default if own is None else own
    entries = conversations.list_by_creation(workspace_id, agent_id, after, _PAGE)
    for row in conversations.read_all(entries):
        if not conversations.is_kept_for(row, days):
            storage.retry_on_conflict(partial(_apply, row.conversation, days))
    return entries[-1].created if len(entries) == _PAGE else None


def _apply(conversation: str, days: int | None) -> None:
    row = conversations.unless_expired(conversations.find(conversation))
    if row is not None:
        with storage.unit_of_work():
            conversations.keep_for(row, days)
