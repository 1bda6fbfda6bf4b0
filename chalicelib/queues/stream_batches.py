"""Table stream batches, in which a record that cannot be processed never blocks the other records.

Such a record becomes a dead letter, which contains the function name and the unchanged record with its sealed
attributes. After an outage, or for a record from a newer version, the stream repeats the batch instead.

The work is bounded. Each record is read once. If writing a group's items fails, each half of the group is written
separately, down to the single item that fails: at most 2n - 1 writes for n records.
"""

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from chalicelib import queues, storage, telemetry

DEAD_LETTER = "deliveries-dead"
"""The dead-letter queue of all streams, which is also their on-failure destination."""

Record = Any
"""A record in a function's event. It is an object unless the event is corrupt."""

Item = TypeVar("Item")
_log = logging.getLogger(__name__)
# The message group for dead letters. The workspace may be unknown, and no function receives dead letters.
_GROUP = "unreadable"
# Maximum bytes of a message, below SQS's limit of 256 KiB. For a larger record, the dead letter contains only its keys.
_MAX_MESSAGE = 250_000


class Follower(NamedTuple, Generic[Item]):
    """A stream's follower: the `read` and `write` arguments for `process`."""

    read: Callable[[Record], Item | None]
    write: Callable[[list[Item]], None]


class _PositionedItem(NamedTuple, Generic[Item]):
    """The item that was read from a record, and the record's position in its batch."""

    position: int
    item: Item


def process(
    function: str,
    records: Sequence[Record],
    read: Callable[[Record], Item | None],
    write: Callable[[list[Item]], None],
    group: Callable[[Item], str] = lambda _: "",
) -> list[Record]:
    """Read an item from each record, then write the items in groups.

    `read` writes nothing, and returns None for a record without an item. `write` may be called again for an item, alone
    or with other items. Return an empty list if all records are done. After an outage, return a list with the first
    unprocessed record, or raise the error if no record is done. The stream repeats the batch from that record, so later
    records get no dead letter.
    """
    end, outage, failures = _process(records, read, write, group)
    send_dead_letters(function, records, {position: error for position, error in failures.items() if position < end})
    if outage is None:
        return []
    if end == 0:
        raise outage
    _log.error("Cannot process a batch from record %s on; the stream repeats these", end, exc_info=outage)
    return [records[end]]


def run_follower(records: Sequence[Record], follower: Follower[Any]) -> dict[int, Exception]:
    """Process a batch. Return the errors of the records that cannot be processed, by position. Raise an outage."""
    _, outage, failures = _process(records, follower.read, follower.write, lambda _: "")
    if outage is not None:
        raise outage
    return failures


def _process(
    records: Sequence[Record],
    read: Callable[[Record], Item | None],
    write: Callable[[list[Item]], None],
    group: Callable[[Item], str],
) -> tuple[int, Exception | None, dict[int, Exception]]:
    """Process a batch. Return the number of finished records at its start, the outage that ended it, if any, and the
    errors of the records that cannot be processed, by position.
    """
    failures: dict[int, Exception] = {}
    groups, end, outage = _read_all(records, read, group, failures)
    for items in groups.values():
        try:
            _write(items, write, failures)
        except Exception as error:
            end, outage = min(end, items[0].position), error
            break
    return end, outage, failures


def _read_all(
    records: Sequence[Record],
    read: Callable[[Record], Item | None],
    group: Callable[[Item], str],
    failures: dict[int, Exception],
) -> tuple[dict[str, list[_PositionedItem[Item]]], int, Exception | None]:
    """Return the items by group and, after an outage, the position where reading stopped and the error."""
    groups: dict[str, list[_PositionedItem[Item]]] = {}
    for position, record in enumerate(records):
        try:
            item = read(record)
            if item is not None:
                groups.setdefault(group(item), []).append(_PositionedItem(position, item))
        except Exception as error:
            if storage.is_outage(error):
                return groups, position, error
            failures[position] = error
    return groups, len(records), None


def _write(
    items: list[_PositionedItem[Item]], write: Callable[[list[Item]], None], failures: dict[int, Exception]
) -> None:
    """Write items. If this fails, write each half separately. Raise an outage."""
    try:
        write([positioned.item for positioned in items])
    except Exception as error:
        if storage.is_outage(error):
            raise
        if len(items) == 1:
            failures[items[0].position] = error
            return
        half = len(items) // 2
        _write(items[:half], write, failures)
        _write(items[half:], write, failures)


def send_dead_letters(function: str, records: Sequence[Record], failures: dict[int, Exception]) -> None:
    """Send a dead letter for each record with an error, by position, and count them. Raise Unavailable."""
    if not failures:
        return
    for error in {
        type(error): error for error in failures.values()
    }.values():  # thousands of records may fail for the same reason
        _log.error("Cannot process stream records; sending them to the queue %s", DEAD_LETTER, exc_info=error)
    texts = [_dead_letter(function, records[position], error) for position, error in sorted(failures.items())]
    for batch in _batches(texts):
        queues.send(DEAD_LETTER, batch, _GROUP)
    telemetry.log_metrics({"deadRecords": "Count"}, function=function, deadRecords=len(failures))


def _dead_letter(function: str, record: Record, error: Exception) -> str:
    """Return the data that an operator needs to find and replay a record. Omit the record itself if it is too large."""
    letter = {"function": function, "error": type(error).__name__, **_place(record)}
    text = json.dumps({**letter, "record": record})
    return text if len(text) <= _MAX_MESSAGE else json.dumps(letter)


def _place(record: Record) -> dict[str, Any]:
    if not isinstance(record, dict):
        return {}
    arn, stream = record.get("eventSourceARN"), record.get("dynamodb")
    table = storage.logical_name(arn.split("/")[1]) if isinstance(arn, str) and "/" in arn else None
    inner = {name: stream.get(name) for name in ("Keys", "SequenceNumber")} if isinstance(stream, dict) else {}
    return {"table": table, "eventID": record.get("eventID"), "eventSourceARN": arn, **inner}


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield texts in batches of at most the maximum message size, which is also the request limit."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and size + len(text) > _MAX_MESSAGE:
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    yield batch
