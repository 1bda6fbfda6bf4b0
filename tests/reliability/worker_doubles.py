"""A fake engine and fake functions for tests of the local run's worker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from chalice.app import DynamoDBEventConfig, SQSEventConfig

from infra.local.pollers import Positions, QueuePoller, StreamPoller

STREAM_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/cams-agents/stream/2026-01-01T00:00:00.000"


SECONDS = 10


invocations: list[dict[str, Any]] = []


failures_to_raise: list[Exception] = []


failures_to_report: list[list[str]] = []


release = threading.Event()


def record_invocation(event: dict[str, Any], _: Any) -> None:
    """Replace the invoked function: record the event, and raise the queued failures one at a time."""
    invocations.append(event)
    if failures_to_raise:
        raise failures_to_raise.pop(0)


def report_failures(event: dict[str, Any], _: Any) -> dict[str, Any]:
    """Report the queued identifiers as failed, one list per invocation."""
    invocations.append(event)
    failed = failures_to_report.pop(0) if failures_to_report else []
    return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}


def hang(event: dict[str, Any], _: Any) -> None:
    invocations.append(event)
    release.wait(SECONDS)


@pytest.fixture(autouse=True)
def no_invocations() -> Iterator[None]:
    invocations.clear()
    failures_to_raise.clear()
    failures_to_report.clear()
    release.clear()
    yield
    release.set()


class Trimmed(Exception):
    pass


class FakeEngine:
    """A fake SDK with an in-memory stream and queue. `client` raises the errors in `client_errors` one at a time."""

    exceptions = SimpleNamespace(TrimmedDataAccessException=Trimmed)

    def __init__(self, records: int = 0, messages: int = 0) -> None:
        self.records = [new_record(number) for number in range(records)]
        self.messages = [new_message(number) for number in range(messages)]
        self.delayed = 0
        self.deleted: list[str] = []
        self.trimmed = self.iterators = 0
        self.page = 1000  # the engine returns at most 1,000 records and at most 1 MB
        self.expired = -1
        self.client_errors: list[Exception] = []

    def client(self, _: str) -> FakeEngine:
        if self.client_errors:
            raise self.client_errors.pop(0)
        return self

    def describe_table(self, **request: str) -> Any:
        assert request == {"TableName": "cams-agents"}
        return {"Table": {"LatestStreamArn": STREAM_ARN}}

    def describe_stream(self, **request: str) -> Any:
        assert request == {"StreamArn": STREAM_ARN}
        return {"StreamDescription": {"Shards": [{"ShardId": "shard"}]}}

    def get_shard_iterator(self, **request: str) -> Any:
        self.iterators += 1
        if request["ShardIteratorType"] == "TRIM_HORIZON":
            return {"ShardIterator": str(self.trimmed)}
        assert request["ShardIteratorType"] == "AFTER_SEQUENCE_NUMBER"
        number = int(request["SequenceNumber"])
        if number < self.trimmed:
            raise Trimmed
        return {"ShardIterator": str(number + 1)}

    def get_records(self, **request: Any) -> Any:
        first = int(request["ShardIterator"])
        if first == self.expired:
            raise ClientError({"Error": {"Code": "ExpiredIteratorException"}}, "GetRecords")
        assert request["Limit"] <= 1000
        found = self.records[first : first + min(request["Limit"], self.page)]
        return {"Records": found, "NextShardIterator": str(first + len(found))}

    def get_queue_url(self, **request: str) -> Any:
        return {"QueueUrl": f"http://localhost/{request['QueueName']}"}

    def get_queue_attributes(self, **request: Any) -> Any:
        counts = {"": len(self.messages), "Delayed": self.delayed, "NotVisible": 0}
        attributes = {f"ApproximateNumberOfMessages{kind}": str(count) for kind, count in counts.items()}
        attributes["QueueArn"] = "arn:aws:sqs:us-east-1:000000000000:cams-deliveries"
        return {"Attributes": {name: attributes[name] for name in request["AttributeNames"]}}

    def receive_message(self, **request: Any) -> Any:
        limit = request["MaxNumberOfMessages"]
        found, self.messages = self.messages[:limit], self.messages[limit:]
        return {"Messages": found} if found else {}

    def delete_message_batch(self, **request: Any) -> Any:
        self.deleted += [entry["ReceiptHandle"] for entry in request["Entries"]]
        return {}


def stream_poller(engine: FakeEngine, directory: Path, function: str = "record_invocation") -> StreamPoller:
    return StreamPoller(stream_source(function), engine.client, new_positions(directory))


def new_positions(directory: Path) -> Positions:
    return Positions(directory / "positions.json", ["cams-agents/fan_out_agents"])


def stream_source(function: str, batch_size: int = 2, window: int = 0) -> DynamoDBEventConfig:
    return DynamoDBEventConfig("fan_out_agents", f"{__name__}.{function}", "", batch_size, "TRIM_HORIZON", window)


def queue_poller(
    engine: FakeEngine, function: str = "record_invocation", failures: list[Any] | None = None
) -> QueuePoller:
    source = SQSEventConfig("deliver", f"{__name__}.{function}", "cams-deliveries", None, 2, 0, None)
    return QueuePoller(source, engine.client, lambda *failure: None if failures is None else failures.append(failure))


def new_record(number: int) -> dict[str, Any]:
    names = ("eventID", "eventName", "eventVersion", "eventSource", "awsRegion")
    keys = {"item": {"S": "agent#support"}}
    return {**dict.fromkeys(names, "x"), "dynamodb": {"SequenceNumber": str(number), "Keys": keys}}


def new_message(number: int) -> dict[str, Any]:
    return {"MessageId": f"m{number}", "ReceiptHandle": f"r{number}", "Body": str(number), "MD5OfBody": "5"}


def record_numbers(event: dict[str, Any]) -> list[int]:
    return [int(record["dynamodb"]["SequenceNumber"]) for record in event["Records"]]


def message_bodies(event: dict[str, Any]) -> list[str]:
    return [record["body"] for record in event["Records"]]
