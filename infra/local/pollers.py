"""Pollers for streams and queues, which invoke the app's functions as Lambda's event source mappings do.

`worker` repeatedly calls each poller's `step` and reports its exceptions. A failed step loses nothing, because the
records or messages are received again. After the last record or message, `seconds_to_wait` returns how long the next
step may wait if the engine saves nothing for the poller.
"""

from __future__ import annotations

import importlib
import json
import threading
import time
from collections.abc import Callable, Iterable
from concurrent import futures
from pathlib import Path
from typing import Any

from chalice.app import DynamoDBEventConfig, SQSEventConfig

from chalicelib import storage
from infra import event_filters, lambda_events
from infra.local import data_file, fair_queues, state

Function = Callable[[dict[str, Any], Any], Any]
Sdk = Callable[[str], Any]
"""A function that returns the process's SDK client for a service name."""

# Concurrent invocations of functions that take one message at a time. Such functions do not wait for receivers.
_SLOTS_FOR_WORK = 2
_MAX_MESSAGES = 10  # ReceiveMessage's limit
_MAX_RECORDS = 1_000  # GetRecords' limit; it also returns at most 1 MB
_MAX_PAGES = 6  # Lambda passes at most 6 MB to a function
# Delayed messages and messages in a failed batch become visible without a new row.
_SECONDS_BETWEEN_RECEIVES = 1.0
# If there is no new row, there is nothing to read. A step still renews the stream iterator, which expires after 15
# minutes.
_SECONDS_WITHOUT_NEWS = 60.0
_COUNTS = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "Delayed", "NotVisible")]


class PartialFailure(Exception):
    """A function has reported part of its batch as failed (`batchItemFailures`). The failed part is received again."""


class Positions:
    """The sequence numbers of the last processed records, keyed by `<table>/<function>`, in a state file.

    A function that has processed no records has an empty number. The engine drops records that all functions have
    processed.
    """

    def __init__(self, path: Path, places: Iterable[str]) -> None:
        self._path, self._lock = path, threading.Lock()
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # If there are no positions, streams are read from the beginning. The ledger prevents duplicate deliveries.
            known = {}
        self._known: dict[str, str] = {place: known.get(place, "") for place in places}
        self._save()

    def last(self, place: str) -> str:
        """Return the sequence number of the last processed record."""
        return self._known.get(place, "")

    def advance(self, place: str, sequence_number: str) -> None:
        """Save the sequence number of the last processed record."""
        with self._lock:
            self._known[place] = sequence_number
            self._save()

    def _save(self) -> None:
        state.write(self._path, json.dumps(self._known, indent=2) + "\n")


class StreamPoller:
    """A poller that reads a table's stream in order. A failed batch is retried and blocks later batches.

    The function receives the records that match its event filter in the deployment. If it reports failed records, it
    receives the batch again, starting with the first failed record.
    """

    def __init__(self, source: DynamoDBEventConfig, sdk: Sdk, positions: Positions) -> None:
        self._source, self._sdk, self._positions = source, sdk, positions
        self._function = _import_function(source.handler_string)
        self._passes_filter = event_filters.of_function(source.name)
        self._table = stream_table(source)
        self._position = f"{self._table}/{source.name}"
        self._next_batch = 0.0
        self.news = (data_file.RECORD, self._table)
        self._arn = self._shard = ""
        self._iterator: str | None = None

    def step(self) -> bool:
        """Invoke the function with the next batch. Return False at the end of the stream or in an open batching window.

        Only the end of the stream opens a batching window, so that a function keeps up with any number of changes.
        """
        if time.monotonic() < self._next_batch:
            return False
        iterator: str | None = self._iterator or self._first_iterator()
        # The iterator is cleared until the batch has been processed, so after an exception, reading restarts at the
        # saved position.
        self._iterator = None
        records, iterator, is_end = self._read(iterator)
        if records:
            self._process(records)
        if records and is_end:
            self._next_batch = time.monotonic() + self._source.maximum_batching_window_in_seconds
        self._iterator = iterator
        return not is_end

    def seconds_to_wait(self) -> float:
        """Return the remaining seconds of the batching window, or a minute if no window is open."""
        rest = self._next_batch - time.monotonic()
        return rest if rest > 0 else _SECONDS_WITHOUT_NEWS

    def _read(self, iterator: str | None) -> tuple[list[dict[str, Any]], str | None, bool]:
        """Read pages up to a full batch. Return the records, the next iterator, and whether the stream ends here.

        Only an empty page marks the end of a stream, because 1 MB of records also fills a page.
        """
        records: list[dict[str, Any]] = []
        for _ in range(_MAX_PAGES):
            limit = min(self._source.batch_size - len(records), _MAX_RECORDS)
            answer = self._sdk("dynamodbstreams").get_records(ShardIterator=iterator, Limit=limit)
            records += answer["Records"]
            iterator = answer.get("NextShardIterator")
            if not answer["Records"] or iterator is None:
                return records, iterator, True
            if len(records) >= self._source.batch_size:
                break
        return records, iterator, False

    def _process(self, records: list[dict[str, Any]]) -> None:
        """Invoke the function with the records that match its filter. Raise PartialFailure if some records fail."""
        event = lambda_events.from_records(records, self._arn)
        event["Records"] = [record for record in event["Records"] if self._passes_filter(record)]
        failed = _reported(self._function(event, None)) if event["Records"] else set()
        done = _before_failure([record["dynamodb"]["SequenceNumber"] for record in records], failed)
        if done:
            self._positions.advance(self._position, done[-1])
        if failed:
            raise PartialFailure

    def _first_iterator(self) -> str:
        streams = self._sdk("dynamodbstreams")
        self._arn = self._sdk("dynamodb").describe_table(TableName=self._table)["Table"]["LatestStreamArn"]
        # Streams in the local engine have exactly one shard.
        (shard,) = streams.describe_stream(StreamArn=self._arn)["StreamDescription"]["Shards"]
        self._shard = shard["ShardId"]
        where = {"StreamArn": self._arn, "ShardId": self._shard}
        start = {"ShardIteratorType": self._source.starting_position}
        if last := self._positions.last(self._position):
            start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": last}
        try:
            answer = streams.get_shard_iterator(**where, **start)
        except streams.exceptions.TrimmedDataAccessException:
            # The position is more than 24 hours old, or the engine's data file was moved away.
            answer = streams.get_shard_iterator(**where, ShardIteratorType="TRIM_HORIZON")
        iterator: str = answer["ShardIterator"]
        return iterator


