"""A deployment that disables an extension fails while the extension has data, or deletes the data on request."""

import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
import yaml
from moto import mock_aws

from infra.deploy import extension_data, stack
from infra.deploy.checks import NotReady

NAME = "cams-prod"
CORE = {"Workspaces": "AWS::DynamoDB::Table"}
MOONS: dict[str, Any] = {
    "MoonsTable": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": {"Fn::Sub": "${Name}-moons"}}},
    "MoonsQueue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::Sub": "${Name}-moons"}}},
    "MoonsKey": {"Type": "AWS::KMS::Key"},
}
RETIRED = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::Sub": "${Name}-retired"}}}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the key of an extension `moons` without data, whose stack exists."""
    monkeypatch.setattr(extension_data, "present", lambda: ("moons", "tides"))
    module = SimpleNamespace(ROWS=[("workspaces", "item", "moon#")])
    monkeypatch.setattr(extension_data, "modules", lambda _, names: [module] if names == ["moons"] else [])
    declared = {**CORE, **MOONS}
    monkeypatch.setattr(extension_data, "template", lambda names: {"Resources": declared if names else CORE})
    monkeypatch.setattr(stack, "status", lambda *_: "UPDATE_COMPLETE")
    monkeypatch.setattr(stack, "extensions", lambda *_: ("moons", "tides"))
    monkeypatch.setattr(stack, "removed_resources", lambda *_: {**MOONS, "RetiredQueue": RETIRED})
    with mock_aws():
        dynamodb, kms = boto3.client("dynamodb"), boto3.client("kms")
        for table in ("moons", "workspaces"):
            keys = [("workspace", "HASH"), ("item", "RANGE")]
            dynamodb.create_table(
                TableName=f"{NAME}-{table}",
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name, _ in keys],
                KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys],
                DeletionProtectionEnabled=True,
            )
        put("workspaces", "workspace")
        for queue in ("moons", "retired"):
            boto3.client("sqs").create_queue(QueueName=f"{NAME}-{queue}")
        key_id = kms.create_key()["KeyMetadata"]["KeyId"]
        monkeypatch.setattr(stack, "outputs", lambda *_: {"MoonsKeyArn": key_id})
        yield key_id


def put(table: str, item: str) -> None:
    boto3.client("dynamodb").put_item(
        TableName=f"{NAME}-{table}", Item={"workspace": {"S": "w"}, "item": {"S": item}, "name": {"S": "Io"}}
    )


def send(queue: str) -> None:
    url = boto3.client("sqs").get_queue_url(QueueName=f"{NAME}-{queue}")["QueueUrl"]
    boto3.client("sqs").send_message(QueueUrl=url, MessageBody="1", DelaySeconds=600)


def check(*deleted: str, extensions: tuple[str, ...] = ("tides",)) -> None:
    extension_data.check(boto3.client, NAME, "prod", extensions, deleted)


def refusal(*deleted: str) -> str:
    with pytest.raises(NotReady) as failed:
        check(*deleted)
    return str(failed.value.message)


_WHAT_TO_DO = (
    'list moons in "extensions" of stage prod, or delete its data with '
    '`make deploy STAGE=prod ARGS="--delete-data moons"`.'
)


def test_an_extension_without_data_may_be_switched_off() -> None:
    check()


def test_records_in_a_table_of_core_are_data() -> None:
    put("workspaces", "moon#1")
    assert refusal() == f"The extension moons has records: {_WHAT_TO_DO}"
    check("moons")


def test_records_in_a_table_of_the_extension_are_data() -> None:
    put("moons", "any")
    assert refusal() == f"The table cams-prod-moons is not empty: {_WHAT_TO_DO}"
    check("moons")


def test_messages_are_data_also_while_they_are_delayed() -> None:
    send("moons")
    assert refusal() == f"The queue cams-prod-moons is not empty: {_WHAT_TO_DO}"
    check("moons")


def test_a_queue_that_a_version_does_not_have_must_be_empty() -> None:
    send("retired")
    assert refusal("moons") == (
        "The queue cams-prod-retired is not empty, and this version does not have it: deploy after its messages "
        "have been processed."
    )


def test_the_counts_that_version_1_0_queued_do_not_block_an_upgrade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "removed_resources", lambda *_: {"TalliesQueue": RETIRED})
    send("retired")
    check("moons")


def test_only_the_data_of_an_extension_that_is_switched_off_is_deleted() -> None:
    assert refusal("tides").startswith("Stage prod still has the extension tides, or never had it: ")


def test_an_extension_whose_folder_is_missing_cannot_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension_data, "present", lambda: ("tides",))
    assert refusal().startswith("Stage prod has the extension moons, whose folder is missing: restore the folder")


def test_a_new_stage_switches_nothing_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "status", lambda *_: None)
    monkeypatch.setattr(stack, "removed_resources", lambda *_: {})
    check(extensions=())


def test_tables_rows_and_keys_are_deleted_and_nothing_else(key: str) -> None:
    put("moons", "any")
    put("workspaces", "moon#1")
    for _ in range(2):  # the second run follows an interruption
        extension_data.delete(boto3.client, NAME, "moons")
    dynamodb, kms = boto3.client("dynamodb"), boto3.client("kms")
    assert dynamodb.list_tables()["TableNames"] == [f"{NAME}-workspaces"]
    assert [item["item"]["S"] for item in dynamodb.scan(TableName=f"{NAME}-workspaces")["Items"]] == ["workspace"]
    assert kms.describe_key(KeyId=key)["KeyMetadata"]["KeyState"] == "PendingDeletion"
    check()  # a deleted table contains no data


@pytest.mark.parametrize("returned", [lambda body: body, json.dumps, yaml.safe_dump], ids=["parsed", "JSON", "YAML"])
def test_the_stack_keeps_what_deployed_functions_use_until_they_are_replaced(
    monkeypatch: pytest.MonkeyPatch, returned: Callable[[Any], Any]
) -> None:
    monkeypatch.undo()
    deployed = {**MOONS, "WorkspacesTable": {"Type": "AWS::DynamoDB::Table"}, "Old": {"Type": "AWS::Logs::LogGroup"}}
    requests: list[dict[str, Any]] = []
    body: Any = {"Resources": deployed}
    client = SimpleNamespace(
        describe_stacks=lambda **_: {"Stacks": [{"StackStatus": "UPDATE_COMPLETE"}]},
        get_template=lambda **_: {"TemplateBody": returned(body)},
        update_stack=lambda **request: requests.append(request),
        update_termination_protection=lambda **_: None,
    )
    unused = stack.removed_resources(client, NAME, [])
    assert unused == MOONS
    stack.apply(client, NAME, "prod", {}, unused)
    stack.apply(client, NAME, "prod", {})
    first, second = (json.loads(request["TemplateBody"])["Resources"] for request in requests)
    assert first == {**second, **MOONS}
