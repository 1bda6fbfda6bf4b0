"""Retention: how many days conversations are kept, as set by their agent or else by the workspace.

A conversation's metadata contains its retention days, in a member that responses omit. Every metadata save postpones
the expiry (`store`). When the retention days change, a task applies the change to existing conversations. The task
starts 90 seconds later, when every cached copy of the old value has expired. Every run reads the current settings, so
repeated and overlapping runs have the same result. Expired conversations are never restored.
"""

from functools import partial
from typing import Any

from chalicelib import clock, errors, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import store as conversations
from chalicelib.queues import tasks
from chalicelib.storage import Document
from chalicelib.workspaces import store as workspaces

_MAX_DAYS = 3650  # the limit in the wire models
_PAGE = 25


def days_of(workspace_id: str, agent: Document) -> int | None:
    """Return how many days an agent's conversations are kept after their last activity. None means no limit.

    This costs one request if the agent sets no retention days and the workspace was not read in the last minute.
    """
    days = _agent_days(agent)
    return workspaces.retention_days(workspace_id) if days is None else days


def resume(task: tasks.ApplyRetention, seconds: float) -> None:
    """Apply the retention days for up to `seconds`, then send a task for the remaining conversations."""
    end = clock.monotonic() + seconds
    try:
        days = workspaces.read(task.workspace_id).open().get("retentionDays")
    except errors.NotFound:
        return
    agent_id, after = task.agent_id or agents.next_id(task.workspace_id, None), task.after
    while agent_id is not None:
        after = _apply_page(task.workspace_id, agent_id, after, days)
        if after is None:
            agent_id = None if task.is_only else agents.next_id(task.workspace_id, agent_id)
        if agent_id is not None and clock.monotonic() > end:
            tasks.send(task.workspace_id, [task._replace(agent_id=agent_id, after=after)])
            return


def _agent_days(agent: Document) -> int | None:
    """Return the agent's retention days, or None if they are invalid. An earlier version accepted any value."""
    retention: Any = agent.get("retention")
    days = retention.get("days") if isinstance(retention, dict) else None
    is_valid = isinstance(days, int) and not isinstance(days, bool) and 1 <= days <= _MAX_DAYS
    return days if is_valid else None


def _apply_page(workspace_id: str, agent_id: str, after: str | None, default: int | None) -> str | None:
    """Apply an agent's retention days to a page of its conversations. Return the next page's position, if any."""
    agent = agents.find(workspace_id, agent_id)
    if agent is None:
        return None
    days = _agent_days(agent.open())
    days = default if days is None else days
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
