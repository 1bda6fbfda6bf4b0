"""The local engine keeps its contents across `kill -9`, and rejects data files that it cannot use.

The tests run the real engine on real sockets. The engine uses private names of one MiniStack version, so these tests
must pass before that version is upgraded.
"""

from __future__ import annotations

import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import HTTPClientError

from infra import tables
from infra.local import children, data_file
from infra.local.children import Engine, RunError
from tests.reliability.engine_fixture import (  # noqa: F401 - a fixture
    all_items,
    client,
    create_table,
    kill,
    local_engine,
    read_stream,
    running_engine,
    wait_until,
)
from tests.selection import first_case

pytestmark = pytest.mark.engine

TABLE = "things"
Story = Generator[None, Engine, None]


# ---- a restarted engine's contents ----------------------------------------------------------------

STORIES: list[Callable[[Engine], Story]] = []


def story(function: Callable[[Engine], Story]) -> Callable[[Engine], Story]:
    """Register a generator. At each `yield`, the engine is stopped and restarted; `yield` returns the new engine."""
    STORIES.append(function)
    return function


@pytest.mark.guarantee("kept")
@pytest.mark.parametrize("end", ["kill", "stop"])
@first_case
def test_an_engine_has_the_same_contents_after_its_end(end: str, tmp_path: Path) -> None:
    with running_engine(tmp_path) as engine:
        running = [begin(engine) for begin in STORIES]
        for story in running:
            next(story)
        if end == "kill":
            kill(engine)
    while running:
        with running_engine(tmp_path) as engine:
            running = [story for story in running if _continues(story, engine)]
            if end == "kill":
                kill(engine)


def _continues(waiting: Story, engine: Engine) -> bool:
    try:
        waiting.send(engine)
    except StopIteration:
        return False
    return True


@story
def a_table_keeps_its_items_and_stream(engine: Engine) -> Story:
    create_table(engine, TABLE)
    for number in range(20):
        _put(engine, f"large-{number % 10}", "x" * 60_000)
    table = client(engine, "dynamodb").describe_table(TableName=TABLE)["Table"]
    items, records = all_items(engine, TABLE), read_stream(engine, TABLE)
    engine = yield
    assert client(engine, "dynamodb").describe_table(TableName=TABLE)["Table"] == table
    assert (all_items(engine, TABLE), read_stream(engine, TABLE)) == (items, records)
    _put(engine, "next")
    stream = read_stream(engine, TABLE)
    assert stream[:-1] == records
    engine = yield
    assert read_stream(engine, TABLE) == stream


@story
def an_encryption_key_unwraps_what_it_wrapped(engine: Engine) -> Story:
    kms, context = client(engine, "kms"), {"for": "test"}
    key = kms.create_key()["KeyMetadata"]
    kms.create_alias(AliasName="alias/data", TargetKeyId=key["KeyId"])
    wrapped = kms.generate_data_key(KeyId="alias/data", KeySpec="AES_256", EncryptionContext=context)
    engine = yield
    kms = client(engine, "kms")
    assert kms.describe_key(KeyId=key["KeyId"])["KeyMetadata"] == key
    unwrapped = kms.decrypt(CiphertextBlob=wrapped["CiphertextBlob"], EncryptionContext=context)
    assert (unwrapped["KeyId"], unwrapped["Plaintext"]) == (wrapped["KeyId"], wrapped["Plaintext"])