class QueuePoller:
    """A poller that processes batches from a queue concurrently. SQS redelivers failed messages."""

    def __init__(self, source: SQSEventConfig, sdk: Sdk, report_failure: Callable[[str, Exception], None]) -> None:
        self._source, self._sdk, self._report_failure = source, sdk, report_failure
        self._function = _import_function(source.handler_string)
        self.news = (data_file.MESSAGE, source.queue or "")
        # A batch for an unresponsive receiver takes 30 seconds.
        self._slots = fair_queues.SLOTS if source.batch_size > 1 else _SLOTS_FOR_WORK
        self._pool = futures.ThreadPoolExecutor(self._slots, source.name)
        self._running: set[futures.Future[None]] = set()
        self._batch_size = min(source.batch_size, _MAX_MESSAGES)
        self._url = self._arn = ""

    def step(self) -> bool:
        """Start the next batch, unless too many batches are running. Return False if the queue may be empty."""
        self._running = {future for future in self._running if not future.done()}
        if len(self._running) >= self._slots:
            return False
        messages = self._receive()
        if messages:
            self._running.add(self._pool.submit(self._process, messages))
        return len(messages) == self._batch_size

    def seconds_to_wait(self) -> float:
        """Return a second if the queue has messages, which may be delayed or in flight, otherwise a minute."""
        attributes = self._sdk("sqs").get_queue_attributes(QueueUrl=self._url, AttributeNames=_COUNTS)["Attributes"]
        is_empty = not any(int(attributes[name]) for name in _COUNTS)
        return _SECONDS_WITHOUT_NEWS if is_empty else _SECONDS_BETWEEN_RECEIVES

    def finish(self, deadline: float) -> None:
        """Wait for running batches, but no longer than the deadline (`time.monotonic`)."""
        futures.wait(self._running, max(0.0, deadline - time.monotonic()))

    def _receive(self) -> list[dict[str, Any]]:
        sqs = self._sdk("sqs")
        if not self._url:
            url = sqs.get_queue_url(QueueName=self._source.queue)["QueueUrl"]
            attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
            self._url, self._arn = url, attributes["QueueArn"]
        answer = sqs.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=self._batch_size,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def _process(self, messages: list[dict[str, Any]]) -> None:
        try:
            failed = _reported(self._function(lambda_events.from_messages(messages, self._arn), None))
            # As in Lambda, an unknown identifier fails the whole batch.
            done = [message for message in messages if message["MessageId"] not in failed]
            if done and len(done) + len(failed) == len(messages):
                entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(done)]
                self._sdk("sqs").delete_message_batch(QueueUrl=self._url, Entries=entries)
            if failed:
                raise PartialFailure
        except Exception as error:
            self._report_failure(self._source.name, error)


def stream_table(source: DynamoDBEventConfig) -> str:
    """Return the table that this event source is named after.

    A deployment passes the stream in CAMS_STREAM_<TABLE>, which must exist when the app is imported. The local run
    creates its tables only after that import.
    """
    return storage.table(source.name.rpartition("_")[2])


def _reported(returned: Any) -> set[str]:
    """Return the sequence numbers or message ids that a function reports as failed."""
    failures = returned.get("batchItemFailures") if isinstance(returned, dict) else None
    return {failure["itemIdentifier"] for failure in failures or ()}


def _before_failure(numbers: list[str], failed: set[str]) -> list[str]:
    """Return the numbers before the lowest failed number. As in Lambda, an unknown number fails the whole batch."""
    if not failed <= set(numbers):
        return []
    return numbers[: min((numbers.index(number) for number in failed), default=len(numbers))]


def _import_function(handler: str) -> Function:
    """Return the function with this handler string, `module.function`."""
    module, _, name = handler.rpartition(".")
    function: Function = getattr(importlib.import_module(module), name)
    return function
