"""The data file of a local run does not keep what was deleted: ids are keys, which are not encrypted."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.local.children import Engine
from infra.local.pollers import Positions
from tests.reliability.engine_fixture import client, kill, running_engine

pytestmark = pytest.mark.engine

TABLE = "cams-leads"
PERSON = "zara@example.test"
KEY = {"id": {"S": PERSON}}
READERS = ["fan_out_leads", "follow_leads"]
_SECONDS = 20


def create_table(running: Engine) -> None:
    client(running, "dynamodb").create_table(
        TableName=TABLE,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )


def put(running: Engine, name: str) -> None:
    client(running, "dynamodb").put_item(TableName=TABLE, Item={"id": {"S": name}})


def stream(running: Engine) -> list[dict[str, Any]]:
    """The records of the stream."""
    arn = client(running, "dynamodb").describe_table(TableName=TABLE)["Table"]["LatestStreamArn"]
    streams = client(running, "dynamodbstreams")
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    where = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    records: list[dict[str, Any]] = streams.get_records(
        ShardIterator=streams.get_shard_iterator(**where)["ShardIterator"]
    )["Records"]
    return records


def process(running: Engine, state: Path, readers: list[str]) -> None:
    """Save that these functions have processed the records of the stream."""
    last = stream(running)[-1]["dynamodb"]["SequenceNumber"]
    positions = Positions(state / "positions.json", [f"{TABLE}/{name}" for name in READERS])
    for name in readers:
        positions.advance(f"{TABLE}/{name}", last)


def kept(state: Path) -> bytes:
    """The content of all files of the state."""
    return b"".join(path.read_bytes() for path in state.iterdir())


def wait_until(holds: Callable[[], bool], seconds: float = _SECONDS) -> bool:
    end = time.monotonic() + seconds
    while not (done := holds()) and time.monotonic() < end:
        time.sleep(0.1)
    return done


def test_the_data_file_does_not_contain_the_id_of_a_deleted_item(tmp_path: Path) -> None:
    with running_engine(tmp_path, "--expire-every", "0.1") as running:
        create_table(running)
        put(running, PERSON)
        put(running, "bo")
        assert PERSON.encode() in kept(tmp_path)
        client(running, "dynamodb").delete_item(TableName=TABLE, Key=KEY)
        process(running, tmp_path, READERS)
        assert wait_until(lambda: PERSON.encode() not in kept(tmp_path))
        put(running, "cy")
        kill(running)
    with running_engine(tmp_path) as running:
        items = client(running, "dynamodb").scan(TableName=TABLE)["Items"]
        assert sorted(item["id"]["S"] for item in items) == ["bo", "cy"]
        assert [one["dynamodb"]["Keys"]["id"]["S"] for one in stream(running)] == ["cy"]
    assert PERSON.encode() not in kept(tmp_path)


def test_a_record_that_a_function_has_not_processed_stays(tmp_path: Path) -> None:
    with running_engine(tmp_path, "--expire-every", "0.1") as running:
        create_table(running)
        put(running, PERSON)
        client(running, "dynamodb").delete_item(TableName=TABLE, Key=KEY)
        process(running, tmp_path, READERS[1:])
        time.sleep(0.5)
    with running_engine(tmp_path, "--expire-every", "0.1") as running:
        time.sleep(0.5)
        assert [one["eventName"] for one in stream(running)] == ["INSERT", "REMOVE"]
        process(running, tmp_path, READERS)
        assert wait_until(lambda: stream(running) == [])


@pytest.mark.long
def test_the_data_file_does_not_contain_a_deletion_in_a_transaction(tmp_path: Path) -> None:
    """The emulator keeps the requests of transactions, the snapshot for a minute."""
    with running_engine(tmp_path, "--expire-every", "1") as running:
        create_table(running)
        put(running, PERSON)
        deletion = {"Delete": {"TableName": TABLE, "Key": KEY}}
        client(running, "dynamodb").transact_write_items(TransactItems=[deletion])
        process(running, tmp_path, READERS)
        assert wait_until(lambda: PERSON.encode() not in kept(tmp_path), 90)
