"""The local run's worker runs one thread per function, reports failures, and sleeps until there is work."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, EndpointConnectionError
from chalice.app import DynamoDBEventConfig, SQSEventConfig

from chalicelib import errors, settings
from infra import tables
from infra.local import data_file, worker
from infra.local.children import REGION, Engine
from infra.local.data_file import DataFile, Row, Watch
from infra.local.pollers import StreamPoller
from tests.reliability.engine_fixture import running_engine, wait_until
from tests.reliability.worker_doubles import (
    SECONDS,
    FakeEngine,
    invocations,
    new_positions,
    queue_poller,
    record_numbers,
    release,
    stream_poller,
    stream_source,
)
from tests.reliability.worker_doubles import no_invocations as no_invocations
from tests.selection import first_case, whole

_SECRET = "cams_workspace_0123"


def test_the_worker_invokes_the_functions_that_the_app_registers() -> None:
    sources = {source.name: source for source in worker.app.event_sources}

    assert {name for name in sources if name.startswith("fan_out_")} == {
        f"fan_out_{table}" for table in ("agents", "conversations", "clients", "organisations", "leads")
    }
    assert {"deliver", "deliver_slow", "maintain"} <= set(sources)
    assert {type(source) for source in sources.values()} == {DynamoDBEventConfig, SQSEventConfig}


def test_an_unreachable_engine_is_retried_and_reported_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_PAUSE_AFTER_FAILURE", 0.01)
    engine = FakeEngine(records=3, messages=3)
    engine.client_errors = [EndpointConnectionError(endpoint_url="http://127.0.0.1:9") for _ in range(20)]
    pollers: dict[str, worker.Poller] = {
        "fan_out_agents": stream_poller(engine, tmp_path),
        "deliver": queue_poller(engine),
    }

    def streamed() -> list[Any]:
        return [event for event in invocations if "dynamodb" in event["Records"][0]]

    with _running(pollers):
        # A message is delivered again if its deletion fails.
        wait_until(lambda: len(streamed()) == 2 and len(engine.deleted) == 3)

    records = streamed()
    assert [record_numbers(event) for event in records] == [[0, 1], [2]]
    assert sorted(engine.deleted) == ["r0", "r1", "r2"]
    assert sorted(record.getMessage() for record in caplog.records) == [
        f'{name} failed and will be retried: Could not connect to the endpoint URL: "http://127.0.0.1:9"'
        for name in ("deliver", "fan_out_agents")
    ]


def test_a_hanging_stream_does_not_block_another(tmp_path: Path) -> None:
    hanging = StreamPoller(stream_source("hang"), FakeEngine(records=2).client, new_positions(tmp_path))
    other = stream_poller(FakeEngine(records=3), tmp_path)

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

    with _running({"fan_out_agents": stream_poller(engine, tmp_path)}):
        wait_until(lambda: len(invocations) == 1)

    assert (len(invocations), caplog.records) == (1, [])


@whole
@pytest.mark.engine
def test_an_idle_worker_sends_no_requests_and_news_wake_it_at_once(tmp_path: Path) -> None:
    """Reject polling, because polling every stream and queue each second uses most of an idle run's CPU time."""
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
    poller = stream_poller(FakeEngine(), tmp_path) if source == "stream" else queue_poller(FakeEngine())
    file = DataFile(tmp_path / data_file.NAME)
    file.save([Row(kind, place, "1", "before")])
    watch = Watch(tmp_path / data_file.NAME)
    news = watch.subscribe(*poller.news)
    assert _is_news(watch, news) is False

    file.save([Row(kind, place, "1", None), Row(kind, place, "2", "after")])

    assert [_is_news(watch, news), _is_news(watch, news)] == [matches, False]


def _counting_client(engine: Engine, service: str, sent: list[float]) -> Any:
    """Return an SDK client that appends the time of each request to `sent`."""
    counting = boto3.session.Session(engine.access_key, engine.secret_key, region_name=REGION).client(
        service, endpoint_url=engine.url, config=Config(max_pool_connections=64)
    )
    counting.meta.events.register("before-send", lambda **_: sent.append(time.monotonic()))
    return counting


@contextmanager
def _running(pollers: dict[str, worker.Poller]) -> Iterator[None]:
    """Run the worker's threads, one per poller, inside the block."""
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
        thread.join(SECONDS)
        assert not thread.is_alive()


def _is_news(watch: Watch, news: threading.Event) -> bool:
    watch.look()
    is_set = news.is_set()
    news.clear()
    return is_set
