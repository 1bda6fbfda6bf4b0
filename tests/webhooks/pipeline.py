"""Run the webhook pipeline as the cloud does: the engine's streams and queues into the functions, in their shapes.

What the functions are handed here is what a Lambda is handed: binary values as base64, times in seconds, messages as
text. Not responsible for threads or for faults: a test adds those.
"""

import base64
import copy
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import SimpleNamespace
from typing import Any, NamedTuple

import moto.dynamodb.models
import pytest
from moto.dynamodb.models.table import Table

from chalicelib import queues, storage
from chalicelib.webhooks import change, events, functions, queue
from tests.webhooks.receivers import Behaviour, Receiver, acknowledges, receiver

WATCHED = ("agents", "conversations", "clients", "organisations", "leads")
Record = dict[str, Any]


class Stream:
    """The streams of the watched tables from here on."""

    def __init__(self) -> None:
        self._client = storage.sdk_client("dynamodbstreams")
        self._arns = {table: _arn(table) for table in WATCHED}
        self._places = {table: self._latest(arn) for table, arn in self._arns.items()}

    def read(self, *tables: str) -> list[Record]:
        """What has happened since the last call, in the order of each table, as records of a function's event."""
        return [record for table in tables or WATCHED for record in self._read(table)]

    def _latest(self, arn: str) -> str:
        (shard,) = self._client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "LATEST"}
        iterator: str = self._client.get_shard_iterator(**place)["ShardIterator"]
        return iterator

    def _read(self, table: str) -> Iterator[Record]:
        while True:
            answer = self._client.get_records(ShardIterator=self._places[table], Limit=1000)
            self._places[table] = answer["NextShardIterator"]
            yield from (as_in_an_event(record, self._arns[table]) for record in answer["Records"])
            if not answer["Records"]:
                return


def as_in_an_event(record: Record, arn: str) -> Record:
    """A record of the streams API as a function receives it."""
    plain: Record = _plain(record)
    identity = record.get("userIdentity")
    if identity:
        plain["userIdentity"] = {"principalId": identity["PrincipalId"], "type": identity["Type"]}
    return {**plain, "eventSourceARN": arn}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _arn(table: str) -> str:
    described = storage.sdk_client("dynamodb").describe_table(TableName=storage.table(table))
    arn: str = described["Table"]["LatestStreamArn"]
    return arn


def fan_out(records: Sequence[Record]) -> None:
    """Hand records to the functions of their tables."""
    for table in WATCHED:
        own = [record for record in records if record["eventSourceARN"].split("/")[1] == storage.table(table)]
        if own:
            getattr(functions, f"fan_out_{table}")({"Records": own}, None)


class Held(NamedTuple):
    """Messages that a queue has lent to a function: hidden from others until they are deleted or given back."""

    lane: str
    messages: list[dict[str, Any]]

    @property
    def bodies(self) -> list[str]:
        return [message["Body"] for message in self.messages]

    @property
    def records(self) -> list[Record]:
        """They as a function receives them."""
        return [
            {"messageId": one["MessageId"], "receiptHandle": one["ReceiptHandle"], "body": one["Body"]}
            for one in self.messages
        ]

    def run(self) -> None:
        """Hand them to the function of their lane; what it raises comes through, and they stay where they are."""
        function = {queue.FAST: functions.deliver, queue.SLOW: functions.deliver_slow}[self.lane]
        function({"Records": self.records}, None)

    def delete(self) -> None:
        for one in self.messages:
            _sqs().delete_message(QueueUrl=_url(self.lane), ReceiptHandle=one["ReceiptHandle"])

    def give_back(self) -> None:
        for one in self.messages:
            handle = one["ReceiptHandle"]
            _sqs().change_message_visibility(QueueUrl=_url(self.lane), ReceiptHandle=handle, VisibilityTimeout=0)


def take(lane: str = queue.FAST) -> Held:
    """As many messages as one invocation gets: ten at most."""
    answer = _sqs().receive_message(QueueUrl=_url(lane), MaxNumberOfMessages=10)
    return Held(lane, answer.get("Messages", []))


def drain(*lanes: str) -> int:
    """Deliver what is on these lanes (both of them without), until there is nothing; how many messages that were."""
    count = 0
    for lane in lanes or (queue.FAST, queue.SLOW):
        while (held := take(lane)).messages:
            held.run()
            held.delete()
            count += len(held.messages)
    return count


def waiting(lane: str) -> list[str]:
    """The texts on a queue; they are taken off it."""
    texts = []
    while (held := take(lane)).messages:
        texts += held.bodies
        held.delete()
    return texts


def _sqs() -> Any:
    return storage.sdk_client("sqs")


def _url(lane: str) -> str:
    return queues._url(lane)


class Posted(NamedTuple):
    """A request as a receiver got it."""

    path: str
    headers: dict[str, str]
    text: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    @property
    def payload(self) -> Any:
        """The payload without the two members that every test would have to repeat."""
        return {name: value for name, value in self.body["payload"].items() if name not in _ALWAYS}


_ALWAYS = ("createdAt", "workspaceSecret")


def posted(request: bytes) -> Posted:
    """A request that a receiver has read."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return Posted(first.split(" ")[1], {name.lower(): value for name, value in headers.items()}, body)


class Inbox:
    """A receiver of webhooks, and what it got."""

    def __init__(self, running: Receiver) -> None:
        self._running = running

    def url(self, path: str = "hook") -> str:
        return f"http://{self._running.address}/{path}"

    @property
    def posts(self) -> list[Posted]:
        return [posted(request) for request in list(self._running.requests)]


@contextmanager
def inbox(behaviour: Behaviour = acknowledges) -> Iterator[Inbox]:
    """A receiver for the length of the block."""
    with receiver(behaviour) as running:
        yield Inbox(running)


@contextmanager
def cheap_transactions() -> Iterator[None]:
    """Inside the block no transaction may fail: moto copies whole tables, streams included, to be able to go back."""

    def copied(value: Any) -> Any:
        return value if isinstance(value, Table) else copy.deepcopy(value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moto.dynamodb.models, "copy", SimpleNamespace(deepcopy=copied))
        yield


def told(records: Sequence[Record]) -> list[events.Event]:
    """The events that records are, in their order."""
    return [event for record in records for event in events.of(change.from_record(record))]


def payloads(records: Sequence[Record]) -> list[tuple[str, dict[str, Any]]]:
    """Of each event its type and its payload but for the time."""
    return [
        (event.type, {name: value for name, value in event.payload.items() if name != "createdAt"})
        for event in told(records)
    ]
