"""The data file of a local run does not keep what was deleted: ids are keys, which are not encrypted."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.deploy.functions import declared_functions
from infra.local import journal
from infra.local.children import Engine
from tests.reliability.engine_fixture import client, kill, running_engine

pytestmark = pytest.mark.engine

TABLE = "cams-leads"
PERSON = "zara@example.test"
KEY = {"id": {"S": PERSON}}
READERS = [one.name for one in declared_functions() if one.stream == "leads"]
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


def stream(running: Engine) -> tuple[str, list[dict[str, Any]]]:
    """The place of the stream in the worker's positions, and its records."""
    arn = client(running, "dynamodb").describe_table(TableName=TABLE)["Table"]["LatestStreamArn"]
    streams = client(running, "dynamodbstreams")
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    where = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    records = streams.get_records(ShardIterator=streams.get_shard_iterator(**where)["ShardIterator"])["Records"]
    return f"{arn}/{shard['ShardId']}", records


def process(running: Engine, state: Path, readers: list[str]) -> None:
    """Save that these functions have processed the records of the stream, as the worker does."""
    place, records = stream(running)
    last = records[-1]["dynamodb"]["SequenceNumber"]
    text = json.dumps({f"{name}/{place}": last for name in readers})
    (state / "positions.json").write_text(text, encoding="utf-8")


def kept(state: Path) -> bytes:
    """The content of all files of the state, with the snapshot decoded."""
    content = b"".join(path.read_bytes() for path in state.iterdir() if path.name != "engine.journal")
    for record, _ in journal.read_records(state / "engine.journal"):
        content += base64.b64decode(record.pop("state", "")) + json.dumps(record).encode()
    return content


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
        assert [one["dynamodb"]["Keys"]["id"]["S"] for one in stream(running)[1]] == ["cy"]
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
        assert [one["eventName"] for one in stream(running)[1]] == ["INSERT", "REMOVE"]
        process(running, tmp_path, READERS)
        assert wait_until(lambda: stream(running)[1] == [])


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
