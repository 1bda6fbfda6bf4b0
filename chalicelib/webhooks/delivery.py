"""Delivery: sends one POST for each event in a queue message, and records the outcomes. `functions` calls it.

Each delivery is claimed in the ledger and posted once, and then its outcome is recorded. The queue retries failures
before the claim, but nothing is retried after the claim (at-most-once delivery, §6 rule 3).

A hanging receiver must not delay the rest of its batch, so deliveries run concurrently and alternate between
workspaces. If hundreds of deliveries started at once, the CPU load would make every receiver look slow, so at most 25
start per poll. Each poll also moves waiting deliveries for a hanging host to the slow queue.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent import futures
from contextlib import suppress
from contextvars import copy_context
from itertools import zip_longest
from typing import Any, NamedTuple

from chalicelib import clock, errors, storage, telemetry
from chalicelib.sending import sender
from chalicelib.storage import Document
from chalicelib.webhooks import endpoints, hosts, ledger, queue, retry_policy, signature
from chalicelib.webhooks.retry_policy import KEPT_DAYS, QUEUE_RETENTION_DAYS
from chalicelib.workspaces import store as workspaces

_log = logging.getLogger(__name__)

_POLL_SECONDS = 0.25
# Maximum deliveries that start between two polls, across all batches of a process. A Lambda process has one batch, and
# the local run has several.
_STARTS = 25
_starting: set[int] = set()  # the batches that have not yet started all of their deliveries
# All batches of a queue share its threads, because starting a thread costs a third as much as a delivery. Lambda allows
# 1,024 threads and 1,024 open files per process, which limits concurrent deliveries. In the local run, one process
# serves both queues. Each queue has its own threads, so that slow receivers do not block the others.
threads = {name: futures.ThreadPoolExecutor(900, "delivery") for name in (queue.FAST, queue.SLOW)}


_Host = tuple[str, str]
"""A workspace and one of its hosts."""


class _RunningPost(NamedTuple):
    """A running POST: its host, and its start time on the monotonic clock."""

    host: _Host
    since: float


class _HostObservations:
    """Records which hosts respond quickly and which hosts hang during a batch."""

    def __init__(self) -> None:
        self.posting: dict[queue.QueuedDelivery, _RunningPost] = {}
        self.quick: set[_Host] = set()
        self.hanging: set[_Host] = set()
        self._recorded: set[tuple[Callable[[str, str], None], _Host]] = set()

    def record(self) -> None:
        """Promote hosts that have responded quickly, and demote hosts that hang, each at most once per batch.

        A host is demoted while it still hangs, so that new events do not wait for it. After a hang, the batch does not
        promote the host, even if other responses are quick.
        """
        late = clock.monotonic() - retry_policy.SLOW_SECONDS
        self.hanging |= {posting.host for posting in list(self.posting.values()) if posting.since <= late}
        demoted = {(hosts.demote, host) for host in self.hanging}
        promoted = {(hosts.promote, host) for host in list(self.quick) if host not in self.hanging}
        for change, host in (demoted | promoted) - self._recorded:
            with suppress(errors.ApiError):  # the next poll tries again
                change(*host)
                self._recorded.add((change, host))


class _ReadyDelivery(NamedTuple):
    """A delivery with its event, endpoint and host. `event` is None if the event has expired."""

    delivery: queue.QueuedDelivery
    is_requested: bool
    endpoint: Document
    host: _Host
    state: hosts.Host
    event: ledger.EventRow | None
    secret: str


_RunningWork = dict[futures.Future[Any], queue.DeliveryMessage]
"""A batch's futures, each with the message that it belongs to."""
_WaitingDelivery = tuple[queue.DeliveryMessage, _ReadyDelivery]
"""A delivery that has not started yet, with its message."""


