"""The cascading deletion of an agent and all its records, however many there are.

One transaction deletes the agent and turns its sequence row into a tombstone. From then on the agent is not found, and
nothing can be created for it. The tombstone reserves the id until the cascade is complete, so that the cascade never
deletes records of a new agent with this id. The cascade deletes in batches and can stop and resume at any point. Its
queue message is sent before the transaction, so that a crash cannot leave the cascade unfinished.
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
# The delay of the first message: the request has then stopped its part of the cascade.
_RESUME_SECONDS = 60
_RETRY_SECONDS = 10
# How long the index may lag behind the table: it may miss a conversation created just before the deletion.
_INDEX_LAG_SECONDS = 60


Check = Callable[[store.AgentRow | None], store.AgentRow | None]


def delete(workspace_id: str, agent_id: str, seconds: float, check: Check) -> bool:
    """Delete an agent, and its records for up to `seconds`; return whether the cascade is complete.

    `check` gets the agent as it was read, or None, and may raise to refuse the deletion. Raises NotFound, and
    ConditionFailed if another write came before the deletion. Once the agent is deleted, it never raises
    ConditionFailed: the caller would run it again, and a second run may find a new agent with this id.
    """
    _delete_agent(workspace_id, agent_id, check)
    try:
        return _cascade(workspace_id, agent_id, seconds)
    except storage.ConditionFailed:  # another write came first ten times; the queue resumes the cascade
        return False


def resume(message: str, seconds: float) -> None:
    """Resume the cascade that a queue message names for up to `seconds`; send the message again if it is not complete.

    Raises ValueError or TypeError for a malformed message.
    """
    workspace_id, agent_id = json.loads(message)
    if not _cascade(workspace_id, agent_id, seconds):
        queues.send(CASCADES, [message], workspace_id, _RETRY_SECONDS)


def _delete_agent(workspace_id: str, agent_id: str, check: Check) -> None:
    row = check(store.find(workspace_id, agent_id))
    if row is not None:
        queues.send(CASCADES, [json.dumps([workspace_id, agent_id])], workspace_id, _RESUME_SECONDS)
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
    # Some conversations are missing: an earlier run deleted them, or the index does not contain them yet.
    if conversations_found < sequence.count(tombstone) and clock.seconds() < tombstone.closed_at + _INDEX_LAG_SECONDS:
        return False
    store.revoke_all(workspace_id, agent_id)
    with storage.unit_of_work():
        # If another run completed the cascade first, a new agent with this id may already have a sequence row.
        storage.delete(tombstone, sequence.SequenceRow.closed_at == tombstone.closed_at)
    return True


def _delete_batches(workspace_id: str, agent_id: str, tombstone: sequence.SequenceRow) -> Iterator[bool]:
    """Delete the records of an agent in batches. Yields True for each deleted conversation, else False."""
    for batch_to_delete in (tools.batch_to_delete, leads.batch_to_delete, analytics.batch_to_delete):
        while rows := batch_to_delete(workspace_id, agent_id, _BATCH):
            storage.delete_many(rows)
            yield False
    for conversation_id in tombstone.recent.split():
        if _clear(workspace_id, agent_id, conversation_id):
            yield True
    while conversation_rows := conversations.batch_to_delete(workspace_id, agent_id, _BATCH):
        for row in conversation_rows:  # the index may still contain one that was deleted
            yield _clear(*storage.split_key(row.conversation))


def _clear(workspace_id: str, agent_id: str, conversation_id: str) -> bool:
    return storage.retry_on_conflict(lambda: conversations.clear(workspace_id, agent_id, conversation_id))
