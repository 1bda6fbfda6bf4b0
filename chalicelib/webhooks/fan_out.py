"""Fan-out: turns stream changes into delivery messages on a queue. `functions` calls it.

Fan-out stores the events that have subscribers, then enqueues messages, each with one endpoint and at most 40 event
ids. An invocation sends at most 500 messages. The remaining messages become continuation tasks of at most the same
size, which create no further tasks. Fan-out makes no HTTP requests. Event ids come from the stream record, so a
replayed batch produces identical events.
"""

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from chalicelib import extensions, ids, storage
from chalicelib.queues import stream_batches, tasks
from chalicelib.storage import Document
from chalicelib.webhooks import change, endpoints, events, hosts, ledger, queue

_log = logging.getLogger(__name__)

# Maximum number of events per message, and maximum number of characters in their texts. A delivery function holds ten
# messages with their events in memory, and a character takes up to 4 bytes.
MAX_EVENTS = 40
_MAX_CHARACTERS = 400_000
# Maximum groups per continuation. A continuation may send as many messages as an invocation.
_MAX_GROUPS = 10
_MAX_MESSAGES = _MAX_GROUPS * endpoints.MAX_ENDPOINTS

_Item = TypeVar("_Item")


class _Subscriber(NamedTuple):
    """An endpoint, and the queue for its deliveries or, if it is a pull endpoint, for its feed."""

    webhook_id: str
    document: Document
    queue_name: str


def fan_out(function: str, records: Sequence[Any]) -> list[Any]:
    """Turn a function's stream records into delivery messages.

    After an outage, return the first unprocessed record, otherwise an empty list (`stream_batches`). The stream repeats
    the batch from that record, and the event ids remain the same.
    """
    remaining = _MAX_MESSAGES

    def enqueue(changes: list[list[events.Event]]) -> None:
        nonlocal remaining
        # Events are keyed by id, because a batch may contain a record twice.
        by_id = {event.id: event for of_change in changes for event in of_change}
        workspace_id = changes[0][0].workspace_id
        remaining -= _enqueue_deliveries(workspace_id, list(by_id.values()), remaining)

    return stream_batches.process(function, records, _read, enqueue, lambda new_events: new_events[0].workspace_id)


def _read(record: Any) -> list[events.Event] | None:
    return events.from_change(change.from_record(record)) or None


def resume(task: tasks.ContinueFanOut, _: float) -> None:
    """Send a continuation's messages. Raise Unavailable if the database, KMS or the queue fails."""
    _send(task.workspace_id, _messages(task, _subscribers(task.workspace_id)))


def _enqueue_deliveries(workspace_id: str, new_events: Sequence[events.Event], limit: int) -> int:
    """Store the subscribed events, then enqueue their deliveries, so that a message never precedes its event.

    Return the number of messages sent, at most `limit`. The remaining messages become continuations.
    """
    subscribers = _subscribers(workspace_id)
    by_type: dict[str, list[events.Event]] = defaultdict(list)
    for event in new_events:
        if any(_has_subscribed(subscriber.document, event) for subscriber in subscribers):
            by_type[event.type].append(event)
    ledger.save_events([event for of_type in by_type.values() for event in of_type])
    sent: list[tuple[str, queue.DeliveryMessage]] = []
    continuations = []
    for type_, of_type in by_type.items():
        for groups in _batched(list(_groups(of_type)), _MAX_GROUPS):
            part = tasks.ContinueFanOut(workspace_id, type_, tuple(groups))
            if len(sent) + len(groups) * len(subscribers) <= limit:
                sent += _messages(part, subscribers)
            else:
                continuations.append(part)
    _send(workspace_id, sent)
    tasks.send(workspace_id, continuations)
    return len(sent)


def _has_subscribed(document: Document, event: events.Event) -> bool:
    created_at = event.payload["createdAt"]
    return endpoints.is_subscribed(document, event.type) and endpoints.existed_at(document, created_at)


def _groups(new_events: Sequence[events.Event]) -> Iterator[tuple[str, ...]]:
    """Yield groups of event ids, one group per message."""
    group: list[str] = []
    size = 0
    for event in new_events:
        length = sum(len(value) for value in event.payload.values() if isinstance(value, str))
        if group and (len(group) == MAX_EVENTS or size + length > _MAX_CHARACTERS):
            yield tuple(group)
            group, size = [], 0
        group.append(event.id)
        size += length
    if group:
        yield tuple(group)


def _messages(
    part: tasks.ContinueFanOut, subscribers: Sequence[_Subscriber]
) -> list[tuple[str, queue.DeliveryMessage]]:
    """Return the messages for stored events, each with its queue name. Event ids contain the event times."""
    messages = []
    for group in part.groups:
        oldest = ids.timestamp_of(min(group))
        for webhook_id, document, queue_name in subscribers:
            if not endpoints.is_subscribed(document, part.type):
                continue
            event_ids = group
            if not endpoints.existed_at(document, oldest):
                event_ids = tuple(
                    event_id for event_id in group if endpoints.existed_at(document, ids.timestamp_of(event_id))
                )
            if event_ids:
                messages.append(
                    (queue_name, queue.DeliveryMessage(part.workspace_id, webhook_id, part.type, event_ids))
                )
    return messages


def _send(workspace_id: str, messages: Sequence[tuple[str, queue.DeliveryMessage]]) -> None:
    for queue_name in sorted({name for name, _ in messages}):
        queue.send(workspace_id, [message for name, message in messages if name == queue_name], queue_name)


def _batched(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _subscribers(workspace_id: str) -> list[_Subscriber]:
    subscribers = []
    rows, hosts_by_name = endpoints.list_with_hosts(workspace_id)
    for row in rows:
        try:
            subscriber = _subscriber(row, hosts_by_name)
            subscribers += [subscriber] if subscriber.queue_name else []
        except Exception as error:
            if storage.is_outage(error):
                raise
            # The endpoint was tampered with, restored without its key, or not written by the service. Raising an error
            # would turn the events for the workspace's other endpoints into dead letters.
            _log.exception("Cannot use an endpoint; skipping it: %s", row)
    return subscribers


def _subscriber(row: endpoints.WebhookRow, hosts_by_name: hosts.Hosts) -> _Subscriber:
    document = row.open()
    if endpoints.is_pull(document):
        queue_name = extensions.service("pull_queue") or ""  # the extension is disabled, so there is no feed
    else:
        queue_name = queue.FAST if hosts.find(hosts_by_name, document["url"]).is_quick else queue.SLOW
    # An unusable document raises an error here, and not only when the first event arrives.
    endpoints.is_subscribed(document, ""), endpoints.existed_at(document, 0)
    return _Subscriber(row.webhook_id, document, queue_name)
