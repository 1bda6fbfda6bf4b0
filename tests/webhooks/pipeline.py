"""The webhook pipeline as in the cloud: stream records and queue messages are passed to the functions.

The functions receive events in Lambda's format: binary values as Base64, times in seconds, messages as text. Threads
and faults are up to each test.
"""

import base64
import copy
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import moto.dynamodb.models
import pytest
from moto.dynamodb.models.table import Table

from chalicelib import extensions, followers, maintenance, queues, storage
from chalicelib.webhooks import change, events, functions, hosts, queue
from infra import tables
from tests.sending.receivers import Behaviour, Receiver, acknowledges, receiver

QUICK = hosts.Host(quick_until=2**40)
"""The state of a host that has proven quick and stays quick until the test ends."""
WATCHED = ("agents", "conversations", "clients", "organisations", "leads")
Record = dict[str, Any]


class Stream:
    """The streams of these tables (by default, of all tables), starting when this object is created."""

    def __init__(self, *tables: str) -> None:
        self._client = storage.sdk_client("dynamodbstreams")
        arns = _arns(self._client)
        self._arns = {table: arns[table] for table in tables or _streamed()}
        self._places = {table: self._latest(arn) for table, arn in self._arns.items()}

    def read(self, *tables: str) -> list[Record]:
        """Return the records since the last call, in each table's order and in the format that functions receive.

        Tables without a stream have no records; only extensions that are off follow these tables.
        """
        return [record for table in tables or WATCHED if table in self._arns for record in self._read(table)]

    def _latest(self, arn: str) -> str:
        place = {"StreamArn": arn, "ShardId": _shard_id(arn), "ShardIteratorType": "LATEST"}
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
    """Convert a record from the streams API to the form that a function receives."""
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


def _streamed() -> list[str]:
    """Return the names of the tables that have a stream."""
    enabled = [extension.name for extension in extensions.enabled()]
    declared = [one for one in tables.declared("AWS::DynamoDB::Table", enabled) if "StreamSpecification" in one]
    return [tables.table_name(one, "") for one in declared]


def _arns(client: Any) -> dict[str, str]:
    """Return the ARN of each table's stream."""
    return {storage.logical_name(one["TableName"]): one["StreamArn"] for one in client.list_streams()["Streams"]}


@cache
def _shard_id(arn: str) -> str:
    (shard,) = storage.sdk_client("dynamodbstreams").describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    found: str = shard["ShardId"]
    return found


def fan_out(records: Sequence[Record]) -> None:
    """Pass records to their tables' fan-out functions."""
    for table in WATCHED:
        own = [record for record in records if record["eventSourceARN"].split("/")[1] == storage.table(table)]
        if own:
            returned = getattr(functions, f"fan_out_{table}")({"Records": own}, None)
            assert returned == {"batchItemFailures": []}


def follow(records: Sequence[Record]) -> None:
    """Pass records to the functions that follow their tables."""
    for table in _streamed():
        own = [record for record in records if record["eventSourceARN"].split("/")[1] == storage.table(table)]
        if own and hasattr(followers, f"follow_{table}"):
            assert getattr(followers, f"follow_{table}")({"Records": own}, None) is None


_FUNCTIONS = {
    queues.MAINTENANCE: (maintenance, "maintain"),
    queue.FAST: (functions, "deliver"),
    queue.SLOW: (functions, "deliver_slow"),
}


class Held(NamedTuple):
    """Messages in flight: invisible to other receivers until they are deleted or returned to the queue."""

    queue_name: str
    messages: list[dict[str, Any]]

    @property
    def bodies(self) -> list[str]:
        return [message["Body"] for message in self.messages]

    @property
    def records(self) -> list[Record]:
        """Return the messages in the form that a function receives."""
        return [
            {"messageId": one["MessageId"], "receiptHandle": one["ReceiptHandle"], "body": one["Body"]}
            for one in self.messages
        ]

    def run(self) -> None:
        """Pass the messages to their queue's function, without catching errors or deleting messages."""
        returned = getattr(*_FUNCTIONS[self.queue_name])({"Records": self.records}, None)
        assert returned == {"batchItemFailures": []}

    def delete(self) -> None:
        for one in self.messages:
            _sqs().delete_message(QueueUrl=_url(self.queue_name), ReceiptHandle=one["ReceiptHandle"])

    def give_back(self) -> None:
        for one in self.messages:
            handle = one["ReceiptHandle"]
            _sqs().change_message_visibility(QueueUrl=_url(self.queue_name), ReceiptHandle=handle, VisibilityTimeout=0)


def take(queue_name: str = queue.FAST) -> Held:
    """Receive at most ten messages, for one invocation."""
    answer = _sqs().receive_message(QueueUrl=_url(queue_name), MaxNumberOfMessages=10)
    return Held(queue_name, answer.get("Messages", []))


def drain(*queue_names: str) -> int:
    """Process all messages in these queues (by default, in all queues); return the number of messages."""
    count = 0
    for queue_name in queue_names or tuple(_FUNCTIONS):
        while (held := take(queue_name)).messages:
            held.run()
            held.delete()
            count += len(held.messages)
    return count


def waiting(queue_name: str) -> list[str]:
    """Return the texts of all messages in a queue, and delete the messages."""
    texts = []
    while (held := take(queue_name)).messages:
        texts += held.bodies
        held.delete()
    return texts


def _sqs() -> Any:
    return storage.sdk_client("sqs")


def _url(queue_name: str) -> str:
    return queues._url(queue_name)


class Posted(NamedTuple):
    """A request to a receiver."""

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
        """Return the payload without the two members that every event contains."""
        return {name: value for name, value in self.body["payload"].items() if name not in _ALWAYS}


_ALWAYS = ("createdAt", "workspaceSecret")


def posted(request: bytes) -> Posted:
    """Parse a request that a receiver has read."""
    head, _, body = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return Posted(first.split(" ")[1], {name.lower(): value for name, value in headers.items()}, body)


class Inbox:
    """A webhook receiver and the requests that it received."""

    def __init__(self, running: Receiver) -> None:
        self._running = running

    @property
    def host(self) -> str:
        """Return the receiver's host and port."""
        return self._running.address

    def url(self, path: str = "hook") -> str:
        return f"http://{self._running.address}/{path}"

    @property
    def posts(self) -> list[Posted]:
        return [posted(request) for request in list(self._running.requests)]


@contextmanager
def inbox(behaviour: Behaviour = acknowledges) -> Iterator[Inbox]:
    """Run a receiver for the duration of the block."""
    with receiver(behaviour) as running:
        yield Inbox(running)


@contextmanager
def cheap_transactions() -> Iterator[None]:
    """Keep moto from copying all tables before each transaction.

    Inside the block, transactions must not fail, because moto cannot roll them back.
    """

    def copied(value: Any) -> Any:
        return value if isinstance(value, Table) else copy.deepcopy(value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moto.dynamodb.models, "copy", SimpleNamespace(deepcopy=copied))
        yield


def events_of(records: Sequence[Record]) -> list[events.Event]:
    """Return the events that records cause, in order."""
    return [event for record in records for event in events.from_change(change.from_record(record))]


def payloads(records: Sequence[Record]) -> list[tuple[str, dict[str, Any]]]:
    """Return the type of each event, and its payload without the time."""
    return [
        (event.type, {name: value for name, value in event.payload.items() if name != "createdAt"})
        for event in events_of(records)
    ]
