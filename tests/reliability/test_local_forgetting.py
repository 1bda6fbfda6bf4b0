"""A local run erases deleted ids from its data file, because ids are parts of keys, which are not encrypted."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from infra.local.children import Engine
from infra.local.pollers import Positions
from tests.reliability.engine_fixture import client, create_table, kill, read_stream, running_engine, wait_until

pytestmark = pytest.mark.engine

TABLE = "cams-leads"
PERSON = "zara@example.test"
KEY = {"id": {"S": PERSON}}
READERS = ["fan_out_leads", "follow_leads"]


def put(running: Engine, name: str) -> None:
    client(running, "dynamodb").put_item(TableName=TABLE, Item={"id": {"S": name}})


def process(running: Engine, state: Path, readers: list[str]) -> None:
    """Store that these functions have processed the stream's records."""
    last = read_stream(running, TABLE)[-1]["dynamodb"]["SequenceNumber"]
    positions = Positions(state / "positions.json", [f"{TABLE}/{name}" for name in READERS])
    for name in readers:
        positions.advance(f"{TABLE}/{name}", last)


def has_no_records(running: Engine) -> bool:
    """Return whether the stream is empty. The engine may drop records while the test reads them."""
    try:
        return read_stream(running, TABLE) == []
    except ClientError as error:
        if error.response["Error"]["Code"] != "TrimmedDataAccessException":
            raise
        return False


def kept(state: Path) -> bytes:
    """Return the contents of all files in the state directory."""
    return b"".join(path.read_bytes() for path in state.iterdir())


def test_the_data_file_does_not_contain_the_id_of_a_deleted_item(tmp_path: Path) -> None:
    with running_engine(tmp_path, "--expire-every", "0.1") as running:
        create_table(running, TABLE)
        put(running, PERSON)
        put(running, "bo")
        assert PERSON.encode() in kept(tmp_path)
        deletion = {"Delete": {"TableName": TABLE, "Key": KEY}}
        client(running, "dynamodb").transact_write_items(TransactItems=[deletion])
        process(running, tmp_path, READERS)
        assert wait_until(lambda: PERSON.encode() not in kept(tmp_path))
        put(running, "cy")
        kill(running)
    with running_engine(tmp_path) as running:
        items = client(running, "dynamodb").scan(TableName=TABLE)["Items"]
        assert sorted(item["id"]["S"] for item in items) == ["bo", "cy"]
        assert [one["dynamodb"]["Keys"]["id"]["S"] for one in read_stream(running, TABLE)] == ["cy"]
    assert PERSON.encode() not in kept(tmp_path)


def test_a_record_that_a_function_has_not_processed_stays(tmp_path: Path) -> None:
    with running_engine(tmp_path, "--expire-every", "0.1") as running:
        create_table(running, TABLE)
        put(running, PERSON)
        client(running, "dynamodb").delete_item(TableName=TABLE, Key=KEY)
        process(running, tmp_path, READERS[1:])
        time.sleep(0.5)
    with running_engine(tmp_path, "--expire-every", "0.1") as running:
        time.sleep(0.5)
        assert [one["eventName"] for one in read_stream(running, TABLE)] == ["INSERT", "REMOVE"]
        process(running, tmp_path, READERS)
        assert wait_until(lambda: has_no_records(running))
