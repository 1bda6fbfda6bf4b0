"""The second of two concurrent commands on a stage stops unless the first has been killed."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import click
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from infra.deploy import stack, stage_lock
from infra.local import children
from infra.tables import declared

TABLE = "cams-dev-idempotency"


@pytest.fixture
def dynamodb() -> Iterator[Any]:
    """Return a client for an account that contains the stage `dev`'s table."""
    with mock_aws():
        (properties,) = [
            one for one in declared("AWS::DynamoDB::Table") if one["TableName"]["Fn::Sub"] == "${Name}-idempotency"
        ]
        own = ("AttributeDefinitions", "BillingMode", "GlobalSecondaryIndexes", "KeySchema")
        client = boto3.client("dynamodb")
        client.create_table(TableName=TABLE, **{name: properties[name] for name in own})
        yield client


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_lock, "_RENEWAL_SECONDS", 0.05)
    monkeypatch.setattr(stage_lock, "_WATCH_SECONDS", 0.5)


def hold(command: str = "deploy --stage dev", name: str = "cams-dev") -> Any:
    return stage_lock.hold(boto3.client, name, command)


def items(dynamodb: Any) -> list[dict[str, Any]]:
    return dynamodb.scan(TableName=TABLE)["Items"]


def test_the_second_command_stops_and_names_the_first(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "ann")
    monkeypatch.setattr("socket.gethostname", lambda: "laptop")
    monkeypatch.setattr(stage_lock, "_WATCH_SECONDS", 60.0)
    started = time.monotonic()
    with hold(), pytest.raises(click.ClickException) as failed, hold("delete --stage dev"):
        pass
    first, _, last = failed.value.message.partition(" (process ")
    assert first == "Another command is changing cams-dev: `deploy --stage dev` of ann on laptop"
    assert last.endswith("UTC). Wait until it has finished, then repeat.")
    assert time.monotonic() - started < 30  # the second command watches the lock until the next renewal at most
    assert items(dynamodb) == []


def test_the_lock_is_free_after_a_failure(dynamodb: Any) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="failed"), hold():
            raise ValueError("failed")
    assert items(dynamodb) == []


def test_a_lock_that_nobody_renews_is_taken_over(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(stage_lock, "_renew", lambda *_: None)
        patch.setattr(stage_lock, "_release", lambda *_: None)
        with hold():
            pass
    (left,) = items(dynamodb)
    with hold():
        (taken,) = items(dynamodb)
        assert taken["owner"] != left["owner"]
    assert items(dynamodb) == []


def test_of_many_that_take_over_only_one_does(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(stage_lock, "_renew", lambda *_: None)
        patch.setattr(stage_lock, "_release", lambda *_: None)
        with hold():
            pass
    results: list[str] = []
    others_stopped = threading.Event()

    def run() -> None:
        try:
            with hold():
                others_stopped.wait(20)
                results.append("held")
        except click.ClickException:
            results.append("stopped")
            if len(results) == 4:
                others_stopped.set()

    threads = [threading.Thread(target=run) for _ in range(5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(results) == ["held", *["stopped"] * 4]


def test_a_lost_response_does_not_lock_its_own_command_out(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write, lost = stage_lock._write, []

    def lose_first(operation: Callable[..., Any], **request: Any) -> bool:
        done = write(operation, **request)
        if not lost:
            lost.append(done)
            return False  # as if the SDK had repeated the write, so that its condition fails
        return done

    monkeypatch.setattr(stage_lock, "_write", lose_first)
    with hold():
        assert len(items(dynamodb)) == 1
    assert items(dynamodb) == []


def test_stages_do_not_lock_each_other_nor_a_restored_copy(dynamodb: Any) -> None:
    """Check also a restored table, which contains the original stage's lock item."""
    dynamodb.put_item(TableName=TABLE, Item={"request": {"S": "deployment#cams-dev2"}, "part": {"S": "lock"}})
    with hold():
        assert len(items(dynamodb)) == 2


def test_the_item_is_in_no_index_and_expires(dynamodb: Any) -> None:
    with hold():
        (item,) = items(dynamodb)
        assert dynamodb.scan(TableName=TABLE, IndexName="by_workspace")["Items"] == []
    assert 0 < int(item["expires_at"]["N"]) - time.time() <= 24 * 3600
    assert not [value for value in item.values() if "B" in value]  # a restore's sample decrypts binary values


def test_a_run_of_more_than_a_day_keeps_its_lock(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the lock is renewed, because TTL would otherwise delete the lock of a longer restore."""
    with hold():
        (first,) = items(dynamodb)
        monkeypatch.setattr(time, "time", lambda: int(first["expires_at"]["N"]))
        time.sleep(0.3)
        (later,) = items(dynamodb)
    assert int(later["expires_at"]["N"]) == int(first["expires_at"]["N"]) + 24 * 3600


def test_a_stage_without_tables_is_not_locked(dynamodb: Any) -> None:
    with hold(name="cams-new"), hold(name="cams-new"):
        pass


def test_tables_may_be_deleted_inside_the_block(dynamodb: Any) -> None:
    with hold():
        dynamodb.delete_table(TableName=TABLE)
        time.sleep(0.2)


def test_a_process_ends_when_another_one_has_taken_over() -> None:
    code = """
import threading
from infra.deploy import stage_lock
stage_lock._RENEWAL_SECONDS = 0.05
class Client:
    def update_item(self, **_):
        from botocore.exceptions import ClientError
        raise ClientError({"Error": {"Code": "ConditionalCheckFailedException"}}, "UpdateItem")
    def put_item(self, **_): pass
with stage_lock.hold(lambda *_, **__: Client(), "cams-dev", "deploy"):
    threading.Event().wait(30)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=children.ROOT, capture_output=True, text=True, timeout=25)
    assert (ran.returncode, ran.stderr) == (
        1,
        "Error: Another command has taken over, because this command did not renew its lock.\n",
    )


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("AlreadyExistsException", "Stack [cams-dev] already exists"),
        ("ValidationError", "Stack:arn:aws:cloudformation:x is in UPDATE_IN_PROGRESS state and can not be updated."),
    ],
)
def test_a_conflict_of_two_first_deployments_is_one_sentence(code: str, text: str) -> None:
    class Client:
        def describe_stacks(self, **_: Any) -> Any:
            raise ClientError({"Error": {"Code": "ValidationError", "Message": "does not exist"}}, "DescribeStacks")

        def create_stack(self, **_: Any) -> Any:
            raise ClientError({"Error": {"Code": code, "Message": text}}, "CreateStack")

        update_stack = create_stack

    sentence = "Another operation on the stack cams-dev is running: wait until it has finished, then repeat."
    for change in (
        lambda: stack.create(Client(), "cams-dev", "dev", {}),
        lambda: stack.apply(Client(), "cams-dev", "dev", {}),
    ):
        with pytest.raises(click.ClickException) as failed:
            change()
        assert failed.value.message == sentence
