"""Delivery: from a message of a queue to one POST and its outcome. `functions` runs it.

A delivery claims its place in the ledger, posts once, and records its outcome. What fails before the claim is repeated
by the queue; after the claim nothing is (at-most-once delivery, §6 rule 3).
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

# A receiver that takes longer is slow, and will go through a lane of its own.
SLOW_SECONDS = 2.0
_LOOK_SECONDS = 0.25
# For all batches of the process, as making a thread costs a third of what a delivery does. A function has one batch
# at a time, and room for no more than about so many deliveries: it may have 1,024 threads and as many open files.
threads = futures.ThreadPoolExecutor(900, "delivery")


def deliver(messages: Sequence[queue.Message], lane: str) -> None:
    """Deliver a batch, all of it at once: nobody in it waits for a receiver that does not answer.

    Raises what failed before its claim, so that the queue repeats the batch; the claims of the others hold.
    """
    posting: dict[queue.Message, float] = {}
    running: list[futures.Future[None]] = []
    noted: set[tuple[str, str]] = set()
    try:
        for message in messages:
            running.append(threads.submit(copy_context().run, _deliver, message, lane, posting))
        # While they still hang, so that what comes meanwhile does not join them.
        while futures.wait(running, min(_LOOK_SECONDS, SLOW_SECONDS)).not_done:
            late = clock.monotonic() - SLOW_SECONDS
            slow = {(one.workspace_id, one.webhook_id) for one, since in list(posting.items()) if since <= late}
            for endpoint in slow - noted:
                with suppress(errors.ApiError):
                    endpoints.move_to_slow_queue(*endpoint)
            noted |= slow
    finally:
        futures.wait(running)  # a function whose call has ended is frozen, with whatever it is doing
    for one in running:
        one.result()


def _deliver(message: queue.Message, lane: str, posting: dict[queue.Message, float]) -> None:
    """Deliver one message; `posting` has it, with when it began, as long as its receiver is being waited for."""
    webhook, event, workspace = storage.find_many(
        [
            endpoints.key(message.workspace_id, message.webhook_id),
            ledger.event_key(message.workspace_id, message.event_id),
            workspaces.key(message.workspace_id),
        ]
    )
    if webhook is None or workspace is None:
        return  # deleted meanwhile: there is nobody to tell
    endpoint = webhook.open()
    if not (message.is_asked_for or endpoints.wants(endpoint, message.type)):
        return
    if lane == queue.FAST and webhook.is_slow:
        queue.send([message], queue.SLOW)
        return
    row = ledger.new(*message)
    # Whoever asked for it was told that it would not be sent, and may have asked again.
    is_late = message.is_asked_for and row.status == ledger.EXPIRED
    told = None if event is None else (event.open(), workspace.open()["workspaceSecret"])
    if not ledger.claim(row):
        return
    try:
        if told is None:
            ledger.expire(row, "The event is not kept any more.")
        elif is_late:
            ledger.expire(row, "It was not sent in time.")
        else:
            posting[message] = clock.monotonic()
            outcome = _post(message, endpoint, *told)
            del posting[message]
            ledger.record_outcome(row, outcome)
            _tell(message, outcome)
    except errors.ApiError:
        # It was sent or never will be; without an outcome it is listed as unknown.
        _log.exception("The outcome of a delivery could not be written down: %s", row)


def _tell(message: queue.Message, outcome: sender.Outcome) -> None:
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
    headers = signature.sign(endpoints.secrets(endpoint), message.event_id, clock.seconds(), body)
    return sender.post(endpoint["url"], body, headers)
