"""The local run's triggers call what the app deploys as Lambda would: the same events, at least once."""

from __future__ import annotations

import base64
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from chalice.app import DynamoDBEventConfig, SQSEventConfig

from chalicelib import errors
from infra.local import events, journal, worker
from infra.local.triggers import News, Positions, Queue, Stream

_STREAM = "arn:aws:dynamodb:us-east-1:000000000000:table/cams-agents/stream/2026-01-01T00:00:00.000"
_SECONDS = 10
_SECRET = "cams_workspace_0123"

called: list[dict[str, Any]] = []
raised: list[Exception] = []
held = threading.Event()


def remember(event: dict[str, Any], _: Any) -> None:
    """The function of the tests; it fails as often as it is told to."""
    called.append(event)
    if raised:
        raise raised.pop(0)


def hang(event: dict[str, Any], _: Any) -> None:
    called.append(event)
    held.wait(_SECONDS)


@pytest.fixture(autouse=True)
def _nothing_called_yet() -> Iterator[None]:
    called.clear()
    raised.clear()
    held.clear()
    yield
    held.set()


class Trimmed(Exception):
    pass


class FakeEngine:
    """The calls that the triggers make, of a stream and a queue in memory. A client is refused for each error given."""

    exceptions = SimpleNamespace(TrimmedDataAccessException=Trimmed)

    def __init__(self, records: int = 0, messages: int = 0) -> None:
        self.records = [_record(number) for number in range(records)]
        self.messages = [_message(number) for number in range(messages)]
        self.deleted: list[str] = []
        self.trimmed = self.iterators = 0
        self.expired = -1
        self.refuses: list[Exception] = []

    def client(self, _: str) -> FakeEngine:
        if self.refuses:
            raise self.refuses.pop(0)
        return self

    def describe_table(self, **asked: str) -> Any:
        assert asked == {"TableName": "cams-agents"}
        return {"Table": {"LatestStreamArn": _STREAM}}

    def describe_stream(self, **asked: str) -> Any:
        assert asked == {"StreamArn": _STREAM}
        return {"StreamDescription": {"Shards": [{"ShardId": "shard"}]}}

    def get_shard_iterator(self, **asked: str) -> Any:
        self.iterators += 1
        if asked["ShardIteratorType"] == "TRIM_HORIZON":
            return {"ShardIterator": str(self.trimmed)}
        assert asked["ShardIteratorType"] == "AFTER_SEQUENCE_NUMBER"
        number = int(asked["SequenceNumber"])
        if number < self.trimmed:
            raise Trimmed
        return {"ShardIterator": str(number + 1)}

    def get_records(self, **asked: Any) -> Any:
        first = int(asked["ShardIterator"])
        if first == self.expired:
            raise ClientError({"Error": {"Code": "ExpiredIteratorException"}}, "GetRecords")
        found = self.records[first : first + asked["Limit"]]
        return {"Records": found, "NextShardIterator": str(first + len(found))}

    def get_queue_url(self, **asked: str) -> Any:
        return {"QueueUrl": f"http://localhost/{asked['QueueName']}"}

    def get_queue_attributes(self, **_: Any) -> Any:
        return {"Attributes": {"QueueArn": "arn:aws:sqs:us-east-1:000000000000:cams-deliveries"}}

    def receive_message(self, **asked: Any) -> Any:
        most = asked["MaxNumberOfMessages"]
        found, self.messages = self.messages[:most], self.messages[most:]
        return {"Messages": found} if found else {}

    def delete_message_batch(self, **asked: Any) -> Any:
        self.deleted += [entry["ReceiptHandle"] for entry in asked["Entries"]]
        return {}


def test_what_the_app_deploys_is_what_is_called() -> None:
    sources = {source.name: source for source in worker.app.event_sources}

    assert {name for name in sources if name.startswith("fan_out_")} == {
        f"fan_out_{table}" for table in ("agents", "conversations", "clients", "organisations", "leads")
    }
    assert {"deliver", "deliver_slow", "resume_cascade"} <= set(sources)
    assert {type(source) for source in sources.values()} == {DynamoDBEventConfig, SQSEventConfig}


