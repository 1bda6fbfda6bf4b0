"""The Lambda entry point `append_events`, which processes the queue `feeds`.

An invocation appends all of its messages' events for a feed together, so that a busy feed needs few transactions. This
module imports neither `app.py` nor wire models.
"""

import logging
from collections import defaultdict

from chalice.app import Blueprint, SQSEvent

from chalicelib import queues, telemetry
from chalicelib.extensions.feeds.extension import QUEUE

functions = Blueprint(__name__)

_log = logging.getLogger(__name__)
_MAX_MESSAGES = 100
_WINDOW_SECONDS = 1  # Lambda requires a window for batches of more than ten messages


@functions.on_sqs_message(
    queues.name(QUEUE), _MAX_MESSAGES, "append_events", maximum_batching_window_in_seconds=_WINDOW_SECONDS
)
def append_events(event: SQSEvent) -> dict[str, list[dict[str, str]]]:
    """Append a batch's events to their feeds. Report the failed messages, so that the queue redelivers only these."""
    from chalicelib.extensions.feeds import feed  # the API does not need these modules
    from chalicelib.webhooks.queue import DeliveryMessage

    telemetry.begin_invocation(event)
    failed: list[str] = []
    event_ids: dict[tuple[str, str], list[str]] = defaultdict(list)
    message_ids: dict[tuple[str, str], list[str]] = defaultdict(list)
    for record in event.to_dict()["Records"]:
        try:
            message = DeliveryMessage.parse(record["body"])
        except (TypeError, ValueError, RecursionError):
            _log.exception("Cannot read a message; the queue will move it to its dead-letter queue")
            failed.append(record["messageId"])
            continue
        event_ids[message.workspace_id, message.webhook_id] += message.event_ids
        message_ids[message.workspace_id, message.webhook_id].append(record["messageId"])
    for key, of_feed in event_ids.items():
        try:
            feed.append(*key, of_feed)
        except Exception:
            _log.exception("Cannot append events to a feed; the queue will redeliver them")
            failed += message_ids[key]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}
