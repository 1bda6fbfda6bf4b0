"""Delivery: from a queue message to one POST for each of its events, with their outcomes. `functions` runs it.

A delivery is claimed in the ledger, posted once, and its outcome is recorded. The queue retries a failure before the
claim; nothing retries after it (at-most-once delivery, §6 rule 3).
"""

import logging
from collections.abc import Sequence
from concurrent import futures
from contextlib import suppress
from contextvars import copy_context
from typing import Any, NamedTuple

from chalicelib import clock, errors, storage, telemetry
from chalicelib.storage import Document
from chalicelib.webhooks import endpoints, ledger, queue, sender, signature
from chalicelib.workspaces import store as workspaces

_log = logging.getLogger(__name__)

# A receiver that takes longer is slow: its endpoint moves to the slow queue.
SLOW_SECONDS = 2.0
_POLL_SECONDS = 0.25
# Deliveries that start between two polls. The CPU time of hundreds at once would make every receiver look slow.
_STARTS = 25
# Shared by all batches of a queue, because starting a thread costs a third of a delivery. A Lambda process may have
# 1,024 threads and 1,024 open files, which bounds the number of deliveries at a time. In the local run one process
# serves both queues: slow receivers must not take the threads of the others.
threads = {name: futures.ThreadPoolExecutor(900, "delivery") for name in (queue.FAST, queue.SLOW)}


class _Ready(NamedTuple):
    """A delivery with everything that it needs. `event` is None after it has expired."""

    delivery: queue.Delivery
    is_requested: bool
    endpoint: Document
    event: ledger.EventRow | None
    secret: str


def deliver(messages: Sequence[queue.Message], queue_name: str) -> list[queue.Message]:
    """Deliver a batch concurrently, so that a receiver that hangs does not delay the others.

    Returns the messages with a failure before a claim. The queue repeats them; claimed deliveries are not sent again.
    Raises the first failure if all messages failed, so that the function's alarm counts it.
    """
    submit = threads[queue_name].submit
    batch = list(dict.fromkeys(messages))
    posting: dict[queue.Delivery, float] = {}
    running: dict[futures.Future[Any], queue.Message] = {}
    moved: set[tuple[str, str]] = set()
    try:
        for message in batch:
            running[submit(copy_context().run, _read, message, queue_name)] = message
        futures.wait(running)
        reads = [(read, message) for read, message in running.items() if read.exception() is None]
        waiting = [(message, ready) for read, message in reads for ready in read.result()]
        while True:
            for message, ready in waiting[:_STARTS]:
                running[submit(copy_context().run, _deliver, ready, posting)] = message
            del waiting[:_STARTS]
            unfinished = futures.wait(running, min(_POLL_SECONDS, SLOW_SECONDS)).not_done
            if not (waiting or unfinished):
                break
            # Move a slow endpoint while its receiver still hangs, so that new events do not queue up behind it.
            late = clock.monotonic() - SLOW_SECONDS
            slow = {(one.workspace_id, one.webhook_id) for one, since in list(posting.items()) if since <= late}
            for endpoint in slow - moved:
                with suppress(errors.ApiError):
                    endpoints.move_to_slow_queue(*endpoint)
            moved |= slow
    finally:
        futures.wait(running)  # Lambda freezes the process, threads included, when the invocation ends
    return _failures(running, len(batch))


def _failures(finished: dict[futures.Future[Any], queue.Message], total: int) -> list[queue.Message]:
    failures: dict[queue.Message, BaseException] = {}
    for one, message in finished.items():
        if error := one.exception():
            failures.setdefault(message, error)
    for error in failures.values():
        if len(failures) == total or not isinstance(error, Exception):
            raise error
        _log.error("Cannot deliver a message; the queue repeats it", exc_info=error)
    return list(failures)


def _read(message: queue.Message, queue_name: str) -> list[_Ready]:
    """Return the deliveries of a message that are to be sent now."""
    deliveries = message.deliveries
    webhook, workspace, *events = storage.find_many(
        [
            endpoints.key(message.workspace_id, message.webhook_id),
            workspaces.key(message.workspace_id),
            *(ledger.event_key(message.workspace_id, one.event_id) for one in deliveries),
        ]
    )
    if webhook is None or workspace is None:
        return []  # the endpoint or its workspace has been deleted since the event
    endpoint = webhook.open()
    if not (message.is_requested or endpoints.is_subscribed(endpoint, message.type)):
        return []
    if queue_name == queue.FAST and webhook.is_slow:
        queue.send(message.workspace_id, [message], queue.SLOW)
        return []
    secret = workspace.open()["workspaceSecret"]
    return [
        _Ready(one, message.is_requested, endpoint, event, secret)
        for one, event in zip(deliveries, events, strict=True)
    ]


def _deliver(ready: _Ready, posting: dict[queue.Delivery, float]) -> None:
    """Make one delivery. While the POST is running, `posting` holds its start on the monotonic clock."""
    delivery = ready.delivery
    row = ledger.new(*delivery)
    # The API already shows the delivery as expired, so the customer may have requested another one.
    is_late = ready.is_requested and row.status == ledger.EXPIRED
    event = ready.event.open() if ready.event else None
    if not ledger.claim(row):
        return
    try:
        if event is None:
            ledger.expire(row, "The event is no longer stored; events are kept for 30 days.")
        elif is_late:
            ledger.expire(row, "The delivery waited for more than 4 days; request a redelivery.")
        else:
            posting[delivery] = clock.monotonic()
            outcome = _post(delivery, ready.endpoint, event, ready.secret)
            del posting[delivery]
            ledger.record_outcome(row, outcome)
            _log_metrics(delivery, outcome)
    except errors.ApiError:
        # Do not raise: a retry would not send it again. Without an outcome, the delivery is listed as unknown.
        _log.exception("Cannot record the outcome of a delivery: %s", row)


def _log_metrics(delivery: queue.Delivery, outcome: sender.Outcome) -> None:
    telemetry.log_metrics(
        {"deliveryMs": "Milliseconds", "failedDeliveries": "Count"},
        workspace=delivery.workspace_id,
        webhook=delivery.webhook_id,
        delivery=delivery.delivery_id,
        type=delivery.type,
        responseStatus=outcome.status,
        deliveryMs=outcome.duration_ms,
        failedDeliveries=int(outcome.error is not None),
    )


def _post(delivery: queue.Delivery, endpoint: Document, event: Document, secret: str) -> sender.Outcome:
    body = storage.encode_json({"type": event["type"], "payload": {**event["payload"], "workspaceSecret": secret}})
    headers = signature.sign(endpoints.active_secrets(endpoint), delivery.event_id, clock.seconds(), body)
    return sender.post(endpoint["url"], body, headers)
