"""Delete an agent with everything that belongs to it, whatever its size.

The agent and its sequence row go in one transaction: from then on it is not found, and nobody can create
anything of it. The sequence row becomes a tombstone, which holds the id until the sweep is through: a new
agent of the same id must not lose what is its own. The sweep deletes in batches, may end anywhere, and
goes on where it ended. A message that says so is on a queue before anything is deleted, so that it does.
"""

import json
from collections.abc import Callable, Iterator

from chalicelib import clock, errors, queues, storage
from chalicelib.agents import store
from chalicelib.analytics import store as analytics
from chalicelib.conversations import store as conversations
from chalicelib.leads import store as leads
from chalicelib.storage import sequence
from chalicelib.tools import store as tools

CASCADES = "cascades"
_BATCH = 100
# After the request that deletes has done what it could.
_LATER_SECONDS = 60
_AGAIN_SECONDS = 10
# So much later an index may still not show a conversation that was created just before the deletion.
_INDEX_LAG_SECONDS = 60


Check = Callable[[store.AgentRow | None], store.AgentRow | None]


def delete(workspace_id: str, agent_id: str, seconds: float, check: Check) -> bool:
    """Delete an agent; False when `seconds` were not enough for all it had. Raises NotFound, and what `check` raises
    for the agent as it was read."""
    storage.retry_on_conflict(lambda: _close(workspace_id, agent_id, check))
    return _cascade(workspace_id, agent_id, seconds)


def resume(message: str, seconds: float) -> None:
    """Sweep on for so long after an agent that is deleted, as a message of the queue says, and come again if needed.

    Raises ValueError or TypeError for what is no such message.
    """
    workspace_id, agent_id = json.loads(message)
    if not _cascade(workspace_id, agent_id, seconds):
        queues.send(CASCADES, [message], _AGAIN_SECONDS)


def _close(workspace_id: str, agent_id: str, check: Check) -> None:
    row = check(store.find(workspace_id, agent_id))
    if row is not None:
        queues.send(CASCADES, [json.dumps([workspace_id, agent_id])], _LATER_SECONDS)
        with storage.unit_of_work():
            store.delete(row)
        store.revoke_all(workspace_id, agent_id)
    elif sequence.find_tombstone(workspace_id, agent_id) is None:
        raise errors.NotFound.of("agent")


def _cascade(workspace_id: str, agent_id: str, seconds: float) -> bool:
    end, conversations_found = clock.monotonic() + seconds, 0
    tombstone = sequence.find_tombstone(workspace_id, agent_id)
    if tombstone is None:
        return True
    for found in _delete_batches(workspace_id, agent_id, tombstone):
        conversations_found += found
        if clock.monotonic() > end:
            return False
    # Fewer than there were: an earlier sweep has had the others, or the index does not show them yet.
    if conversations_found < sequence.count(tombstone) and clock.seconds() < tombstone.closed_at + _INDEX_LAG_SECONDS:
        return False
    store.revoke_all(workspace_id, agent_id)
    with storage.unit_of_work():
        storage.delete(tombstone)
    return True


def _delete_batches(workspace_id: str, agent_id: str, tombstone: sequence.SequenceRow) -> Iterator[bool]:
    """Delete what an agent has left, some at a time; whether that was a conversation."""
    for batch_to_delete in (tools.batch_to_delete, leads.batch_to_delete, analytics.batch_to_delete):
        while rows := batch_to_delete(workspace_id, agent_id, _BATCH):
            storage.delete_many(rows)
            yield False
    for conversation_id in tombstone.recent.split():
        if _cleared(workspace_id, agent_id, conversation_id):
            yield True
    while conversation_rows := conversations.batch_to_delete(workspace_id, agent_id, _BATCH):
        for row in conversation_rows:  # the index may show one for a while that is gone
            yield _cleared(*storage.split_key(row.conversation))


def _cleared(workspace_id: str, agent_id: str, conversation_id: str) -> bool:
    return storage.retry_on_conflict(lambda: conversations.clear(workspace_id, agent_id, conversation_id))
