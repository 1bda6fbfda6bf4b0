"""Fan-out and delivery: from a change to a POST. What runs them is `streams`.

Fan-out reads changes, keeps their events and puts a message for each interested endpoint on a queue; it
sends nothing over HTTP. A delivery claims its place in the ledger, posts once, and writes down how it
ended. What fails before the claim is repeated by the stream or the queue; after it nothing is.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent import futures
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from chalicelib import clock, errors, sealing, storage, telemetry
from chalicelib.documents import Document
from chalicelib.webhooks import change, endpoints, events, ledger, queue, sender, signature
from chalicelib.workspaces import store as workspaces

_log = logging.getLogger(__name__)

# A receiver that takes longer is slow, and will go through a lane of its own.
SLOW_SECONDS = 2.0
_LOOK_SECONDS = 0.25
# For all batches of the process, as making a thread costs a third of what a delivery does. A function has one batch
# at a time, and room for no more than about so many deliveries: it may have 1,024 threads and as many open files.
threads = futures.ThreadPoolExecutor(900, "delivery")


def fan_out(records: Iterable[dict[str, Any]]) -> None:
    """Turn stream records into deliveries. A record that cannot be read is buried and holds up no other.

    Raises Unavailable when database, keys or queue fail: the stream repeats the batch, and every id stays.
    """
    # By its id: a batch may have a record twice.
    happened: dict[str, dict[str, events.Event]] = defaultdict(dict)
    for record in records:
        for event in _events(record):
            happened[event.workspace_id][event.id] = event
    for workspace_id, by_id in happened.items():
        _announce(workspace_id, by_id.values())


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
                    endpoints.note_slow(*endpoint)
            noted |= slow
    finally:
        futures.wait(running)  # a function whose call has ended is frozen, with whatever it is doing
    for one in running:
        one.result()


def _events(record: dict[str, Any]) -> list[events.Event]:
    try:
        return events.of(change.from_record(record))
    except errors.Unavailable:
        raise
    except Exception:
        _log.exception("A stream record cannot be read; it is on the queue %s", queue.DEAD)
        queue.bury(sealing.encode(_whereabouts(record)).decode())
        return []


def _whereabouts(record: Any) -> Document:
    """What leads an operator to a record, nothing of what it says."""
    if not isinstance(record, dict):
        return {}
    stream = record.get("dynamodb")
    inner = {name: stream.get(name) for name in ("Keys", "SequenceNumber")} if isinstance(stream, dict) else {}
    return {**{name: record.get(name) for name in ("eventID", "eventSourceARN")}, **inner}


def _announce(workspace_id: str, happened: Iterable[events.Event]) -> None:
    """Keep the events that an endpoint wants, then tell the queue: what is on it can be found."""
    subscribed = list(_subscribed(workspace_id))
    wanted: dict[str, events.Event] = {}
    lanes: dict[str, list[queue.Message]] = {queue.FAST: [], queue.SLOW: []}
    for event in happened:
        for row, document in subscribed:
            if endpoints.wants(document, event.type) and endpoints.was_there(document, event.payload["createdAt"]):
                wanted[event.id] = event
                message = queue.Message(workspace_id, row.webhook_id, event.id, event.type, event.id)
                lanes[queue.SLOW if row.is_slow else queue.FAST].append(message)
    ledger.record(wanted.values())
    for lane, messages in lanes.items():
        queue.send(messages, lane)


def _subscribed(workspace_id: str) -> Iterator[tuple[endpoints.WebhookRow, Document]]:
    for row in endpoints.listed(workspace_id):
        try:
            yield row, row.open()
        except sealing.Unreadable:
            # Altered or restored without its key: the other endpoints must not wait until the stream gives up.
            _log.exception("An endpoint cannot be read, and is passed over: %s", row)


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
            ledger.settle(row, outcome)
            _tell(message, outcome)
    except errors.ApiError:
        # It was sent or never will be; without an outcome it is listed as unknown.
        _log.exception("The outcome of a delivery could not be written down: %s", row)


def _tell(message: queue.Message, outcome: sender.Outcome) -> None:
    telemetry.tell(
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
    body = sealing.encode({"type": event["type"], "payload": {**event["payload"], "workspaceSecret": secret}})
    headers = signature.sign(endpoints.secrets(endpoint), message.event_id, clock.seconds(), body)
    return sender.post(endpoint["url"], body, headers)
