"""The Lambda entry point that processes the `maintenance` queue and runs core's background tasks (`queues.tasks`).

The queue is fair: while one workspace has many tasks, other workspaces' tasks take precedence. A task runs for a few
seconds, then queues the rest of its work as a new task. Therefore, a workspace with a million records to delete does
not delay other workspaces.

The function's timeout (25 s) is shorter than the recount delay (30 s), so that an older count never replaces a newer
one. The module imports neither `app.py` nor wire models.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from chalice.app import Blueprint, SQSEvent

from chalicelib import clock, queues, storage, telemetry
from chalicelib.conversations import leftovers, listing, retention
from chalicelib.conversations.page_position import Quarter
from chalicelib.deletion import cascade
from chalicelib.queues import messages, tasks

functions = Blueprint(__name__)

_log = logging.getLogger(__name__)
_MAX_MESSAGES = 10
# Seconds per batch. The rest of the timeout is reserved for each task's last step, which takes a few requests.
_SECONDS = 12.0


def _recount(task: tasks.RecountQuarter, _: float) -> None:
    workspace_id, agent_id = storage.split_key(task.agent)
    listing.recount(workspace_id, agent_id, Quarter(task.day, task.number))


def _resume_fan_out(task: tasks.ContinueFanOut, seconds: float) -> None:
    from chalicelib.webhooks import fan_out  # the API does not need this module

    fan_out.resume(task, seconds)


# The handlers, in the order in which a batch runs them. Tasks that never queue a follow-up task run first.
_HANDLERS: Mapping[type[tasks.Task], Callable[[Any, float], None]] = {
    tasks.RecountQuarter: _recount,
    tasks.ContinueFanOut: _resume_fan_out,
    tasks.ClearLeftovers: leftovers.resume,
    tasks.ResumeCascade: cascade.resume,
    tasks.ApplyRetention: retention.resume,
}


@functions.on_sqs_message(queues.name(queues.MAINTENANCE), _MAX_MESSAGES, "maintain")
def maintain(event: SQSEvent) -> dict[str, list[dict[str, str]]]:
    """Run a batch's tasks, and report the messages that failed.

    The queue redelivers only these messages. After the last attempt, it moves them to its dead-letter queue.
    """
    telemetry.begin_invocation(event)
    message_ids: dict[str, list[str]] = defaultdict(list)
    for record in event.to_dict()["Records"]:
        message_ids[record["body"]].append(record["messageId"])
    end = clock.monotonic() + _SECONDS
    failed = []
    for number, text in enumerate(sorted(message_ids, key=_priority)):
        try:
            _run(messages.parse(text, _HANDLERS), (end - clock.monotonic()) / (len(message_ids) - number))
        except Exception:
            _log.exception("A background task failed; the queue will redeliver it")
            failed += message_ids[text]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _priority(text: str) -> int:
    return next(
        (number for number, kind in enumerate(_HANDLERS) if text.startswith(f'["{kind.__name__}"')), len(_HANDLERS)
    )


def _run(task: tasks.Task, seconds: float) -> None:
    """Run a task for up to `seconds`. If the batch has no time left, requeue the task instead."""
    if seconds > 0:
        _HANDLERS[type(task)](task, seconds)
    else:
        tasks.send(storage.split_key(task[0])[0], [task])