@story
def a_signing_key_verifies_what_it_signed(engine: Engine) -> Story:
    how = {"MessageType": "RAW", "SigningAlgorithm": "ECDSA_SHA_256", "Message": b"receipt"}
    kms = client(engine, "kms")
    key_id = kms.create_key(KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["KeyId"]
    signature = kms.sign(KeyId=key_id, **how)["Signature"]
    public = kms.get_public_key(KeyId=key_id)["PublicKey"]
    for _ in range(2):  # the second restart loads data that the first restart has already loaded
        engine = yield
        kms = client(engine, "kms")
        assert kms.get_public_key(KeyId=key_id)["PublicKey"] == public
        assert kms.verify(KeyId=key_id, Signature=signature, **how)["SignatureValid"]


@story
def messages_stay_until_they_are_deleted(engine: Engine) -> Story:
    """After a restart, a message in flight is visible at once, because the receiver was killed too."""
    sqs = client(engine, "sqs")
    url = sqs.create_queue(QueueName="deliveries", Attributes={"VisibilityTimeout": "360"})["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="done")
    sqs.delete_message(QueueUrl=url, ReceiptHandle=_receive(sqs, url)[0]["ReceiptHandle"])
    entries = [{"Id": str(number), "MessageBody": f"batch-{number}"} for number in range(3)]
    sent = sqs.send_message_batch(QueueUrl=url, Entries=entries)["Successful"]
    receipts = [one["ReceiptHandle"] for one in _receive(sqs, url)]
    entries = [{"Id": str(number), "ReceiptHandle": receipts[number]} for number in (0, 1)]
    sqs.delete_message_batch(QueueUrl=url, Entries=entries)
    sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=600)
    engine = yield
    sqs = client(engine, "sqs")
    url = sqs.get_queue_url(QueueName="deliveries")["QueueUrl"]
    assert url.startswith(engine.url)
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
    assert found == {"VisibilityTimeout": "360"}
    (message,) = _receive(sqs, url)
    assert (message["Body"], message["MessageId"]) == ("batch-2", sent[2]["MessageId"])
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    engine = yield
    sqs = client(engine, "sqs")
    url = sqs.get_queue_url(QueueName="deliveries")["QueueUrl"]
    assert _receive(sqs, url) == []
    counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesDelayed"])
    assert counts["Attributes"] == {"ApproximateNumberOfMessagesDelayed": "1"}


@story
def a_failed_message_stays_in_the_dead_letter_queue(engine: Engine) -> Story:
    sqs = client(engine, "sqs")
    sqs.create_queue(QueueName="dead")
    policy = '{"maxReceiveCount": "1", "deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead"}'
    attributes = {"VisibilityTimeout": "0", "RedrivePolicy": policy}
    url = sqs.create_queue(QueueName="alive", Attributes=attributes)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="failing")
    assert [len(_receive(sqs, url)) for _ in range(2)] == [1, 0]
    sqs.send_message(QueueUrl=url, MessageBody="next")
    engine = yield
    sqs = client(engine, "sqs")
    urls = [sqs.get_queue_url(QueueName=name)["QueueUrl"] for name in ("alive", "dead")]
    assert [[one["Body"] for one in _receive(sqs, url)] for url in urls] == [["next"], ["failing"]]


@story
def a_deleted_table_or_queue_has_no_content_when_it_is_created_again(engine: Engine) -> Story:
    create_table(engine, "deleted")
    client(engine, "dynamodb").put_item(TableName="deleted", Item={"id": {"S": "old"}})
    client(engine, "dynamodb").delete_table(TableName="deleted")
    url = client(engine, "sqs").create_queue(QueueName="deleted")["QueueUrl"]
    client(engine, "sqs").send_message(QueueUrl=url, MessageBody="old")
    client(engine, "sqs").delete_queue(QueueUrl=url)
    engine = yield
    create_table(engine, "deleted")
    url = client(engine, "sqs").create_queue(QueueName="deleted")["QueueUrl"]
    engine = yield
    assert (all_items(engine, "deleted"), read_stream(engine, "deleted")) == ([], [])
    url = client(engine, "sqs").get_queue_url(QueueName="deleted")["QueueUrl"]
    assert _receive(client(engine, "sqs"), url) == []


@story
def an_index_that_is_added_to_a_table_has_its_items(engine: Engine) -> Story:
    """Add an index to a table, as a new version does to an older local run's tables."""
    keys = [{"AttributeName": "request", "KeyType": "HASH"}, {"AttributeName": "part", "KeyType": "RANGE"}]
    definitions = [{"AttributeName": one["AttributeName"], "AttributeType": "S"} for one in keys]
    older = {"TableName": "cams-idempotency", "KeySchema": keys, "AttributeDefinitions": definitions}
    item = {"request": {"S": "w#0a"}, "part": {"S": "answer"}, "shard": {"S": "w#0"}, "body": {"B": b"1"}}
    client(engine, "dynamodb").create_table(**older, BillingMode="PAY_PER_REQUEST")
    client(engine, "dynamodb").put_item(TableName="cams-idempotency", Item=item)
    tables.create_missing(partial(client, engine))
    engine = yield
    (indexed,) = client(engine, "dynamodb").query(
        TableName="cams-idempotency",
        IndexName="by_workspace",
        KeyConditionExpression="#shard = :shard",
        ExpressionAttributeNames={"#shard": "shard"},
        ExpressionAttributeValues={":shard": {"S": "w#0"}},
    )["Items"]
    assert indexed == {name: value for name, value in item.items() if name != "body"}


