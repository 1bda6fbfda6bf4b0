"""The local run's worker invokes functions as Lambda does: with the same events, and at least once."""

from __future__ import annotations

import base64
import json
import time
from datetime import datetime, timezone
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from chalicelib import errors
from infra import lambda_events
from infra.local import worker
from infra.local.pollers import PartialFailure, StreamPoller
from tests.reliability.engine_fixture import wait_until
from tests.reliability.worker_doubles import (
    SECONDS,
    STREAM_ARN,
    FakeEngine,
    failures_to_raise,
    failures_to_report,
    invocations,
    message_bodies,
    new_message,
    new_positions,
    new_record,
    queue_poller,
    record_numbers,
    release,
    stream_poller,
    stream_source,
)
from tests.reliability.worker_doubles import no_invocations as no_invocations
from tests.selection import first_case


def test_a_stream_record_is_converted_to_the_lambda_event() -> None:
    change = {
        "ApproximateCreationDateTime": datetime(2026, 1, 1, tzinfo=timezone.utc),
        "Keys": {"id": {"S": "a"}},
        "OldImage": {"document": {"B": b"\x00\xff"}, "inner": {"L": [{"M": {"many": {"BS": [b"x"]}}}]}},
        "SequenceNumber": "3",
        "SizeBytes": 7,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    record = {
        "eventID": "1",
        "eventName": "REMOVE",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "userIdentity": {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"},
        "dynamodb": change,
    }
    image = {
        "document": {"B": base64.b64encode(b"\x00\xff").decode()},
        "inner": {"L": [{"M": {"many": {"BS": ["eA=="]}}}]},
    }
    converted = {
        **record,
        "eventSourceARN": STREAM_ARN,
        "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"},
        "dynamodb": {**change, "ApproximateCreationDateTime": 1767225600.0, "OldImage": image},
    }
    assert json.loads(json.dumps(lambda_events.from_records([record], STREAM_ARN))) == {"Records": [converted]}


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
    stream = stream_poller(FakeEngine(records=5), tmp_path)
    failures_to_raise.extend([errors.Unavailable(), errors.Unavailable()])

    for _ in range(2):
        with pytest.raises(errors.Unavailable):
            stream.step()
    while stream.step():
        pass

    assert [record_numbers(event) for event in invocations] == [[0, 1], [0, 1], [0, 1], [2, 3], [4]]


def test_a_new_worker_continues_after_the_last_processed_record(tmp_path: Path) -> None:
    engine = FakeEngine(records=3)
    stream = stream_poller(engine, tmp_path)
    assert stream.step() is True
    failures_to_raise.append(RuntimeError())
    with pytest.raises(RuntimeError):
        stream.step()

    stream_poller(engine, tmp_path).step()

    assert [record_numbers(event) for event in invocations] == [[0, 1], [2], [2]]


def test_a_stream_with_a_trimmed_position_is_read_from_its_start(tmp_path: Path) -> None:
    engine = FakeEngine(records=6)
    stream_poller(engine, tmp_path).step()
    engine.trimmed = 3

    stream_poller(engine, tmp_path).step()

    assert [record_numbers(event) for event in invocations] == [[0, 1], [3, 4]]


def test_an_expired_iterator_is_replaced(tmp_path: Path) -> None:
    """Check that an iterator is replaced if it expired, for example because the machine was asleep for 15 minutes."""
    engine = FakeEngine(records=4)
    stream = stream_poller(engine, tmp_path)
    stream.step()
    engine.expired = 2

    with pytest.raises(ClientError):
        stream.step()
    engine.expired = -1
    stream.step()

    assert [record_numbers(event) for event in invocations] == [[0, 1], [2, 3]]
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
    """Check that not every page opens a new window, although a page is smaller than a batch of 10,000 records."""
    engine = FakeEngine(records=changes)
    engine.page = page
    stream = StreamPoller(stream_source("record_invocation", 10_000, 60), engine.client, new_positions(tmp_path))

    while stream.step():
        pass

    assert [len(event["Records"]) for event in invocations] == sizes
    engine.records += [new_record(changes)]
    assert stream.step() is False
    assert len(invocations) == len(sizes)  # the window is open
    assert 59 < stream.seconds_to_wait() < 60


def test_a_function_gets_only_the_records_that_match_its_filter(tmp_path: Path) -> None:
    """Check the event filter of `fan_out_agents` on the agents table, which also contains tools."""
    engine = FakeEngine(records=6)
    for number in (0, 1, 3, 5):
        engine.records[number]["dynamodb"]["Keys"]["item"]["S"] = "tool#1"
    failures_to_report.extend([[], ["4"]])
    stream = stream_poller(engine, tmp_path, "report_failures")

    assert [stream.step(), stream.step()] == [True, True]
    with pytest.raises(PartialFailure):
        stream.step()
    assert stream.step() is True

    assert [record_numbers(event) for event in invocations] == [[2], [4], [4]]
    assert stream_poller(engine, tmp_path).step() is False
    assert len(invocations) == 3  # a new worker does not reread the filtered records


def test_an_unreadable_positions_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "positions.json").write_text('{"torn')

    stream_poller(FakeEngine(records=1), tmp_path).step()

    assert [record_numbers(event) for event in invocations] == [[0]]


