"""The local run's worker invokes the app's functions as Lambda does: the same events, at least once."""

from __future__ import annotations

import base64
import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError
from chalice.app import DynamoDBEventConfig, SQSEventConfig

from chalicelib import errors, settings
from infra import lambda_events, tables
from infra.local import data_file, worker
from infra.local.children import REGION, Engine
from infra.local.data_file import DataFile, Row, Watch
from infra.local.pollers import PartialFailure, Positions, QueuePoller, StreamPoller
from tests.reliability.engine_fixture import running_engine, wait_until
from tests.selection import first_case, whole

_STREAM = "arn:aws:dynamodb:us-east-1:000000000000:table/cams-agents/stream/2026-01-01T00:00:00.000"
_SECONDS = 10
_SECRET = "cams_workspace_0123"

invocations: list[dict[str, Any]] = []
failures_to_raise: list[Exception] = []
failures_to_report: list[list[str]] = []
release = threading.Event()


def record_invocation(event: dict[str, Any], _: Any) -> None:
    """Replace the function under test; raise the queued failures one by one."""
    invocations.append(event)
    if failures_to_raise:
        raise failures_to_raise.pop(0)


def report_failures(event: dict[str, Any], _: Any) -> dict[str, Any]:
    """Report the queued identifiers as failed, one list for each invocation."""
    invocations.append(event)
    failed = failures_to_report.pop(0) if failures_to_report else []
    return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}


def hang(event: dict[str, Any], _: Any) -> None:
    invocations.append(event)
    release.wait(_SECONDS)


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    invocations.clear()
    failures_to_raise.clear()
    failures_to_report.clear()
    release.clear()
    yield
    release.set()


class Trimmed(Exception):
    pass


class FakeEngine:
    """A fake SDK with a stream and a queue in memory. `client` raises the errors of `client_errors` one by one."""

    exceptions = SimpleNamespace(TrimmedDataAccessException=Trimmed)

    def __init__(self, records: int = 0, messages: int = 0) -> None:
        self.records = [_record(number) for number in range(records)]
        self.messages = [_message(number) for number in range(messages)]
        self.delayed = 0
        self.deleted: list[str] = []
        self.trimmed = self.iterators = 0
        self.page = 1000  # of records: the engine returns at most 1,000, and at most 1 MB
        self.expired = -1
        self.client_errors: list[Exception] = []

    def client(self, _: str) -> FakeEngine:
        if self.client_errors:
            raise self.client_errors.pop(0)
        return self

    def describe_table(self, **request: str) -> Any:
        assert request == {"TableName": "cams-agents"}
        return {"Table": {"LatestStreamArn": _STREAM}}

    def describe_stream(self, **request: str) -> Any:
        assert request == {"StreamArn": _STREAM}
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


def test_the_worker_invokes_the_functions_that_the_app_registers() -> None:
    sources = {source.name: source for source in worker.app.event_sources}

    assert {name for name in sources if name.startswith("fan_out_")} == {
        f"fan_out_{table}" for table in ("agents", "conversations", "clients", "organisations", "leads")
    }
    assert {"deliver", "deliver_slow", "maintain"} <= set(sources)
    assert {type(source) for source in sources.values()} == {DynamoDBEventConfig, SQSEventConfig}