def test_a_stream_record_has_the_shape_of_lambda() -> None:
    record = {
        "eventID": "1",
        "eventName": "REMOVE",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "userIdentity": {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"},
        "dynamodb": {
            "ApproximateCreationDateTime": datetime(2026, 1, 1, tzinfo=timezone.utc),
            "Keys": {"id": {"S": "a"}},
            "OldImage": {"document": {"B": b"\x00\xff"}, "inner": {"L": [{"M": {"many": {"BS": [b"x"]}}}]}},
            "SequenceNumber": "3",
            "SizeBytes": 7,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }

    assert json.loads(json.dumps(events.of_records([record], _STREAM))) == {
        "Records": [
            {
                "eventID": "1",
                "eventName": "REMOVE",
                "eventVersion": "1.1",
                "eventSource": "aws:dynamodb",
                "awsRegion": "us-east-1",
                "eventSourceARN": _STREAM,
                "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
                "dynamodb": {
                    "ApproximateCreationDateTime": 1767225600.0,
                    "Keys": {"id": {"S": "a"}},
                    "OldImage": {
                        "document": {"B": base64.b64encode(b"\x00\xff").decode()},
                        "inner": {"L": [{"M": {"many": {"BS": ["eA=="]}}}]},
                    },
                    "SequenceNumber": "3",
                    "SizeBytes": 7,
                    "StreamViewType": "NEW_AND_OLD_IMAGES",
                },
            }
        ]
    }


def test_a_message_has_the_shape_of_lambda() -> None:
    message = {
        "MessageId": "1",
        "ReceiptHandle": "r",
        "Body": "text",
        "MD5OfBody": "5",
        "Attributes": {"ApproximateReceiveCount": "1"},
        "MessageAttributes": {"kind": {"StringValue": "x", "DataType": "String"}},
        "MD5OfMessageAttributes": "6",
    }
    arn = "arn:aws:sqs:eu-west-1:000000000000:cams-deliveries"

    assert events.of_messages([message], arn) == {
        "Records": [
            {
                "messageId": "1",
                "receiptHandle": "r",
                "body": "text",
                "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": {"kind": {"stringValue": "x", "dataType": "String"}},
                "md5OfBody": "5",
                "eventSource": "aws:sqs",
                "eventSourceARN": arn,
                "awsRegion": "eu-west-1",
            }
        ]
    }


def test_a_batch_of_a_stream_that_fails_comes_again_and_holds_up_those_behind_it(tmp_path: Path) -> None:
    stream = _stream(FakeEngine(records=5), tmp_path)
    raised.extend([errors.Unavailable(), errors.Unavailable()])

    for _ in range(2):
        with pytest.raises(errors.Unavailable):
            stream.step()
    while stream.step():
        pass

    assert [_numbers(event) for event in called] == [[0, 1], [0, 1], [0, 1], [2, 3], [4]]


def test_a_stream_is_read_on_from_where_everything_was_done_with(tmp_path: Path) -> None:
    engine = FakeEngine(records=3)
    stream = _stream(engine, tmp_path)
    assert stream.step() is True
    raised.append(RuntimeError())
    with pytest.raises(RuntimeError):
        stream.step()

    _stream(engine, tmp_path).step()

    assert [_numbers(event) for event in called] == [[0, 1], [2], [2]]


def test_a_stream_whose_position_is_a_day_old_is_read_from_its_beginning(tmp_path: Path) -> None:
    engine = FakeEngine(records=6)
    _stream(engine, tmp_path).step()
    engine.trimmed = 3

    _stream(engine, tmp_path).step()

    assert [_numbers(event) for event in called] == [[0, 1], [3, 4]]


def test_an_iterator_that_is_refused_is_not_asked_with_again(tmp_path: Path) -> None:
    """They end after a quarter of an hour: a machine that slept wakes up with old ones."""
    engine = FakeEngine(records=4)
    stream = _stream(engine, tmp_path)
    stream.step()
    engine.expired = 2

    with pytest.raises(ClientError):
        stream.step()
    engine.expired = -1
    stream.step()

    assert [_numbers(event) for event in called] == [[0, 1], [2, 3]]
    assert engine.iterators == 2


def test_positions_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    (tmp_path / "positions.json").write_text('{"torn')

    _stream(FakeEngine(records=1), tmp_path).step()

    assert [_numbers(event) for event in called] == [[0]]


def test_messages_are_deleted_when_they_are_done_with_and_stay_when_they_are_not() -> None:
    engine, failures = FakeEngine(messages=3), []
    queue = _queue(engine, failures=failures)
    raised.append(errors.Unavailable())

    while queue.step():
        queue.finish(time.monotonic() + _SECONDS)
    queue.finish(time.monotonic() + _SECONDS)

    assert [_bodies(event) for event in called] == [["0", "1"], ["2"]]
    assert engine.deleted == ["r2"]
    assert [(name, type(error)) for name, error in failures] == [("deliver", errors.Unavailable)]


def test_batches_that_hang_leave_room_for_others_up_to_a_bound() -> None:
    engine = FakeEngine(messages=1000)
    queue = _queue(engine, "hang")

    while queue.step():
        pass

    _wait_until(lambda: len(called) == 64)
    assert (len(called), len(engine.messages)) == (64, 1000 - 2 * 64)
    held.set()
    queue.finish(time.monotonic() + _SECONDS)
    assert queue.step() is True


def test_an_engine_that_fails_every_call_is_survived_and_told_of_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_PAUSE_AFTER_FAILURE", 0.01)
    engine = FakeEngine(records=3, messages=3)
    engine.refuses = [EndpointConnectionError(endpoint_url="http://127.0.0.1:9") for _ in range(20)]
    steps = {"fan_out_agents": _stream(engine, tmp_path).step, "deliver": _queue(engine).step}

    with _running(steps):
        _wait_until(lambda: len(called) == 4 and len(engine.deleted) == 3)

    records = [event for event in called if "dynamodb" in event["Records"][0]]
    assert [_numbers(event) for event in records] == [[0, 1], [2]]
    assert sorted(engine.deleted) == ["r0", "r1", "r2"]
    assert sorted(record.getMessage() for record in caplog.records) == [
        f'{name} failed and is repeated: Could not connect to the endpoint URL: "http://127.0.0.1:9"'
        for name in ("deliver", "fan_out_agents")
    ]


def test_streams_do_not_wait_for_each_other(tmp_path: Path) -> None:
    hanging = Stream(_stream_source("hang"), FakeEngine(records=2).client, Positions(tmp_path / "one"))
    other = _stream(FakeEngine(records=3), tmp_path)

    with _running({"hanging": hanging.step, "other": other.step}):
        _wait_until(lambda: len(called) == 3)

    assert len(called) == 3


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(errors.Unavailable("The database does not answer."), "The database does not answer.", id="ours"),
        pytest.param(
            ClientError({"Error": {"Code": "ValidationException", "Message": _SECRET}}, "PutItem"),
            "PutItem was refused with ValidationException.",
            id="the engine's",
        ),
        pytest.param(ValueError(_SECRET), "ValueError at test_local_worker.py:", id="anybody's"),
    ],
)
def test_a_failure_is_told_without_what_it_was_about(
    error: Exception, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        raise error
    except Exception as caught:
        worker.report("deliver", caught)

    (record,) = caplog.records
    assert record.getMessage().startswith(f"deliver failed and is repeated: {told}")
    assert _SECRET not in logging.Formatter().format(record)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("ResourceNotFoundException", id="a table that is still being made"),
        pytest.param("ExpiredIteratorException", id="an iterator that ended while the machine slept"),
    ],
)
def test_what_is_no_failure_passes_without_a_word(code: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = FakeEngine(records=1)
    engine.refuses = [ClientError({"Error": {"Code": code}}, "DescribeTable")] * 3

    with _running({"fan_out_agents": _stream(engine, tmp_path).step}):
        _wait_until(lambda: len(called) == 1)

    assert (len(called), caplog.records) == (1, [])


@pytest.mark.parametrize(
    ("named", "record", "is_news"),
    [
        pytest.param("stream", {"call": "PutItem", "body": '{"TableName": "cams-agents", "Item": {}}'}, True),
        pytest.param("stream", {"call": "PutItem", "body": '{"TableName": "cams-events", "Item": {}}'}, False),
        pytest.param("stream", {"call": "expire", "body": ""}, True),
        pytest.param("queue", {"call": "SendMessage", "body": '{"QueueUrl": "http://h:1/0/cams-deliveries"}'}, True),
        pytest.param(
            "queue", {"call": "SendMessage", "body": '{"QueueUrl": "http://h:1/0/cams-deliveries-slow"}'}, False
        ),
        pytest.param("queue", {"call": "PutItem", "body": '{"TableName": "cams-deliveries"}'}, False),
    ],
)
def test_news_is_what_the_engine_records_of_a_table_or_queue(
    tmp_path: Path, named: str, record: dict[str, str], is_news: bool
) -> None:
    trigger = _stream(FakeEngine(), tmp_path) if named == "stream" else _queue(FakeEngine())
    path = tmp_path / "engine.journal"
    journal.replace(path, [])
    news = News(path, trigger.named)
    assert news() is False

    descriptor = journal.open_for_append(path, 0)
    journal.append(descriptor, record)

    assert [news(), news()] == [is_news, False]


def test_a_journal_that_was_written_anew_is_read_from_its_end_on(tmp_path: Path) -> None:
    path = tmp_path / "engine.journal"
    path.write_bytes(b"x" * 1000)
    news = News(path, '"cams-agents\\"')
    path.write_bytes(b"y" * 10)
    assert news() is False
    with path.open("ab") as file:
        file.write(b'{\\"TableName\\": \\"cams-agents\\"}')

    assert news() is True


def _stream(engine: FakeEngine, directory: Path) -> Stream:
    return Stream(_stream_source("remember"), engine.client, Positions(directory / "positions.json"))


def _stream_source(function: str) -> DynamoDBEventConfig:
    return DynamoDBEventConfig("fan_out_agents", f"{__name__}.{function}", "", 2, "TRIM_HORIZON", 0)


def _queue(engine: FakeEngine, function: str = "remember", failures: list[Any] | None = None) -> Queue:
    source = SQSEventConfig("deliver", f"{__name__}.{function}", "cams-deliveries", None, 2, 0, None)
    return Queue(source, engine.client, lambda *failure: None if failures is None else failures.append(failure))


@contextmanager
def _running(steps: dict[str, Callable[[], bool]]) -> Iterator[None]:
    """The worker's threads for these steps, until the end of the block."""
    ended = threading.Event()
    threads = [
        threading.Thread(target=worker.again_and_again, args=(name, step, lambda: True, ended), daemon=True)
        for name, step in steps.items()
    ]
    for thread in threads:
        thread.start()
    yield
    ended.set()
    held.set()
    for thread in threads:
        thread.join(_SECONDS)
        assert not thread.is_alive()


def _record(number: int) -> dict[str, Any]:
    names = ("eventID", "eventName", "eventVersion", "eventSource", "awsRegion")
    return {**dict.fromkeys(names, "x"), "dynamodb": {"SequenceNumber": str(number)}}


def _message(number: int) -> dict[str, Any]:
    return {"MessageId": f"m{number}", "ReceiptHandle": f"r{number}", "Body": str(number), "MD5OfBody": "5"}


def _numbers(event: dict[str, Any]) -> list[int]:
    return [int(record["dynamodb"]["SequenceNumber"]) for record in event["Records"]]


def _bodies(event: dict[str, Any]) -> list[str]:
    return [record["body"] for record in event["Records"]]


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.005)