def test_a_ttl_deletion_is_permanent_and_has_a_stream_record(tmp_path: Path) -> None:
    with running_engine(tmp_path, "--expire-every", "0.1") as engine:
        create_table(engine, TABLE)
        dynamodb = client(engine, "dynamodb")
        dynamodb.update_time_to_live(TableName=TABLE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
        old = {"id": {"S": "a"}, "ttl": {"N": str(int(time.time()) - 1)}}
        new = {"id": {"S": "a"}, "ttl": {"N": str(int(time.time()) + 3600)}}
        dynamodb.put_item(TableName=TABLE, Item=old)
        assert wait_until(lambda: not all_items(engine, TABLE))
        dynamodb.put_item(TableName=TABLE, Item=new, ConditionExpression="attribute_not_exists(id)")
        kill(engine)

    with running_engine(tmp_path) as engine:
        events = [(record["eventName"], record.get("userIdentity")) for record in read_stream(engine, TABLE)]
        assert all_items(engine, TABLE) == [new]
    service = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    assert events == [("INSERT", None), ("REMOVE", service), ("INSERT", None)]


# ---- data files that an engine cannot use ---------------------------------------------------------


def test_a_damaged_data_file_is_rejected_in_one_sentence(tmp_path: Path) -> None:
    with running_engine(tmp_path) as engine:
        create_table(engine, TABLE)
        _put(engine, "one")
    path = tmp_path / data_file.NAME
    path.write_bytes(path.read_bytes().replace(b"engine", b"enigne").replace(b"\x8c", b"\x00"))

    with pytest.raises(RunError, match=r"engine\.sqlite is corrupt: move it away to start with empty tables\.$"):
        children.start_engine(tmp_path)


def test_a_data_file_of_another_version_is_rejected_in_one_sentence(tmp_path: Path) -> None:
    file = data_file.DataFile(tmp_path / data_file.NAME)
    file.save([data_file.Row("version", "", "", "9.9")])
    file.close()

    with pytest.raises(RunError, match="The data file is from another version of MiniStack: move it away"):
        children.start_engine(tmp_path)


def test_a_data_file_that_contains_code_is_rejected(tmp_path: Path) -> None:
    file = data_file.DataFile(tmp_path / data_file.NAME)
    file.save([data_file.Row("item", "", "", threading.Event)])

    with pytest.raises(data_file.DataFileError):
        file.values()


def test_a_second_engine_is_rejected_and_the_first_ends_if_it_cannot_save_a_change(tmp_path: Path) -> None:
    with running_engine(tmp_path) as engine:
        create_table(engine, TABLE)
        second = _run_engine(f"""
import sys, infra.local.engine as engine
engine._SECONDS_FOR_PREDECESSOR = 0.2
sys.argv = ["engine", "--state", {str(tmp_path)!r}]
engine.main()
""")
        assert second.stderr.strip() == f"Another engine uses {tmp_path}."
        with sqlite3.connect(tmp_path / data_file.NAME) as connection:
            connection.execute("DROP TABLE rows")
        with pytest.raises(HTTPClientError):
            _put(engine, "one")
        engine.process.wait()
        assert engine.exit_reason().startswith("The engine stops: it cannot write to its data file")


def test_another_version_of_the_emulator_is_rejected_in_one_sentence() -> None:
    answer = _run_engine("from infra.local import emulator; emulator.VERSION = '9.9'; print(emulator.wrong_version())")
    assert answer.stdout.strip() == "The local engine needs MiniStack 9.9, but 1.5.33 is installed."


# ---- queues ---------------------------------------------------------------------------------------


def test_a_long_poll_does_not_block_other_requests(local_engine: Engine) -> None:  # noqa: F811
    sqs = client(local_engine, "sqs")
    url = sqs.create_queue(QueueName="polled")["QueueUrl"]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_receive, sqs, url, 5)
        sqs.send_message(QueueUrl=url, MessageBody="here")
        assert [one["Body"] for one in waiting.result()] == ["here"]


def test_groups_of_messages_take_turns(local_engine: Engine) -> None:  # noqa: F811
    sqs = client(local_engine, "sqs")
    url = sqs.create_queue(QueueName="fair")["QueueUrl"]
    for group, count in (("noisy", 20), ("quiet", 1)):
        for number in range(count):
            sqs.send_message(QueueUrl=url, MessageBody=f"{group} {number}", MessageGroupId=group)
    received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=2)["Messages"]
    assert [one["Body"] for one in received] == ["noisy 0", "quiet 0"]


def _run_engine(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in the engine's Python environment."""
    command = [str(children.ENGINE_PYTHON), "-c", code]
    return subprocess.run(command, cwd=children.ROOT, capture_output=True, text=True, check=False, timeout=20)


def _put(engine: Engine, key: str, value: str = "v") -> None:
    client(engine, "dynamodb").put_item(TableName=TABLE, Item={"id": {"S": key}, "v": {"S": value}})


def _receive(sqs: Any, url: str, seconds: int = 0) -> list[dict[str, str]]:
    found: list[dict[str, str]] = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=seconds
    ).get("Messages", [])
    return found
