"""One shard of a stream, one queue: reading what is there and calling the function that it is for, as Lambda does.

Each has a `step`, which is called again and again: False when all that there was is done, or on its way. What it
raises is for `worker` to report; nothing is lost by it.
"""

from __future__ import annotations

import importlib
import json
import threading
import time
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any

from chalice.app import DynamoDBEventConfig, SQSEventConfig

from chalicelib import storage
from infra.local import events, state

Function = Callable[[dict[str, Any], Any], Any]
Sdk = Callable[[str], Any]
"""The process's client of a service."""

# What the stream functions are called before the name of the table that they watch.
_WATCHES = "fan_out_"
# Batches of one queue on their way at the same time: one to a receiver that hangs takes 30 seconds.
_BATCHES = 64
_MOST_MESSAGES = 10  # SQS gives no more at once


class Positions:
    """The last record of each shard that is done with, in a file of the state directory."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        try:
            self._known: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # The streams are read from their beginning then; the ledger knows what has been sent.
            self._known = {}

    def after(self, shard: str) -> str | None:
        """The sequence number of the record to go on behind."""
        return self._known.get(shard)

    def move(self, shard: str, sequence_number: str) -> None:
        """Everything up to this record is done with."""
        with self._lock:
            self._known[shard] = sequence_number
            state.write(self._path, json.dumps(self._known, indent=2) + "\n")


class News:
    """Whether the engine has recorded something about a table or queue: then it is worth asking for.

    The engine writes its journal before it answers. Asking eight streams and queues for what they have, often enough
    to be quick, costs a third of a core; reading the end of a file costs next to nothing.
    """

    def __init__(self, journal: Path, named: str) -> None:
        self._journal, self._named = journal, (named.encode(), b'"call":"expire"')
        self._end = self._length()

    def __call__(self) -> bool:
        """Whether there is something since the last time."""
        length = self._length()
        if length == self._end:
            return False
        with self._journal.open("rb") as file:
            file.seek(min(self._end, length))  # a journal that was written anew may be shorter
            written = file.read()
        self._end = min(self._end, length) + len(written)
        return any(name in written for name in self._named)

    def _length(self) -> int:
        try:
            return self._journal.stat().st_size
        except OSError:
            return 0


class Stream:
    """The stream of a table, read in its order; a batch that fails comes again, and holds up those behind it."""

    def __init__(self, source: DynamoDBEventConfig, sdk: Sdk, positions: Positions) -> None:
        self._source, self._sdk, self._positions = source, sdk, positions
        self._function = _function(source.handler_string)
        # The table is the one that the function is named for. A deployment says it by CAMS_STREAM_<TABLE>, which must
        # be there when the app is imported; the local run makes its tables meanwhile.
        self._table = storage.table(source.name.removeprefix(_WATCHES))
        self.named = f'"{self._table}\\"'
        self._arn = self._shard = ""
        self._iterator: str | None = None

    def step(self) -> bool:
        """Call the function with the next records, if there are any."""
        iterator = self._iterator or self._first_iterator()
        # Whatever fails from here on: from the position that is kept, the same records come once more.
        self._iterator = None
        answer = self._sdk("dynamodbstreams").get_records(ShardIterator=iterator, Limit=self._source.batch_size)
        records = answer["Records"]
        if records:
            self._function(events.of_records(records, self._arn), None)
            self._positions.move(f"{self._arn}/{self._shard}", records[-1]["dynamodb"]["SequenceNumber"])
        self._iterator = answer.get("NextShardIterator")
        return bool(records)

    def _first_iterator(self) -> str:
        streams = self._sdk("dynamodbstreams")
        self._arn = self._sdk("dynamodb").describe_table(TableName=self._table)["Table"]["LatestStreamArn"]
        # The local engine makes one shard for a stream, and never another one.
        (shard,) = streams.describe_stream(StreamArn=self._arn)["StreamDescription"]["Shards"]
        self._shard = shard["ShardId"]
        where = {"StreamArn": self._arn, "ShardId": self._shard}
        start = {"ShardIteratorType": self._source.starting_position}
        known = self._positions.after(f"{self._arn}/{self._shard}")
        if known is not None:
            start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": known}
        try:
            answer = streams.get_shard_iterator(**where, **start)
        except streams.exceptions.TrimmedDataAccessException:
            # A day has passed since, or somebody has moved the engine's data away.
            answer = streams.get_shard_iterator(**where, ShardIteratorType="TRIM_HORIZON")
        iterator: str = answer["ShardIterator"]
        return iterator


class Queue:
    """A queue: many batches at once, each on its own; the messages of one that fails come back by themselves."""

    def __init__(self, source: SQSEventConfig, sdk: Sdk, failed: Callable[[str, Exception], None]) -> None:
        self._source, self._sdk, self._failed = source, sdk, failed
        self._function = _function(source.handler_string)
        self.named = f'/{source.queue}\\"'
        self._pool = futures.ThreadPoolExecutor(_BATCHES, source.name)
        self._running: set[futures.Future[None]] = set()
        self._most = min(source.batch_size, _MOST_MESSAGES)
        self._url = self._arn = ""

    def step(self) -> bool:
        """Begin with the next batch, if there is one and room for it."""
        self._running = {one for one in self._running if not one.done()}
        if len(self._running) >= _BATCHES:
            return False
        messages = self._receive()
        if messages:
            self._running.add(self._pool.submit(self._call, messages))
        return len(messages) == self._most

    def finish(self, deadline: float) -> None:
        """Wait for the batches on their way, until then at the latest (`time.monotonic`)."""
        futures.wait(self._running, max(0.0, deadline - time.monotonic()))

    def _receive(self) -> list[dict[str, Any]]:
        sqs = self._sdk("sqs")
        if not self._url:
            url = sqs.get_queue_url(QueueName=self._source.queue)["QueueUrl"]
            attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]
            self._url, self._arn = url, attributes["QueueArn"]
        answer = sqs.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=self._most,
            AttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def _call(self, messages: list[dict[str, Any]]) -> None:
        try:
            self._function(events.of_messages(messages, self._arn), None)
            entries = [{"Id": str(n), "ReceiptHandle": one["ReceiptHandle"]} for n, one in enumerate(messages)]
            self._sdk("sqs").delete_message_batch(QueueUrl=self._url, Entries=entries)
        except Exception as error:
            self._failed(self._source.name, error)


def _function(handler: str) -> Function:
    """What Lambda would call, by the name under which it is deployed."""
    module, _, name = handler.rpartition(".")
    function: Function = getattr(importlib.import_module(module), name)
    return function
