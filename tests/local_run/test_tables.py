"""The local run creates the template's queues, and updates existing queues to match the template."""

import json
from typing import Any

import boto3
import pytest

from chalicelib import queues, settings, storage
from chalicelib.webhooks import queue, retry_policy
from infra import tables
from infra.extension_parts import template
from tests.selection import first_case


def attributes(name: str) -> dict[str, str]:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=storage.table(name))["QueueUrl"]
    found: dict[str, str] = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return found


@pytest.mark.parametrize(
    ("waiting", "dead"),
    [
        pytest.param(queue.FAST, queue.DEAD_LETTER, id="deliveries"),
        pytest.param(queue.SLOW, queue.DEAD_LETTER, id="slow deliveries"),
        pytest.param(queues.MAINTENANCE, "maintenance-dead", id="maintenance"),
    ],
)
@first_case
def test_a_failing_message_goes_to_the_dead_letter_queue(engine: None, waiting: str, dead: str) -> None:
    policy = json.loads(attributes(waiting)["RedrivePolicy"])

    is_of_webhooks = waiting in (queue.FAST, queue.SLOW)
    attempts, pause = (retry_policy.MAX_RECEIVES, retry_policy.VISIBILITY_SECONDS) if is_of_webhooks else (10, 360)
    assert policy == {"deadLetterTargetArn": attributes(dead)["QueueArn"], "maxReceiveCount": attempts}
    assert attributes(waiting)["VisibilityTimeout"] == str(pause)


def test_an_existing_queue_is_updated_to_the_template(engine: None) -> None:
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=storage.table(queue.FAST))["QueueUrl"]
    as_declared = attributes(queue.FAST)
    older = {"VisibilityTimeout": "30", "RedrivePolicy": "", "MessageRetentionPeriod": "60"}
    sqs.set_queue_attributes(QueueUrl=url, Attributes=older)
    sqs.send_message(QueueUrl=url, MessageBody="waits")

    tables.create_missing(storage.sdk_client, settings.table_prefix())

    found = attributes(queue.FAST)
    assert {name: found[name] for name in (*older, "QueueArn")} == {
        name: as_declared[name] for name in (*older, "QueueArn")
    }
    assert [one["Body"] for one in sqs.receive_message(QueueUrl=url)["Messages"]] == ["waits"]


def test_the_indexes_and_streams_that_an_earlier_version_did_not_have_are_added(engine: None) -> None:
    dynamodb, expected = boto3.client("dynamodb"), {}
    for name in dynamodb.list_tables()["TableNames"]:
        expected[name] = dynamodb.describe_table(TableName=name)["Table"]
        dynamodb.delete_table(TableName=name)
        keys = {one["AttributeName"] for one in expected[name]["KeySchema"]}
        definitions = [one for one in expected[name]["AttributeDefinitions"] if one["AttributeName"] in keys]
        older = {"KeySchema": expected[name]["KeySchema"], "AttributeDefinitions": definitions}
        dynamodb.create_table(TableName=name, BillingMode="PAY_PER_REQUEST", **older)

    for _ in range(2):
        tables.create_missing(storage.sdk_client, settings.table_prefix())

    for name, before in expected.items():
        found = dynamodb.describe_table(TableName=name)["Table"]
        assert indexes(found) == indexes(before)
        assert found.get("StreamSpecification") == before.get("StreamSpecification")
    assert sum(map(len, map(indexes, expected.values()))) > 4


def indexes(table: Any) -> dict[str, Any]:
    return {one["IndexName"]: (one["KeySchema"], one["Projection"]) for one in table.get("GlobalSecondaryIndexes", ())}


def test_tables_that_match_the_template_are_not_changed(engine: None) -> None:
    """Check that nothing changes, because each start of the local run would otherwise rewrite its data file."""
    calls: list[str] = []
    dynamodb = boto3.client("dynamodb")
    dynamodb.meta.events.register("before-call.dynamodb", lambda model, **_: calls.append(model.name))
    tables._create_tables(dynamodb, settings.table_prefix(), template()["Resources"])
    assert {*calls} <= {"ListTables", "DescribeTable", "DescribeTimeToLive"}


def test_queues_that_match_the_template_are_not_changed(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that nothing changes, because each start of the local run would otherwise rewrite its data file."""
    calls = []
    sqs = boto3.client("sqs")
    sqs.meta.events.register("before-call.sqs", lambda model, **_: calls.append(model.name))

    tables._create_queues(sqs, settings.table_prefix(), template()["Resources"])

    assert "GetQueueAttributes" in calls
    assert "SetQueueAttributes" not in calls