def deliver(messages: Sequence[queue.DeliveryMessage], queue_name: str) -> list[queue.DeliveryMessage]:
    """Deliver a batch of messages. Return the messages that failed before a claim, so that the queue retries them.

    Claimed deliveries are not retried. Raise the first failure if all messages failed, so that the function's alarm
    counts it.
    """
    submit = threads[queue_name].submit
    batch = list(dict.fromkeys(messages))
    observations = _HostObservations()
    running: _RunningWork = {}

    def start(message: queue.DeliveryMessage, work: Callable[..., Any], *arguments: Any) -> None:
        running[submit(copy_context().run, work, *arguments)] = message

    try:
        for message in batch:
            start(message, _read, message, queue_name)
        futures.wait(running)
        waiting = _in_turns(running)
        _starting.add(id(batch))
        while True:
            share = max(1, _STARTS // (len(_starting) or 1))
            for message, ready in waiting[:share]:
                start(message, _deliver, ready, observations)
            del waiting[:share]
            if not waiting:
                _starting.discard(id(batch))
            unfinished = futures.wait(running, min(_POLL_SECONDS, retry_policy.SLOW_SECONDS)).not_done
            observations.record()
            if queue_name == queue.FAST:
                for message, rest in _remove_hanging(waiting, observations.hanging).items():
                    start(message, queue.send, rest.workspace_id, [rest], queue.SLOW)
            if not (waiting or unfinished):
                break
    finally:
        _starting.discard(id(batch))
        futures.wait(running)  # Lambda freezes the process, including its threads, when the invocation ends
    return _failures(running, len(batch))


def _in_turns(reads: _RunningWork) -> list[_WaitingDelivery]:
    """Return all messages' deliveries, alternating between workspaces, then between messages."""
    by_workspace: defaultdict[str, list[list[_WaitingDelivery]]] = defaultdict(list)
    for read, message in reads.items():
        if read.exception() is None:
            by_workspace[message.workspace_id].append([(message, ready) for ready in read.result()])
    return _alternate(_alternate(lists) for lists in by_workspace.values())


def _alternate(lists: Iterable[list[_WaitingDelivery]]) -> list[_WaitingDelivery]:
    return [waiting for turn in zip_longest(*lists) for waiting in turn if waiting is not None]


def _remove_hanging(
    waiting: list[_WaitingDelivery], hanging: set[_Host]
) -> Mapping[queue.DeliveryMessage, queue.DeliveryMessage]:
    """Remove the waiting deliveries to hanging hosts.

    Return these deliveries as messages for the slow queue. None of these deliveries has started, so none has been
    claimed.
    """
    event_ids: defaultdict[queue.DeliveryMessage, list[str]] = defaultdict(list)
    for message, ready in waiting:
        if ready.host in hanging:
            event_ids[message].append(ready.delivery.event_id)
    waiting[:] = [(message, ready) for message, ready in waiting if ready.host not in hanging]
    return {message: message._replace(event_ids=tuple(rest)) for message, rest in event_ids.items()}


def _failures(finished: _RunningWork, total: int) -> list[queue.DeliveryMessage]:
    failures: dict[queue.DeliveryMessage, BaseException] = {}
    for future, message in finished.items():
        if error := future.exception():
            failures.setdefault(message, error)
    for error in failures.values():
        if len(failures) == total or not isinstance(error, Exception):
            raise error
        _log.error("Cannot deliver a message; the queue will retry it", exc_info=error)
    return list(failures)


def _read(message: queue.DeliveryMessage, queue_name: str) -> list[_ReadyDelivery]:
    """Return the deliveries in a message that should be sent now."""
    deliveries = message.deliveries
    # Events never change, and a new workspace secret may take effect a second later. Endpoints must be up to date.
    webhook, hosts_row, workspace, *events = storage.find_written(
        [
            endpoints.key(message.workspace_id, message.webhook_id),
            hosts.key(message.workspace_id),
            workspaces.key(message.workspace_id)._replace(consistent=False),
            *(ledger.event_key(message.workspace_id, delivery.event_id) for delivery in deliveries),
        ]
    )
    if webhook is None or workspace is None:
        return []  # the endpoint or its workspace has been deleted since the event
    endpoint = webhook.open()
    if not (message.is_requested or endpoints.is_subscribed(endpoint, message.type)):
        return []
    host = (message.workspace_id, hosts.name(endpoint["url"]))
    state = hosts.find(hosts.read(hosts_row), endpoint["url"])
    if queue_name == queue.FAST and not state.is_quick:
        queue.send(message.workspace_id, [message], queue.SLOW)
        return []
    secret = workspace.open()["workspaceSecret"]
    return [
        _ReadyDelivery(delivery, message.is_requested, endpoint, host, state, event, secret)
        for delivery, event in zip(deliveries, events, strict=True)
    ]


def _deliver(ready: _ReadyDelivery, observations: _HostObservations) -> None:
    """Claim and send one delivery, and record its outcome."""
    delivery = ready.delivery
    row = ledger.new(*delivery)
    # The API already lists the delivery as expired, so the customer may have requested another delivery.
    is_late = ready.is_requested and row.status == ledger.EXPIRED
    event = ready.event.open() if ready.event else None
    row.agent_id = event["payload"].get("agentId") if event else None
    if not ledger.claim(row):
        return
    try:
        if event is None:
            ledger.expire(row, f"The event is no longer stored; events are kept for {KEPT_DAYS} days.")
        elif is_late:
            ledger.expire(row, f"The delivery waited for more than {QUEUE_RETENTION_DAYS} days; request a redelivery.")
        else:
            observations.posting[delivery] = _RunningPost(ready.host, clock.monotonic())
            outcome = _post(delivery, ready.endpoint, event, ready.secret)
            del observations.posting[delivery]
            if outcome.duration_ms >= retry_policy.SLOW_SECONDS * 1000:
                observations.hanging.add(ready.host)
            elif outcome.status is not None and ready.state.awaits_promotion:
                observations.quick.add(ready.host)
            ledger.record_outcome(row, outcome)
            _log_metrics(delivery, outcome)
    except errors.ApiError:
        # The error is not raised, because a retry would not send the event again. Without an outcome, the delivery is
        # listed as `unknown`.
        _log.exception("Cannot record the outcome of a delivery: %s", row)


def _log_metrics(delivery: queue.QueuedDelivery, outcome: sender.Outcome) -> None:
    telemetry.log_metrics(
        {"deliveryMs": "Milliseconds", "failedDeliveries": "Count"},
        workspace=delivery.workspace_id,
        type=delivery.type,
        responseStatus=outcome.status,
        deliveryMs=outcome.duration_ms,
        failedDeliveries=int(outcome.error is not None),
    )


def _post(delivery: queue.QueuedDelivery, endpoint: Document, event: Document, secret: str) -> sender.Outcome:
    body = storage.encode_json({"type": event["type"], "payload": {**event["payload"], "workspaceSecret": secret}})
    headers = signature.sign(endpoints.active_secrets(endpoint), delivery.event_id, clock.seconds(), body)
    if "messageId" in event:
        headers[signature.MESSAGE_ID] = event["messageId"]
    return sender.post(endpoint["url"], body, headers, retry_policy.POST_SECONDS)
