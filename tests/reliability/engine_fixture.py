"""Fixtures and helpers that run the local engine: one shared engine, or separate engines for tests that kill them.

Tests create the tables that they need, or all tables in `infra.tables`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from infra.local import children
from infra.local.children import Engine

# Disable retries, because a test counts a write as acknowledged only if the first attempt succeeded.
_PLAIN = Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=10, max_pool_connections=16)


@pytest.fixture(scope="session")
def local_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Run an engine for all tests of a worker, until the end of the session."""
    with running_engine(tmp_path_factory.mktemp("engine")) as running:
        yield running


@contextmanager
def running_engine(state: Path, *options: str) -> Iterator[Engine]:
    """Run an engine that stores its data in this directory. The block may kill the engine."""
    running = children.start_engine(state, 0, *options)
    try:
        yield running
    finally:
        children.stop([running])


def kill(running: Engine) -> None:
    """Kill an engine as `kill -9` does: no handler runs, and nothing is flushed."""
    running.process.kill()
    running.process.wait()


def client(running: Engine, service: str) -> Any:
    """Return an SDK client for the engine, independent of the tests' environment."""
    return _client(running.url, running.access_key, running.secret_key, service)


@lru_cache
def _client(url: str, access_key: str, secret_key: str, service: str) -> Any:
    return _session().client(
        service, endpoint_url=url, config=_PLAIN, aws_access_key_id=access_key, aws_secret_access_key=secret_key
    )


@lru_cache
def _session() -> boto3.session.Session:
    # All clients share a session, which caches the service descriptions, because they are slow to load.
    return boto3.session.Session(region_name=children.REGION)


def create_table(running: Engine, name: str) -> None:
    """Create a table with the key `id` and a stream if the table does not exist."""
    dynamodb = client(running, "dynamodb")
    if name in dynamodb.list_tables()["TableNames"]:
        return
    dynamodb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )


def all_items(running: Engine, table: str) -> list[Any]:
    """Return a table's items."""
    pages = client(running, "dynamodb").get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return [item for page in pages for item in page["Items"]]


def read_stream(running: Engine, table: str) -> list[Any]:
    """Return the records in a table's stream."""
    return [record for page in stream_pages(client(running, "dynamodbstreams"), table) for record in page]


def stream_pages(streams: Any, table: str) -> Iterator[list[Any]]:
    """Yield the records in a table's stream, in pages."""
    arn = streams.list_streams(TableName=table)["Streams"][0]["StreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = streams.get_shard_iterator(**place)["ShardIterator"]
    while (answer := streams.get_records(ShardIterator=iterator))["Records"]:
        yield answer["Records"]
        iterator = answer["NextShardIterator"]


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> bool:
    """Wait at most this number of seconds until a condition holds. Return whether it holds."""
    deadline = time.monotonic() + seconds
    while not (is_done := holds()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_done
