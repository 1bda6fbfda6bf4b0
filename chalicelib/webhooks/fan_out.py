"""Fan-out: from the changes of a stream to delivery messages on a queue. `functions` runs it.

It stores the events that an endpoint subscribes to, then enqueues one message for each event and endpoint. It makes no
HTTP request. Event ids come from the stream record, so a replayed batch produces identical events.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from chalicelib import errors, storage
from chalicelib.storage import Document, encryption
from chalicelib.webhooks import change, endpoints, events, ledger, queue

_log = logging.getLogger(__name__)


def fan_out(records: Iterable[dict[str, Any]]) -> None:
    """Turn stream records into delivery messages.

    An unreadable record goes to the dead-letter queue; the batch continues. Raises Unavailable if the database, KMS or
    the queue fails. The stream then repeats the batch, and the ids stay the same.
    """
    # By event id, because a batch may contain a record twice.
    happened: dict[str, dict[str, events.Event]] = defaultdict(dict)
    for record in records:
        for event in _events(record):
            happened[event.workspace_id][event.id] = event
    for workspace_id, by_id in happened.items():
        _enqueue_deliveries(workspace_id, by_id.values())


def _events(record: dict[str, Any]) -> list[events.Event]:
    try:
        return events.from_change(change.from_record(record))
    except errors.Unavailable:
        raise
    except Exception:
        _log.exception("Cannot read a stream record; sending its keys to the dead-letter queue %s", queue.DEAD_LETTER)
        queue.send_to_dead_letter(storage.encode_json(_record_location(record)).decode())
        return []


def _record_location(record: Any) -> Document:
    """Return what an operator needs to find a record, and none of its content."""
    if not isinstance(record, dict):
        return {}
    stream = record.get("dynamodb")
    inner = {name: stream.get(name) for name in ("Keys", "SequenceNumber")} if isinstance(stream, dict) else {}
    return {**{name: record.get(name) for name in ("eventID", "eventSourceARN")}, **inner}


def _enqueue_deliveries(workspace_id: str, happened: Iterable[events.Event]) -> None:
    """Store the subscribed events, then enqueue their deliveries, so that a message never precedes its event."""
    subscribers = list(_subscribers(workspace_id))
    subscribed: dict[str, events.Event] = {}
    messages: dict[str, list[queue.Message]] = {queue.FAST: [], queue.SLOW: []}
    for event in happened:
        for row, document in subscribers:
            created_at = event.payload["createdAt"]
            if endpoints.is_subscribed(document, event.type) and endpoints.existed_at(document, created_at):
                subscribed[event.id] = event
                message = queue.Message(workspace_id, row.webhook_id, event.id, event.type, event.id)
                messages[queue.SLOW if row.is_slow else queue.FAST].append(message)
    ledger.save_events(subscribed.values())
    for queue_name, batch in messages.items():
        queue.send(batch, queue_name)


def _subscribers(workspace_id: str) -> Iterator[tuple[endpoints.WebhookRow, Document]]:
    for row in endpoints.list_all(workspace_id):
        try:
            yield row, row.open()
        except encryption.DecryptionError:
            # Tampered with, or restored without its key. Raising would block the other endpoints until the stream
            # gives up on the batch.
            _log.exception("Cannot decrypt an endpoint; skipping it: %s", row)
