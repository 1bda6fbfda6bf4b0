"""Core's stream follower for the conversations table. It sends tasks that update tallies and delete leftovers.

Each created or deleted conversation belongs to the quarter hour in which it was created. Lambda collects a shard's
records for up to a minute, or up to 10,000 records, so changes to the same quarter hour share one recount. The queue
delays a recount until the index contains the change. Recounts can be repeated safely: each writes an absolute number.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from chalicelib import storage
from chalicelib.conversations import leftovers
from chalicelib.conversations.page_position import quarter_of
from chalicelib.conversations.rows import CONVERSATION_ITEM
from chalicelib.queues import tasks
from chalicelib.queues.stream_batches import Follower

RECOUNT_DELAY_SECONDS = 30


class _Tasks(NamedTuple):
    """Tasks that a stream record requires."""

    recount: tasks.RecountQuarter | None
    clear: tasks.ClearLeftovers | None


def _read(record: dict[str, Any]) -> _Tasks:
    return _Tasks(_recount(record), _clear(record))


def _recount(record: dict[str, Any]) -> tasks.RecountQuarter | None:
    """Return the recount task if a conversation was created or deleted, otherwise None."""
    change = record["dynamodb"]
    if record["eventName"] == "MODIFY" or change["Keys"]["item"]["S"] != CONVERSATION_ITEM:
        return None
    image = change.get("NewImage") or change["OldImage"]
    return tasks.RecountQuarter(image["agent"]["S"], *quarter_of(image["created"]["S"]))


def _clear(record: dict[str, Any]) -> tasks.ClearLeftovers | None:
    """Return the clean-up task if a caller or TTL deleted a conversation, otherwise None."""
    keys = record["dynamodb"]["Keys"]
    is_deleted = record["eventName"] == "REMOVE" and keys["item"]["S"] == CONVERSATION_ITEM
    return tasks.ClearLeftovers(str(keys["conversation"]["S"])) if is_deleted else None


def _write(tasks_of_records: list[_Tasks]) -> None:
    _send((of_record.clear for of_record in tasks_of_records), leftovers.CLEAR_DELAY_SECONDS)
    _send((of_record.recount for of_record in tasks_of_records), RECOUNT_DELAY_SECONDS)


def _send(optional_tasks: Iterable[tasks.Task | None], delay_seconds: int) -> None:
    """Send each distinct task once. A task's first member is the partition key of an agent or a conversation."""
    for workspace_id, of_workspace in groupby(
        sorted({task for task in optional_tasks if task}), lambda task: storage.split_key(task[0])[0]
    ):
        tasks.send(workspace_id, of_workspace, delay_seconds)


FOLLOWER = Follower(_read, _write)
