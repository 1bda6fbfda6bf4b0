"""Delivery: from a queue message to one POST for each of its events, with their outcomes. `functions` runs it.

A delivery is claimed in the ledger, posted once, and its outcome is recorded. The queue retries a failure before the
claim; nothing retries after it (at-most-once delivery, §6 rule 3).
"""

import logging
from collections.abc import Callable, Sequence
from concurrent import futures
from contextlib import suppress
from contextvars import copy_context
from typing import Any, NamedTuple

from chalicelib import clock, errors, storage, telemetry
from chalicelib.storage import Document
from chalicelib.webhooks import endpoints, hosts, ledger, queue, sender, signature
from chalicelib.workspaces import store as workspaces

_log = logging.getLogger(__name__)

# A host that takes longer hangs, and moves to the slow queue. An answer before promotes it.
SLOW_SECONDS = 2.0
_POLL_SECONDS = 0.25
# Deliveries that start between two polls. The CPU time of hundreds at once would make every receiver look slow. The
# batches of a process share them: a Lambda process has one batch, the local run many.
_STARTS = 25
_starting: set[int] = set()  # the batches that have not started all of their deliveries
# Shared by all batches of a queue, because starting a thread costs a third of a delivery. A Lambda process may have
# 1,024 threads and 1,024 open files, which bounds the number of deliveries at a time. In the local run one process
# serves both queues: slow receivers must not take the threads of the others.
threads = {name: futures.ThreadPoolExecutor(900, "delivery") for name in (queue.FAST, queue.SLOW)}


_Host = tuple[str, str]
"""A workspace and one of its hosts."""


class _Posting(NamedTuple):
    """A POST that is running, since a time of the monotonic clock."""

    host: _Host
    since: float


class _Observed:
    """What the deliveries of a batch show about their hosts."""

    def __init__(self) -> None:
        self.posting: dict[queue.Delivery, _Posting] = {}
        self.quick: set[_Host] = set()
        self._recorded: set[tuple[Callable[[str, str], None], _Host]] = set()

    def record(self) -> None:
        """Promote the hosts that have proved quick, and demote those that hang: each once per batch.

        A host is demoted while it still hangs, so that new events do not queue up behind it.
        """
        late = clock.monotonic() - SLOW_SECONDS
        slow = {(hosts.demote, one.host) for one in list(self.posting.values()) if one.since <= late}
        for change, host in (slow | {(hosts.promote, host) for host in list(self.quick)}) - self._recorded:
            with suppress(errors.ApiError):
                change(*host)
            self._recorded.add((change, host))


class _Ready(NamedTuple):
    """A delivery with everything that it needs. `event` is None after it has expired."""

    delivery: queue.Delivery
    is_requested: bool
    endpoint: Document
    state: hosts.Host
    event: ledger.EventRow | None
    secret: str


def deliver(messages: Sequence[queue.Message], queue_name: str) -> list[queue.Message]:
    """Deliver a batch concurrently, so that a receiver that hangs does not delay the others.

    Returns the messages with a failure before a claim. The queue repeats them; claimed deliveries are not sent again.
    Raises the first failure if all messages failed, so that the function's alarm counts it.
    """
    submit = threads[queue_name].submit
    batch = list(dict.fromkeys(messages))
    observed = _Observed()
    running: dict[futures.Future[Any], queue.Message] = {}
    try:
        for message in batch:
            running[submit(copy_context().run, _read, message, queue_name)] = message
        futures.wait(running)
        reads = [(read, message) for read, message in running.items() if read.exception() is None]
        waiting = [(message, ready) for read, message in reads for ready in read.result()]
        _starting.add(id(batch))
        while True:
            share = max(1, _STARTS // (len(_starting) or 1))
            for message, ready in waiting[:share]:
                running[submit(copy_context().run, _deliver, ready, observed)] = message
            del waiting[:share]
            if not waiting:
                _starting.discard(id(batch))
            unfinished = futures.wait(running, min(_POLL_SECONDS, SLOW_SECONDS)).not_done
            observed.record()
            if not (waiting or unfinished):
                break
    finally:
        _starting.discard(id(batch))
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
    webhook, workspace, known, *events = storage.find_many(
        [
            endpoints.key(message.workspace_id, message.webhook_id),
            workspaces.key(message.workspace_id),
            hosts.key(message.workspace_id),
            *(ledger.event_key(message.workspace_id, one.event_id) for one in deliveries),
        ]
    )
    if webhook is None or workspace is None:
        return []  # the endpoint or its workspace has been deleted since the event
    endpoint = webhook.open()
    if not (message.is_requested or endpoints.is_subscribed(endpoint, message.type)):
        return []
    state = hosts.find(hosts.read(known), endpoint["url"])
    if queue_name == queue.FAST and not state.is_quick:
        queue.send(message.workspace_id, [message], queue.SLOW)
        return []
    secret = workspace.open()["workspaceSecret"]
    return [
        _Ready(one, message.is_requested, endpoint, state, event, secret)
        for one, event in zip(deliveries, events, strict=True)
    ]


def _deliver(ready: _Ready, observed: _Observed) -> None:
    """Make one delivery."""
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
            host = (delivery.workspace_id, hosts.name(ready.endpoint["url"]))
            observed.posting[delivery] = _Posting(host, clock.monotonic())
            outcome = _post(delivery, ready.endpoint, event, ready.secret)
            del observed.posting[delivery]
            is_quick = outcome.status is not None and outcome.duration_ms < SLOW_SECONDS * 1000
            if is_quick and ready.state.awaits_promotion:
                observed.quick.add(host)
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