def test_a_stream_record_is_converted_to_the_lambda_event() -> None:
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

    assert json.loads(json.dumps(lambda_events.from_records([record], _STREAM))) == {
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


def test_a_message_is_converted_to_the_lambda_event() -> None:
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

    assert lambda_events.from_messages([message], arn) == {
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


def test_a_failed_stream_batch_is_retried_and_blocks_the_batches_after_it(tmp_path: Path) -> None:
    stream = _stream(FakeEngine(records=5), tmp_path)
    failures_to_raise.extend([errors.Unavailable(), errors.Unavailable()])

    for _ in range(2):
        with pytest.raises(errors.Unavailable):
            stream.step()
    while stream.step():
        pass

    assert [_numbers(event) for event in invocations] == [[0, 1], [0, 1], [0, 1], [2, 3], [4]]


def test_a_new_worker_continues_after_the_last_processed_record(tmp_path: Path) -> None:
    engine = FakeEngine(records=3)
    stream = _stream(engine, tmp_path)
    assert stream.step() is True
    failures_to_raise.append(RuntimeError())
    with pytest.raises(RuntimeError):
        stream.step()

    _stream(engine, tmp_path).step()

    assert [_numbers(event) for event in invocations] == [[0, 1], [2], [2]]


def test_a_stream_with_a_trimmed_position_is_read_from_its_start(tmp_path: Path) -> None:
    engine = FakeEngine(records=6)
    _stream(engine, tmp_path).step()
    engine.trimmed = 3

    _stream(engine, tmp_path).step()

    assert [_numbers(event) for event in invocations] == [[0, 1], [3, 4]]


def test_an_expired_iterator_is_replaced(tmp_path: Path) -> None:
    """Iterators expire after 15 minutes, for example while the machine is asleep."""
    engine = FakeEngine(records=4)
    stream = _stream(engine, tmp_path)
    stream.step()
    engine.expired = 2

    with pytest.raises(ClientError):
        stream.step()
    engine.expired = -1
    stream.step()

    assert [_numbers(event) for event in invocations] == [[0, 1], [2, 3]]
    assert engine.iterators == 2


@pytest.mark.parametrize(
    ("changes", "page", "sizes"),
    [
        pytest.param(11_000, 1000, [6_000, 5_000], id="full pages"),
        pytest.param(700, 90, [540, 160], id="pages of 1 MB"),
        pytest.param(1, 1000, [1], id="one change"),
    ],
)
def test_a_function_with_a_window_reads_all_changes_before_it_waits(
    tmp_path: Path, changes: int, page: int, sizes: list[int]
) -> None:
    """Each page opened a window of 60 s, because it was smaller than a batch of 10,000."""
    engine = FakeEngine(records=changes)
    engine.page = page
    stream = StreamPoller(_stream_source("record_invocation", 10_000, 60), engine.client, _positions(tmp_path))

    while stream.step():
        pass

    assert [len(event["Records"]) for event in invocations] == sizes
    engine.records += [_record(changes)]
    assert stream.step() is False
    assert len(invocations) == len(sizes)  # the window is open
    assert 59 < stream.seconds_to_wait() < 60


def test_a_function_gets_only_the_records_that_match_its_filter(tmp_path: Path) -> None:
    """The agents table has tools, too: the mapping of `fan_out_agents` drops them."""
    engine = FakeEngine(records=6)
    for number in (0, 1, 3, 5):
        engine.records[number]["dynamodb"]["Keys"]["item"]["S"] = "tool#1"
    failures_to_report.extend([[], ["4"]])
    stream = _stream(engine, tmp_path, "report_failures")

    assert [stream.step(), stream.step()] == [True, True]
    with pytest.raises(PartialFailure):
        stream.step()
    assert stream.step() is True

    assert [_numbers(event) for event in invocations] == [[2], [4], [4]]
    assert _stream(engine, tmp_path).step() is False
    assert len(invocations) == 3  # a new worker does not read the records without a match again


def test_an_unreadable_positions_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "positions.json").write_text('{"torn')

    _stream(FakeEngine(records=1), tmp_path).step()

    assert [_numbers(event) for event in invocations] == [[0]]


def test_processed_messages_are_deleted_and_failed_ones_kept() -> None:
    engine, failures = FakeEngine(messages=3), []
    queue = _queue(engine, failures=failures)
    failures_to_raise.append(errors.Unavailable())

    while queue.step():
        queue.finish(time.monotonic() + _SECONDS)
    queue.finish(time.monotonic() + _SECONDS)

    assert [_bodies(event) for event in invocations] == [["0", "1"], ["2"]]
    assert engine.deleted == ["r2"]
    assert [(name, type(error)) for name, error in failures] == [("deliver", errors.Unavailable)]


def test_a_batch_comes_again_from_the_first_record_that_its_function_reports(tmp_path: Path) -> None:
    stream = _stream(FakeEngine(records=4), tmp_path, "report_failures")
    numbers = [one["dynamodb"]["SequenceNumber"] for one in FakeEngine(records=4).records]
    failures_to_report.extend([[numbers[1]], ["unknown"], [numbers[1], numbers[2]]])

    for _ in range(3):
        with pytest.raises(PartialFailure):
            stream.step()
    while stream.step():
        pass

    assert [_numbers(event) for event in invocations] == [[0, 1], [1, 2], [1, 2], [1, 2], [3]]


def test_only_messages_that_a_function_does_not_report_are_deleted() -> None:
    engine, failures = FakeEngine(messages=6), []
    queue = _queue(engine, "report_failures", failures)
    failures_to_report.extend([["m1"], ["unknown"]])

    for _ in range(3):
        queue.step()
        queue.finish(time.monotonic() + _SECONDS)

    assert engine.deleted == ["r0", "r4", "r5"]
    assert [worker.describe(error) for _, error in failures] == ["a part of a batch failed."] * 2


def test_hanging_batches_run_concurrently_up_to_a_limit() -> None:
    engine = FakeEngine(messages=1000)
    queue = _queue(engine, "hang")

    while queue.step():
        pass

    wait_until(lambda: len(invocations) == 64)
    assert (len(invocations), len(engine.messages)) == (64, 1000 - 2 * 64)
    release.set()
    queue.finish(time.monotonic() + _SECONDS)
    assert queue.step() is True


def test_an_unreachable_engine_is_retried_and_reported_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_PAUSE_AFTER_FAILURE", 0.01)
    engine = FakeEngine(records=3, messages=3)
    engine.client_errors = [EndpointConnectionError(endpoint_url="http://127.0.0.1:9") for _ in range(20)]
    pollers: dict[str, worker.Poller] = {"fan_out_agents": _stream(engine, tmp_path), "deliver": _queue(engine)}

    def streamed() -> list[Any]:
        return [event for event in invocations if "dynamodb" in event["Records"][0]]

    with _running(pollers):
        # A message comes again if its deletion meets an error.
        wait_until(lambda: len(streamed()) == 2 and len(engine.deleted) == 3)

    records = streamed()
    assert [_numbers(event) for event in records] == [[0, 1], [2]]
    assert sorted(engine.deleted) == ["r0", "r1", "r2"]
    assert sorted(record.getMessage() for record in caplog.records) == [
        f'{name} failed and will be retried: Could not connect to the endpoint URL: "http://127.0.0.1:9"'
        for name in ("deliver", "fan_out_agents")
    ]


def test_a_hanging_stream_does_not_block_another(tmp_path: Path) -> None:
    hanging = StreamPoller(_stream_source("hang"), FakeEngine(records=2).client, _positions(tmp_path))
    other = _stream(FakeEngine(records=3), tmp_path)

    with _running({"hanging": hanging, "other": other}):
        wait_until(lambda: len(invocations) == 3)

    assert len(invocations) == 3


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(
            errors.Unavailable("The database does not answer."), "The database does not answer.", id="service"
        ),
        pytest.param(
            ClientError({"Error": {"Code": "ValidationException", "Message": _SECRET}}, "PutItem"),
            "PutItem failed with ValidationException.",
            id="engine",
        ),
        pytest.param(ValueError(_SECRET), "ValueError at test_local_worker.py:", id="other"),
    ],
)
def test_a_reported_failure_contains_no_values(
    error: Exception, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        raise error
    except Exception as caught:
        worker.report("deliver", caught)

    (record,) = caplog.records
    assert record.getMessage().startswith(f"deliver failed and will be retried: {message}")
    assert _SECRET not in logging.Formatter().format(record)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("ResourceNotFoundException", id="missing table"),
        pytest.param("ExpiredIteratorException", id="expired iterator"),
    ],
)
def test_a_transient_error_is_not_reported(code: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = FakeEngine(records=1)
    engine.client_errors = [ClientError({"Error": {"Code": code}}, "DescribeTable")] * 3

    with _running({"fan_out_agents": _stream(engine, tmp_path)}):
        wait_until(lambda: len(invocations) == 1)

    assert (len(invocations), caplog.records) == (1, [])


@whole
@pytest.mark.engine
def test_an_idle_worker_sends_no_requests_and_news_wake_it_at_once(tmp_path: Path) -> None:
    """Each of the 21 functions polled its stream or queue once a second, which took most of the CPU of an idle run."""
    sent: list[float] = []
    stopped = threading.Event()
    with running_engine(tmp_path) as engine:
        clients = {name: _counting_client(engine, name, sent) for name in ("dynamodb", "dynamodbstreams", "kms", "sqs")}
        tables.create_missing(clients.__getitem__, settings.table_prefix())
        watch = Watch(tmp_path / data_file.NAME)
        worker.start_pollers(clients.__getitem__, tmp_path, watch, stopped)
        wait_until(lambda: watch.look() or time.monotonic() - sent[-1] > 1)
        sent.clear()

        for _ in range(150):
            time.sleep(0.02)
            watch.look()
        assert len(sent) == 0

        item = {"partition": {"S": "unknown"}, "item": {"S": "unknown"}}
        clients["dynamodb"].put_item(TableName="cams-agents", Item=item)
        watch.look()
        wait_until(lambda: len(sent) > 2)
        assert len(sent) > 2
        stopped.set()


@pytest.mark.parametrize(
    ("source", "kind", "place", "matches"),
    [
        pytest.param("stream", "record", "cams-agents", True),
        pytest.param("stream", "record", "cams-events", False),
        pytest.param("stream", "item", "cams-agents", False),
        pytest.param("queue", "message", "cams-deliveries", True),
        pytest.param("queue", "message", "cams-deliveries-slow", False),
    ],
)
@first_case
def test_a_watch_detects_records_of_its_table_and_messages_of_its_queue(
    tmp_path: Path, source: str, kind: str, place: str, matches: bool
) -> None:
    poller = _stream(FakeEngine(), tmp_path) if source == "stream" else _queue(FakeEngine())
    file = DataFile(tmp_path / data_file.NAME)
    file.save([Row(kind, place, "1", "before")])
    watch = Watch(tmp_path / data_file.NAME)
    news = watch.subscribe(*poller.news)
    assert _is_news(watch, news) is False

    file.save([Row(kind, place, "1", None), Row(kind, place, "2", "after")])

    assert [_is_news(watch, news), _is_news(watch, news)] == [matches, False]


@pytest.mark.parametrize(("messages", "delayed", "seconds"), [(0, 0, 60), (0, 1, 1), (1, 0, 1)])
@first_case
def test_a_queue_is_polled_without_news_only_while_it_has_messages(messages: int, delayed: int, seconds: int) -> None:
    engine = FakeEngine()
    queue = _queue(engine)
    assert queue.step() is False
    engine.messages, engine.delayed = [_message(number) for number in range(messages)], delayed

    assert queue.seconds_to_wait() == seconds


def _stream(engine: FakeEngine, directory: Path, function: str = "record_invocation") -> StreamPoller:
    return StreamPoller(_stream_source(function), engine.client, _positions(directory))


def _positions(directory: Path) -> Positions:
    return Positions(directory / "positions.json", ["cams-agents/fan_out_agents"])


def _stream_source(function: str, batch_size: int = 2, window: int = 0) -> DynamoDBEventConfig:
    return DynamoDBEventConfig("fan_out_agents", f"{__name__}.{function}", "", batch_size, "TRIM_HORIZON", window)


def _queue(engine: FakeEngine, function: str = "record_invocation", failures: list[Any] | None = None) -> QueuePoller:
    source = SQSEventConfig("deliver", f"{__name__}.{function}", "cams-deliveries", None, 2, 0, None)
    return QueuePoller(source, engine.client, lambda *failure: None if failures is None else failures.append(failure))


def _counting_client(engine: Engine, service: str, sent: list[float]) -> Any:
    """A client that appends the time of each request to `sent`."""
    counting = boto3.session.Session(engine.access_key, engine.secret_key, region_name=REGION).client(
        service, endpoint_url=engine.url, config=Config(max_pool_connections=64)
    )
    counting.meta.events.register("before-send", lambda **_: sent.append(time.monotonic()))
    return counting


@contextmanager
def _running(pollers: dict[str, worker.Poller]) -> Iterator[None]:
    """Run the worker's thread for each poller until the end of the block."""
    stopped, news = threading.Event(), [threading.Event() for _ in pollers]
    threads = [
        threading.Thread(target=worker.poll_until_stopped, args=(name, poller, event, stopped), daemon=True)
        for (name, poller), event in zip(pollers.items(), news, strict=True)
    ]
    for thread in threads:
        thread.start()
    yield
    stopped.set()
    release.set()
    for thread, event in zip(threads, news, strict=True):
        event.set()
        thread.join(_SECONDS)
        assert not thread.is_alive()


def _is_news(watch: Watch, news: threading.Event) -> bool:
    watch.look()
    is_set = news.is_set()
    news.clear()
    return is_set


def _record(number: int) -> dict[str, Any]:
    names = ("eventID", "eventName", "eventVersion", "eventSource", "awsRegion")
    keys = {"item": {"S": "agent#support"}}
    return {**dict.fromkeys(names, "x"), "dynamodb": {"SequenceNumber": str(number), "Keys": keys}}


def _message(number: int) -> dict[str, Any]:
    return {"MessageId": f"m{number}", "ReceiptHandle": f"r{number}", "Body": str(number), "MD5OfBody": "5"}


def _numbers(event: dict[str, Any]) -> list[int]:
    return [int(record["dynamodb"]["SequenceNumber"]) for record in event["Records"]]


def _bodies(event: dict[str, Any]) -> list[str]:
    return [record["body"] for record in event["Records"]]