def test_processed_messages_are_deleted_and_failed_ones_kept() -> None:
    engine, failures = FakeEngine(messages=3), []
    queue = queue_poller(engine, failures=failures)
    failures_to_raise.append(errors.Unavailable())

    while queue.step():
        queue.finish(time.monotonic() + SECONDS)
    queue.finish(time.monotonic() + SECONDS)

    assert [message_bodies(event) for event in invocations] == [["0", "1"], ["2"]]
    assert engine.deleted == ["r2"]
    assert [(name, type(error)) for name, error in failures] == [("deliver", errors.Unavailable)]


def test_a_batch_comes_again_from_the_first_record_that_its_function_reports(tmp_path: Path) -> None:
    stream = stream_poller(FakeEngine(records=4), tmp_path, "report_failures")
    numbers = [one["dynamodb"]["SequenceNumber"] for one in FakeEngine(records=4).records]
    failures_to_report.extend([[numbers[1]], ["unknown"], [numbers[1], numbers[2]]])

    for _ in range(3):
        with pytest.raises(PartialFailure):
            stream.step()
    while stream.step():
        pass

    assert [record_numbers(event) for event in invocations] == [[0, 1], [1, 2], [1, 2], [1, 2], [3]]


def test_only_messages_that_a_function_does_not_report_are_deleted() -> None:
    engine, failures = FakeEngine(messages=6), []
    queue = queue_poller(engine, "report_failures", failures)
    failures_to_report.extend([["m1"], ["unknown"]])

    for _ in range(3):
        queue.step()
        queue.finish(time.monotonic() + SECONDS)

    assert engine.deleted == ["r0", "r4", "r5"]
    assert [worker.describe(error) for _, error in failures] == ["part of a batch failed."] * 2


def test_hanging_batches_run_concurrently_up_to_a_limit() -> None:
    engine = FakeEngine(messages=1000)
    queue = queue_poller(engine, "hang")

    while queue.step():
        pass

    wait_until(lambda: len(invocations) == 64)
    assert (len(invocations), len(engine.messages)) == (64, 1000 - 2 * 64)
    release.set()
    queue.finish(time.monotonic() + SECONDS)
    assert queue.step() is True


@pytest.mark.parametrize(("messages", "delayed", "seconds"), [(0, 0, 60), (0, 1, 1), (1, 0, 1)])
@first_case
def test_a_queue_is_polled_without_news_only_while_it_has_messages(messages: int, delayed: int, seconds: int) -> None:
    engine = FakeEngine()
    queue = queue_poller(engine)
    assert queue.step() is False
    engine.messages, engine.delayed = [new_message(number) for number in range(messages)], delayed

    assert queue.seconds_to_wait() == seconds
