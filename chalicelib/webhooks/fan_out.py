"""Fan-out: from the changes that a stream carries to deliveries on a queue. `functions` runs it.

It keeps the events that an endpoint wants and enqueues a message for each interested endpoint. It sends nothing over
HTTP. Event ids come from the stream record, so a replayed batch produces identical events.
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
    """Turn stream records into deliveries. A record that cannot be read is buried and holds up no other.

    Raises Unavailable when database, keys or queue fail: the stream repeats the batch, and every id stays.
    """
    # By its id: a batch may have a record twice.
    happened: dict[str, dict[str, events.Event]] = defaultdict(dict)
    for record in records:
        for event in _events(record):
            happened[event.workspace_id][event.id] = event
    for workspace_id, by_id in happened.items():
        _enqueue_deliveries(workspace_id, by_id.values())


def _events(record: dict[str, Any]) -> list[events.Event]:
    try:
        return events.of(change.from_record(record))
    except errors.Unavailable:
        raise
    except Exception:
        _log.exception("A stream record cannot be read; it is on the queue %s", queue.DEAD)
        queue.send_to_dead_letter(storage.encode_json(_record_location(record)).decode())
        return []


def _record_location(record: Any) -> Document:
    """What leads an operator to a record, nothing of what it says."""
    if not isinstance(record, dict):
        return {}
    stream = record.get("dynamodb")
    inner = {name: stream.get(name) for name in ("Keys", "SequenceNumber")} if isinstance(stream, dict) else {}
    return {**{name: record.get(name) for name in ("eventID", "eventSourceARN")}, **inner}


def _enqueue_deliveries(workspace_id: str, happened: Iterable[events.Event]) -> None:
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
        except encryption.DecryptionError:
            # Altered or restored without its key: the other endpoints must not wait until the stream gives up.
            _log.exception("An endpoint cannot be read, and is passed over: %s", row)
