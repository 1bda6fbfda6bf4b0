"""Cascading deletion of an agent and all its records.

One conditional write turns the agent into a tombstone. From then on, reads do not return the agent. A process that read
the agent earlier may still write records for it, so the cascade runs twice. The first run is part of the request. The
second run starts when no such process remains, and deletes the tombstone when it completes.

Until then, the tombstone reserves the id. A run reads a batch of records, then the tombstone, then deletes the batch.
If the tombstone still exists, no new agent had this id when the batch was read. The cascade can stop and resume at any
point. Its queue message is sent before the agent is deleted, so that a crash cannot leave the cascade unfinished.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from chalicelib import clock, errors, extensions, ids, storage
from chalicelib.agents import store
from chalicelib.agents.store import AgentRow
from chalicelib.analytics import store as analytics
from chalicelib.conversations import store as conversations
from chalicelib.conversations import tallies
from chalicelib.credentials import store as credentials
from chalicelib.leads import store as leads
from chalicelib.queues import tasks
from chalicelib.storage import deletion_hooks
from chalicelib.tools import store as tools

_BATCH = 100
_CONVERSATIONS = 10  # a long conversation takes several requests
# Seconds after which no process writes records for the agent. SDK retries can store the tombstone up to 27 s after its
# `deleted_at`. Processes cache agents for 30 s, and requests take up to 29 s. The rest allows for index lag.
_SECOND_RUN_SECONDS = 90
_RETRY_SECONDS = 10

Check = Callable[[AgentRow | None], AgentRow | None]
_Row = TypeVar("_Row", bound=storage.Row)


def delete(workspace_id: str, agent_id: str, seconds: float, check: Check) -> bool:
    """Delete an agent, and its records for up to `seconds`. Return whether all records are deleted.

    `check` receives the agent, or None, and raises an error to reject the deletion. Raise NotFound if the agent does
    not exist, and ConditionFailed if another write precedes the deletion.
    """
    row = check(store.find(workspace_id, agent_id))
    if row is None:
        row = errors.require(store.find_tombstone(workspace_id, agent_id), "agent")
    else:
        # The task is sent before the commit. After a crash in between, the task finds no tombstone and does nothing. In
        # the reverse order, the id would remain reserved until the caller repeats the deletion.
        tasks.send(workspace_id, [tasks.ResumeCascade(workspace_id, agent_id)], _SECOND_RUN_SECONDS)
        with storage.unit_of_work():
            store.delete(row)
    return _run(row, seconds)


def resume(task: tasks.ResumeCascade, seconds: float) -> None:
    """Perform a cascade's second run for up to `seconds`.

    Send the task again if it is too early for the second run, or if the run is not complete.
    """
    tombstone = store.find_tombstone(task.workspace_id, task.agent_id)
    if tombstone is None:
        return
    if wait := _seconds_to_second_run(tombstone):
        tasks.send(task.workspace_id, [task], wait)
    elif not _run(tombstone, seconds):
        tasks.send(task.workspace_id, [task], _RETRY_SECONDS)


def _seconds_to_second_run(tombstone: AgentRow) -> int:
    return max(0, int(tombstone.deleted_at) + _SECOND_RUN_SECONDS - clock.seconds())


def _run(tombstone: AgentRow, seconds: float) -> bool:
    """Delete the agent's keys and records for up to `seconds`. Return whether all are deleted.

    A complete second run deletes the tombstone. The function handles ConditionFailed, because a caller that retries
    might find a new agent with this id.
    """
    complete, is_second = True, not _seconds_to_second_run(tombstone)
    end = clock.monotonic() + seconds
    for delete_batch in _batches(tombstone):
        if not _is_stored(tombstone):
            return True
        try:
            with storage.written_by(tombstone.changed_by):  # the credential that deleted the agent
                delete_batch()
        except storage.ConditionFailed:  # a process that has cached the agent has changed a record
            complete = False
        if clock.monotonic() > end:
            return False
    if complete and is_second:
        with suppress(storage.ConditionFailed), storage.unit_of_work():  # another run may have deleted the tombstone
            storage.delete(tombstone)
    return complete


def _is_stored(tombstone: AgentRow) -> bool:
    stored = store.find_tombstone(tombstone.workspace_id, tombstone.agent_id)
    return stored is not None and stored.version_tag == tombstone.version_tag


def _batches(tombstone: AgentRow) -> Iterator[Callable[[], None]]:
    """Read the agent's keys and records in batches. For each batch, yield the function that deletes it.

    Credential, tool and lead ids, and extension row keys, are never reused, so their versions need no check. Other
    records are deleted only if they are unchanged since they were read.
    """
    workspace_id, agent_id = tombstone.workspace_id, tombstone.agent_id
    keys = store.list_keys(workspace_id, agent_id)
    for start in range(0, len(keys), _BATCH):
        yield partial(_delete_each, keys[start : start + _BATCH], credentials.revoke)
    while rows := [*tools.list_page(workspace_id, agent_id, limit=_BATCH)]:
        yield partial(_delete_tools, tombstone, rows)
    while captured := [*leads.list_page(workspace_id, agent_id, None, _BATCH)]:
        yield partial(storage.delete_many, captured)
    while records := [*analytics.list_page(workspace_id, agent_id, None, _BATCH)]:
        yield partial(_delete_each, records, analytics.delete)
    for list_rows in extensions.hooks("agent_rows"):
        while rows_of_extension := list_rows(workspace_id, agent_id, _BATCH):
            yield partial(storage.delete_many, rows_of_extension)
    while counts := tallies.list_by_creation(workspace_id, agent_id, _BATCH):
        yield partial(_delete_each, counts, tallies.delete)
    after = None
    while entries := conversations.list_by_creation(workspace_id, agent_id, after, _CONVERSATIONS):
        # The index may still contain deleted conversations.
        yield partial(_delete_each, conversations.read_all(entries), conversations.delete)
        after = entries[-1].created


def _delete_tools(tombstone: AgentRow, rows: Sequence[tools.ToolRow]) -> None:
    """Delete tools after saving the rows with which extensions record their deletion."""
    tool_ids, moment = [row.tool_id for row in rows], ids.timestamp_of(tombstone.version_tag)
    author = tombstone.changed_by
    storage.save_many(deletion_hooks.rows_of_cascade(tombstone.workspace_id, "tools", tool_ids, moment, author))
    storage.delete_many(rows)


def _delete_each(rows: Sequence[_Row], delete_row: Callable[[_Row], None]) -> None:
    for row in rows:
        with storage.unit_of_work():
            delete_row(row)
