"""Core's stream follower for the conversations table. It sends tasks that update tallies and delete leftovers.

Each created or deleted conversation belongs to the quarter hour in which it was created. Changes to the same quarter
hour share a recount for a minute. The queue delays a recount until the index contains the changes. Recounts can be
repeated safely: each writes an absolute number.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from chalicelib import storage
from chalicelib.conversations import leftovers
from chalicelib.conversations.page_position import quarter_of
from chalicelib.conversations.rows import CONVERSATION_ITEM
from chalicelib.queues import shared_messages, tasks
from chalicelib.queues.stream_batches import Follower

# The index has 30 seconds to contain the last change that shares the recount.
RECOUNT_DELAY_SECONDS = shared_messages.SHARED_SECONDS + 30


def _read(record: dict[str, Any]) -> list[tasks.Task] | None:
    """Return the tasks for a created or deleted conversation: a recount, and the clean-up if it was deleted."""
    change = record["dynamodb"]
    if record["eventName"] == "MODIFY" or change["Keys"]["item"]["S"] != CONVERSATION_ITEM:
        return None
    image = change.get("NewImage") or change["OldImage"]
    recount = tasks.RecountQuarter(image["agent"]["S"], *quarter_of(image["created"]["S"]))
    is_deleted = record["eventName"] == "REMOVE"
    return [recount, *([tasks.ClearLeftovers(change["Keys"]["conversation"]["S"])] if is_deleted else [])]


def _write(tasks_of_records: list[list[tasks.Task]]) -> None:
    distinct = {task for of_record in tasks_of_records for task in of_record}
    recounts = {task for task in distinct if isinstance(task, tasks.RecountQuarter)}
    _send(distinct - recounts, leftovers.CLEAR_DELAY_SECONDS)
    shared_messages.send(recounts, lambda unsent: _send(unsent, RECOUNT_DELAY_SECONDS))


def _send(distinct: Iterable[tasks.Task], delay_seconds: int) -> None:
    """Send tasks by workspace. A task's first member is the partition key of an agent or a conversation."""
    for workspace_id, of_workspace in groupby(sorted(distinct), lambda task: storage.split_key(task[0])[0]):
        tasks.send(workspace_id, of_workspace, delay_seconds)


FOLLOWER = Follower(_read, _write)
