"""The local engine loses no acknowledged write, even after `kill -9`.

The tests run the real engine on real sockets. The engine depends on private names of one MiniStack version, so these
tests must pass before that version changes.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import HTTPClientError

from infra import tables
from infra.local import children, data_file
from infra.local.children import Engine, RunError
from tests.guarantees import CaseCounter
from tests.reliability.engine_fixture import (
    client,
    create_table,
    kill,
    read_stream,
    running_engine,
    stream_pages,
    wait_until,
)
from tests.selection import first_case, whole

pytestmark = pytest.mark.engine
kept = pytest.mark.guarantee("kept")

TABLE = "things"
_SECONDS_OF_LOAD = 1.0
_KILLS = 3

Item = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """The acknowledged writes of an engine that was killed several times under load, and its final state."""
    return _kill_under_load(tmp_path_factory.mktemp("killed"), _KILLS)


@whole
@kept
def test_killing_the_engine_under_load_loses_no_acknowledged_write(killed: Killed, count_cases: CaseCounter) -> None:
    _assert_no_write_is_lost(killed)
    count_cases(faults=_KILLS, states=len(killed.load.written))


@whole
@kept
def test_killing_the_engine_under_load_keeps_ids_and_order_of_stream_records(
    killed: Killed, count_cases: CaseCounter
) -> None:
    _assert_the_stream_is_complete(killed)
    count_cases(states=len(killed.records))


@whole
def test_an_index_that_is_added_to_a_table_has_its_items_and_survives_a_restart(tmp_path: Path) -> None:
    """The tables of a local run that an earlier version began."""
    keys = [{"AttributeName": "request", "KeyType": "HASH"}, {"AttributeName": "part", "KeyType": "RANGE"}]
    definitions = [{"AttributeName": one["AttributeName"], "AttributeType": "S"} for one in keys]
    older = {"TableName": "cams-idempotency", "KeySchema": keys, "AttributeDefinitions": definitions}
    item = {"request": {"S": "w#0a"}, "part": {"S": "answer"}, "shard": {"S": "w#0"}, "body": {"B": b"1"}}
    with running_engine(tmp_path) as running:
        client(running, "dynamodb").create_table(**older, BillingMode="PAY_PER_REQUEST")
        client(running, "dynamodb").put_item(TableName="cams-idempotency", Item=item)
        tables.create_missing(partial(client, running))
        kill(running)
    query = {
        "KeyConditionExpression": "#shard = :shard",
        "ExpressionAttributeNames": {"#shard": "shard"},
        "ExpressionAttributeValues": {":shard": {"S": "w#0"}},
    }
    with running_engine(tmp_path) as running:
        table = {"TableName": "cams-idempotency", "IndexName": "by_workspace"}
        (found,) = client(running, "dynamodb").query(**table, **query)["Items"]
    assert found == {name: value for name, value in item.items() if name != "body"}


@kept
@pytest.mark.long
def test_twenty_kills_lose_nothing(tmp_path: Path, count_cases: CaseCounter) -> None:
    killed = _kill_under_load(tmp_path, 20)

    _assert_no_write_is_lost(killed)
    _assert_the_stream_is_complete(killed)
    count_cases(faults=20, states=len(killed.load.written) + len(killed.records))


def test_a_damaged_data_file_is_rejected_in_one_sentence(tmp_path: Path) -> None:
    with running_engine(tmp_path) as running:
        create_table(running, TABLE)
        _put(running, "one")
    path = tmp_path / data_file.NAME
    path.write_bytes(path.read_bytes().replace(b"engine", b"enigne").replace(b"\x8c", b"\x00"))

    with pytest.raises(RunError, match=r"engine\.sqlite is damaged: move it away to start with empty tables\.$"):
        children.start_engine(tmp_path)


def test_a_data_file_of_another_version_is_rejected_in_one_sentence(tmp_path: Path) -> None:
    file = data_file.DataFile(tmp_path / data_file.NAME)
    file.save([data_file.Row("version", "", "", "9.9")])
    file.close()

    with pytest.raises(RunError, match=r"Another version of MiniStack wrote the data file: move it away"):
        children.start_engine(tmp_path)


def test_a_data_file_that_contains_code_is_rejected(tmp_path: Path) -> None:
    file = data_file.DataFile(tmp_path / data_file.NAME)
    file.save([data_file.Row("item", "", "", threading.Event)])

    with pytest.raises(data_file.DataFileError):
        file.values()


def test_an_engine_that_cannot_save_a_change_ends(tmp_path: Path) -> None:
    with running_engine(tmp_path) as running:
        create_table(running, TABLE)
        with sqlite3.connect(tmp_path / data_file.NAME) as connection:
            connection.execute("DROP TABLE rows")
        with pytest.raises(HTTPClientError):
            _put(running, "one")
        running.process.wait()
        assert running.exit_reason().startswith("The engine stops: it cannot write to its data file")


@kept
def test_a_data_key_wrapped_before_a_kill_can_be_unwrapped_after_it(tmp_path: Path) -> None:
    with running_engine(tmp_path) as running:
        kms = client(running, "kms")
        kms.create_alias(AliasName="alias/data", TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
        data_key = kms.generate_data_key(KeyId="alias/data", KeySpec="AES_256", EncryptionContext={"for": "test"})
        kill(running)

    with running_engine(tmp_path) as running:
        unwrapped = client(running, "kms").decrypt(
            CiphertextBlob=data_key["CiphertextBlob"], EncryptionContext={"for": "test"}
        )
    assert (unwrapped["KeyId"], unwrapped["Plaintext"]) == (data_key["KeyId"], data_key["Plaintext"])


@kept
@pytest.mark.parametrize("end", ["stop", "kill"])
@first_case
def test_what_was_signed_before_an_end_can_be_verified_after_it(tmp_path: Path, end: str) -> None:
    how = {"MessageType": "RAW", "SigningAlgorithm": "ECDSA_SHA_256", "Message": b"receipt"}
    with running_engine(tmp_path) as running:
        kms = client(running, "kms")
        key_id = kms.create_key(KeySpec="ECC_NIST_P256", KeyUsage="SIGN_VERIFY")["KeyMetadata"]["KeyId"]
        signature = kms.sign(KeyId=key_id, **how)["Signature"]
        public = kms.get_public_key(KeyId=key_id)["PublicKey"]
        if end == "kill":
            kill(running)

    for _ in range(2):  # the second start loads what the first has loaded
        with running_engine(tmp_path) as running:
            kms = client(running, "kms")
            assert kms.get_public_key(KeyId=key_id)["PublicKey"] == public
            assert kms.verify(KeyId=key_id, Signature=signature, **how)["SignatureValid"]


@kept
def test_a_queue_keeps_its_attributes_after_a_kill(tmp_path: Path) -> None:
    with running_engine(tmp_path) as running:
        client(running, "sqs").create_queue(QueueName="deliveries", Attributes={"VisibilityTimeout": "360"})
        kill(running)

    with running_engine(tmp_path) as running:
        sqs = client(running, "sqs")
        url = sqs.get_queue_url(QueueName="deliveries")["QueueUrl"]
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
    assert url.startswith(running.url)
    assert found == {"VisibilityTimeout": "360"}


@kept
def test_messages_survive_a_kill_until_they_are_deleted(tmp_path: Path) -> None:
    """A received message is visible at once, because its receiver was killed, too."""
    with running_engine(tmp_path) as running:
        sqs = client(running, "sqs")
        url = sqs.create_queue(QueueName="deliveries", Attributes={"VisibilityTimeout": "360"})["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="done")
        sqs.delete_message(QueueUrl=url, ReceiptHandle=_receive(sqs, url)[0]["ReceiptHandle"])
        entries = [{"Id": str(number), "MessageBody": f"batch-{number}"} for number in range(3)]
        sent = sqs.send_message_batch(QueueUrl=url, Entries=entries)["Successful"]
        receipts = [one["ReceiptHandle"] for one in _receive(sqs, url)]
        entries = [{"Id": str(number), "ReceiptHandle": receipts[number]} for number in (0, 1)]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)
        sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=600)
        kill(running)

    with running_engine(tmp_path) as running:
        sqs = client(running, "sqs")
        url = sqs.get_queue_url(QueueName="deliveries")["QueueUrl"]
        found = _receive(sqs, url)
        assert [(one["Body"], one["MessageId"]) for one in found] == [("batch-2", sent[2]["MessageId"])]
        sqs.delete_message(QueueUrl=url, ReceiptHandle=found[0]["ReceiptHandle"])
        kill(running)

    with running_engine(tmp_path) as running:
        sqs = client(running, "sqs")
        url = sqs.get_queue_url(QueueName="deliveries")["QueueUrl"]
        assert _receive(sqs, url) == []
        counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesDelayed"])
        assert counts["Attributes"] == {"ApproximateNumberOfMessagesDelayed": "1"}


def test_a_long_poll_does_not_block_other_requests(tmp_path: Path) -> None:
    with running_engine(tmp_path) as running:
        sqs = client(running, "sqs")
        url = sqs.create_queue(QueueName="deliveries")["QueueUrl"]
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(_receive, sqs, url, 5)
            sqs.send_message(QueueUrl=url, MessageBody="here")
            assert [one["Body"] for one in waiting.result()] == ["here"]


@kept
def test_a_message_moved_to_the_dead_letter_queue_survives_a_kill(tmp_path: Path) -> None:
    with running_engine(tmp_path) as running:
        sqs = client(running, "sqs")
        sqs.create_queue(QueueName="dead")
        policy = {"maxReceiveCount": "1", "deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead"}
        attributes = {"VisibilityTimeout": "0", "RedrivePolicy": json.dumps(policy)}
        url = sqs.create_queue(QueueName="alive", Attributes=attributes)["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="failing")
        assert [len(_receive(sqs, url)) for _ in range(2)] == [1, 0]
        sqs.send_message(QueueUrl=url, MessageBody="next")
        kill(running)

    with running_engine(tmp_path) as running:
        sqs = client(running, "sqs")
        urls = [sqs.get_queue_url(QueueName=name)["QueueUrl"] for name in ("alive", "dead")]
        assert [[one["Body"] for one in _receive(sqs, url)] for url in urls] == [["next"], ["failing"]]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_an_engine_is_the_same_after_its_end(tmp_path: Path, end: str) -> None:
    with running_engine(tmp_path) as running:
        create_table(running, TABLE)
        for number in range(20):
            _put(running, f"large-{number % 10}", "x" * 60_000)
        key = client(running, "kms").create_key()["KeyMetadata"]
        table = client(running, "dynamodb").describe_table(TableName=TABLE)["Table"]
        rows, records = _all_items(running), read_stream(running, TABLE)
        if end == "kill":
            kill(running)

    with running_engine(tmp_path) as running:
        assert client(running, "dynamodb").describe_table(TableName=TABLE)["Table"] == table
        assert (_all_items(running), read_stream(running, TABLE)) == (rows, records)
        assert client(running, "kms").describe_key(KeyId=key["KeyId"])["KeyMetadata"] == key
        _put(running, "next")
        stream = read_stream(running, TABLE)
        kill(running)

    with running_engine(tmp_path) as running:
        assert stream[:-1] == records
        assert read_stream(running, TABLE) == stream


@kept
def test_a_deleted_table_or_queue_leaves_no_content_behind(tmp_path: Path) -> None:
    with running_engine(tmp_path) as running:
        create_table(running, TABLE)
        _put(running, "old")
        client(running, "dynamodb").delete_table(TableName=TABLE)
        url = client(running, "sqs").create_queue(QueueName="deliveries")["QueueUrl"]
        client(running, "sqs").send_message(QueueUrl=url, MessageBody="old")
        client(running, "sqs").delete_queue(QueueUrl=url)
        kill(running)

    with running_engine(tmp_path) as running:
        create_table(running, TABLE)
        url = client(running, "sqs").create_queue(QueueName="deliveries")["QueueUrl"]
        kill(running)

    with running_engine(tmp_path) as running:
        assert (_all_items(running), read_stream(running, TABLE)) == ([], [])
        assert _receive(client(running, "sqs"), url) == []


def test_a_ttl_deletion_is_permanent_and_has_a_stream_record(tmp_path: Path) -> None:
    with running_engine(tmp_path, "--expire-every", "0.1") as running:
        create_table(running, TABLE)
        dynamodb = client(running, "dynamodb")
        dynamodb.update_time_to_live(TableName=TABLE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"})
        old: Item = {"id": {"S": "a"}, "ttl": {"N": str(int(time.time()) - 1)}}
        new: Item = {"id": {"S": "a"}, "ttl": {"N": str(int(time.time()) + 3600)}}
        dynamodb.put_item(TableName=TABLE, Item=old)
        assert wait_until(lambda: not _all_items(running))
        dynamodb.put_item(TableName=TABLE, Item=new, ConditionExpression="attribute_not_exists(id)")
        kill(running)

    with running_engine(tmp_path) as running:
        events = [(record["eventName"], record.get("userIdentity")) for record in read_stream(running, TABLE)]
        assert _all_items(running) == [new]
    service = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    assert events == [("INSERT", None), ("REMOVE", service), ("INSERT", None)]


def test_a_second_engine_on_the_same_state_is_rejected(tmp_path: Path) -> None:
    with running_engine(tmp_path):
        command = [str(children.ENGINE_PYTHON), "-c", _SECOND_ENGINE, str(tmp_path)]
        second = subprocess.run(command, cwd=children.ROOT, capture_output=True, text=True, check=False, timeout=20)

    assert second.returncode != 0
    assert second.stderr.strip() == f"Another engine uses {tmp_path}."


_SECOND_ENGINE = """
import sys, infra.local.engine as engine
engine._SECONDS_FOR_PREDECESSOR = 0.2
sys.argv = ["engine", "--state", sys.argv[1]]
engine.main()
"""


def test_another_version_of_the_emulator_is_rejected_in_one_sentence() -> None:
    code = "from infra.local import emulator; emulator.VERSION = '9.9'; print(emulator.wrong_version())"
    command = [str(children.ENGINE_PYTHON), "-c", code]

    answer = subprocess.run(command, cwd=children.ROOT, capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "The local engine needs MiniStack 9.9, but 1.5.33 is installed."


@dataclass(frozen=True)
class Killed:
    load: Load
    stored: dict[str, Item]
    records: list[Any]


class Load:
    """Concurrent writers and a stream reader on an engine until it is killed, and the writes and records they saw."""

    def __init__(self) -> None:
        self.written: dict[str, Item] = {}
        self.deleted: set[str] = set()
        self.unanswered: set[str] = set()
        self.added = self.adds_unanswered = 0
        self.seen: list[Any] = []
        self.streams: set[str] = set()
        self.failures: list[Exception] = []
        self._ending = False
        self._lock = threading.Lock()
        self._numbers = iter(range(10**9))

    def run_until_killed(self, running: Engine) -> None:
        works = [
            self._put,
            self._put_if_absent,
            self._transact,
            self._transact,
            self._delete,
            self._add,
            self._read,
        ]
        self._ending = False
        clients = client(running, "dynamodb"), client(running, "dynamodbstreams")
        threads = [threading.Thread(target=self._repeat, args=(work, *clients)) for work in works]
        for thread in threads:
            thread.start()
        time.sleep(_SECONDS_OF_LOAD)
        self._ending = True
        kill(running)
        for thread in threads:
            thread.join()

    def _repeat(self, work: Callable[[Any, Any], None], dynamodb: Any, streams: Any) -> None:
        try:
            while True:
                work(dynamodb, streams)
        except Exception as error:
            if not self._ending:  # afterwards, the engine may die in the middle of a response
                self.failures.append(error)

    def _new_items(self, count: int) -> list[Item]:
        with self._lock:
            items: list[Item] = [
                {"id": {"S": f"k{number}"}, "v": {"S": "é" * (number % 500)}}
                for number in (next(self._numbers) for _ in range(count))
            ]
            self.unanswered |= {item["id"]["S"] for item in items}
        return items

    def _acknowledge(self, items: list[Item]) -> None:
        with self._lock:
            self.unanswered -= {item["id"]["S"] for item in items}
            self.written |= {item["id"]["S"]: item for item in items}

    def _put(self, dynamodb: Any, _: Any) -> None:
        items = self._new_items(1)
        dynamodb.put_item(TableName=TABLE, Item=items[0])
        self._acknowledge(items)

    def _put_if_absent(self, dynamodb: Any, _: Any) -> None:
        items = self._new_items(1)
        absent = "attribute_not_exists(id)"
        dynamodb.put_item(TableName=TABLE, Item=items[0], ConditionExpression=absent)
        self._acknowledge(items)
        other: Item = {**items[0], "v": {"S": "other"}}
        try:
            dynamodb.put_item(TableName=TABLE, Item=other, ConditionExpression=absent)
        except dynamodb.exceptions.ConditionalCheckFailedException:
            return
        raise AssertionError("a conditional put replaced an existing item")

    def _transact(self, dynamodb: Any, _: Any) -> None:
        items = self._new_items(3)
        dynamodb.transact_write_items(TransactItems=[{"Put": {"TableName": TABLE, "Item": item}} for item in items])
        self._acknowledge(items)

    def _delete(self, dynamodb: Any, _: Any) -> None:
        (item,) = self._new_items(1)
        dynamodb.put_item(TableName=TABLE, Item=item)
        dynamodb.delete_item(TableName=TABLE, Key={"id": item["id"]})
        with self._lock:
            self.unanswered.remove(item["id"]["S"])
            self.deleted.add(item["id"]["S"])

    def _add(self, dynamodb: Any, _: Any) -> None:
        self.adds_unanswered += 1
        dynamodb.update_item(
            TableName=TABLE,
            Key={"id": {"S": "counter"}},
            UpdateExpression="ADD n :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
        self.adds_unanswered -= 1
        self.added += 1

    def _read(self, _: Any, streams: Any) -> None:
        records: list[Any] = []
        for page in stream_pages(streams, TABLE):
            records += page
            if len(records) > len(self.seen):
                self.seen = list(records)
            self.streams.add(streams.list_streams(TableName=TABLE)["Streams"][0]["StreamArn"])


def _kill_under_load(state: Path, kills: int) -> Killed:
    load = Load()
    for _ in range(kills):
        with running_engine(state) as running:
            create_table(running, TABLE)
            load.run_until_killed(running)
    with running_engine(state) as running:
        return Killed(load, {item["id"]["S"]: item for item in _all_items(running)}, read_stream(running, TABLE))


def _assert_no_write_is_lost(killed: Killed) -> None:
    load, stored = killed.load, killed.stored
    assert not load.failures
    assert len(load.written) > 20 * _KILLS
    assert {key: stored.get(key) for key in load.written} == load.written
    assert not load.deleted & stored.keys()
    assert set(stored) - set(load.written) <= load.unanswered | {"counter"}
    assert load.added <= int(stored["counter"]["n"]["N"]) <= load.added + load.adds_unanswered


def _assert_the_stream_is_complete(killed: Killed) -> None:
    load, records = killed.load, killed.records
    assert len(load.streams) == 1
    assert load.seen
    assert load.seen == records[: len(load.seen)]
    numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
    assert numbers == sorted(set(numbers))
    inserted = Counter(r["dynamodb"]["Keys"]["id"]["S"] for r in records if r["eventName"] == "INSERT")
    assert {key: inserted[key] for key in load.written} == dict.fromkeys(load.written, 1)


def _put(running: Engine, key: str, value: str = "v") -> None:
    client(running, "dynamodb").put_item(TableName=TABLE, Item={"id": {"S": key}, "v": {"S": value}})


def test_groups_of_messages_take_turns(tmp_path: Path) -> None:
    with running_engine(tmp_path) as running:
        sqs = client(running, "sqs")
        url = sqs.create_queue(QueueName="fair")["QueueUrl"]
        for group, count in (("noisy", 20), ("quiet", 1)):
            for number in range(count):
                sqs.send_message(QueueUrl=url, MessageBody=f"{group} {number}", MessageGroupId=group)
        received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=2)["Messages"]
        assert [one["Body"] for one in received] == ["noisy 0", "quiet 0"]


def _receive(sqs: Any, url: str, seconds: int = 0) -> list[dict[str, str]]:
    found: list[dict[str, str]] = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=seconds
    ).get("Messages", [])
    return found


def _all_items(running: Engine) -> list[Item]:
    pages = client(running, "dynamodb").get_paginator("scan").paginate(TableName=TABLE, ConsistentRead=True)
    return [item for page in pages for item in page["Items"]]
