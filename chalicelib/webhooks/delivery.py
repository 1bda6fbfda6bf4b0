"""Delivery: from a queue message to one POST and its outcome. `functions` runs it.

A delivery is claimed in the ledger, posted once, and its outcome is recorded. The queue retries a failure before the
claim; nothing retries after it (at-most-once delivery, §6 rule 3).
"""

import logging
from collections.abc import Sequence
from concurrent import futures
from contextlib import suppress
from contextvars import copy_context

from chalicelib import clock, errors, storage, telemetry
from chalicelib.storage import Document
from chalicelib.webhooks import endpoints, ledger, queue, sender, signature
from chalicelib.workspaces import store as workspaces

_log = logging.getLogger(__name__)

# A receiver that takes longer is slow: its endpoint moves to the slow queue.
SLOW_SECONDS = 2.0
_POLL_SECONDS = 0.25
# Shared by all batches of the process, because starting a thread costs a third of a delivery. A Lambda process may have
# 1,024 threads and 1,024 open files, which bounds the number of deliveries at a time.
threads = futures.ThreadPoolExecutor(900, "delivery")


def deliver(messages: Sequence[queue.Message], queue_name: str) -> None:
    """Deliver a batch concurrently, so that a receiver that hangs does not delay the others.

    Raises the first failure before a claim. The queue then repeats the batch; claimed deliveries are not sent again.
    """
    posting: dict[queue.Message, float] = {}
    deliveries: list[futures.Future[None]] = []
    moved: set[tuple[str, str]] = set()
    try:
        for message in messages:
            deliveries.append(threads.submit(copy_context().run, _deliver, message, queue_name, posting))
        # Move a slow endpoint while its receiver still hangs, so that new events do not queue up behind it.
        while futures.wait(deliveries, min(_POLL_SECONDS, SLOW_SECONDS)).not_done:
            late = clock.monotonic() - SLOW_SECONDS
            slow = {(one.workspace_id, one.webhook_id) for one, since in list(posting.items()) if since <= late}
            for endpoint in slow - moved:
                with suppress(errors.ApiError):
                    endpoints.move_to_slow_queue(*endpoint)
            moved |= slow
    finally:
        futures.wait(deliveries)  # Lambda freezes the process, threads included, when the invocation ends
    for one in deliveries:
        one.result()


def _deliver(message: queue.Message, queue_name: str, posting: dict[queue.Message, float]) -> None:
    """Deliver one message. While the POST is running, `posting` holds its start on the monotonic clock."""
    webhook, event, workspace = storage.find_many(
        [
            endpoints.key(message.workspace_id, message.webhook_id),
            ledger.event_key(message.workspace_id, message.event_id),
            workspaces.key(message.workspace_id),
        ]
    )
    if webhook is None or workspace is None:
        return  # the endpoint or its workspace has been deleted since the event
    endpoint = webhook.open()
    if not (message.is_requested or endpoints.is_subscribed(endpoint, message.type)):
        return
    if queue_name == queue.FAST and webhook.is_slow:
        queue.send([message], queue.SLOW)
        return
    row = ledger.new(*message)
    # The API already shows the delivery as expired, so the customer may have requested another one.
    is_late = message.is_requested and row.status == ledger.EXPIRED
    event_and_secret = None if event is None else (event.open(), workspace.open()["workspaceSecret"])
    if not ledger.claim(row):
        return
    try:
        if event_and_secret is None:
            ledger.expire(row, "The event is no longer stored; events are kept for 30 days.")
        elif is_late:
            ledger.expire(row, "The delivery waited for more than 4 days; request a redelivery.")
        else:
            posting[message] = clock.monotonic()
            outcome = _post(message, endpoint, *event_and_secret)
            del posting[message]
            ledger.record_outcome(row, outcome)
            _log_metrics(message, outcome)
    except errors.ApiError:
        # Do not raise: a retry would not send it again. Without an outcome, the delivery is listed as unknown.
        _log.exception("Cannot record the outcome of a delivery: %s", row)


def _log_metrics(message: queue.Message, outcome: sender.Outcome) -> None:
    telemetry.log_metrics(
        {"deliveryMs": "Milliseconds", "failedDeliveries": "Count"},
        workspace=message.workspace_id,
        webhook=message.webhook_id,
        delivery=message.delivery_id,
        type=message.type,
        responseStatus=outcome.status,
        deliveryMs=outcome.duration_ms,
        failedDeliveries=int(outcome.error is not None),
    )


def _post(message: queue.Message, endpoint: Document, event: Document, secret: str) -> sender.Outcome:
    body = storage.encode_json({"type": event["type"], "payload": {**event["payload"], "workspaceSecret": secret}})
    headers = signature.sign(endpoints.active_secrets(endpoint), message.event_id, clock.seconds(), body)
    return sender.post(endpoint["url"], body, headers)
