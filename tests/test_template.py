"""The template declares every table, index, stream, TTL and queue that the code uses."""

import json
from typing import Any

import boto3
import pytest

from chalicelib import queues, settings, storage
from chalicelib.webhooks import queue, retry_policy
from infra import tables
from infra.deploy.functions import declared_functions
from tests import extensions
from tests.selection import first_case
from tests.storage.row_classes import keys_of, row_classes


@pytest.fixture
def described(engine: None) -> dict[str, Any]:
    dynamodb = boto3.client("dynamodb")
    return {name: dynamodb.describe_table(TableName=name)["Table"] for name in dynamodb.list_tables()["TableNames"]}


def test_the_template_declares_exactly_the_tables_of_the_code(described: dict[str, Any]) -> None:
    assert set(described) == {row.Meta.table_name for row in row_classes()}


def test_every_row_class_has_the_keys_of_its_table(described: dict[str, Any]) -> None:
    for row in row_classes():
        keys = [one["AttributeName"] for one in described[row.Meta.table_name]["KeySchema"]]
        assert keys_of(row) == keys, row


def test_the_template_declares_every_index_with_its_keys(described: dict[str, Any]) -> None:
    for row in row_classes():
        for index in row._indexes.values():
            declared = {one["IndexName"]: one for one in described[row.Meta.table_name]["GlobalSecondaryIndexes"]}
            schema = index._get_schema()
            keys = sorted(schema["key_schema"], key=lambda key: key["KeyType"])  # HASH before RANGE
            assert declared[index.Meta.index_name]["KeySchema"] == keys
            assert declared[index.Meta.index_name]["Projection"] == schema["projection"]


def test_every_expiring_row_has_a_ttl_in_the_template(engine: None) -> None:
    dynamodb = boto3.client("dynamodb")
    for row in row_classes():
        if row._ttl_attribute():
            expiry = dynamodb.describe_time_to_live(TableName=row.Meta.table_name)["TimeToLiveDescription"]
            assert expiry["AttributeName"] == row._ttl_attribute().attr_name


def test_the_tables_that_functions_watch_stream_old_and_new_images(
    described: dict[str, Any],
) -> None:
    streamed = {name for name, table in described.items() if "StreamSpecification" in table}
    assert streamed == {storage.table(one.stream) for one in declared_functions() if one.stream}
    views = {described[name]["StreamSpecification"]["StreamViewType"] for name in streamed}
    assert views == {"NEW_AND_OLD_IMAGES"}


def test_creating_missing_resources_is_idempotent(engine: None) -> None:
    tables.create_missing(storage.sdk_client, settings.table_prefix())
    aliases = boto3.client("kms").list_aliases()["Aliases"]
    assert [one["AliasName"] for one in aliases].count(settings.encryption_key()) == 1


def test_a_ttl_that_an_interrupted_run_did_not_enable_is_enabled(engine: None) -> None:
    dynamodb, table = boto3.client("dynamodb"), storage.table("credentials")
    wanted = {"AttributeName": "expires_at", "Enabled": False}
    dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=wanted)
    tables.create_missing(storage.sdk_client, settings.table_prefix())
    described = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert described == {"AttributeName": "expires_at", "TimeToLiveStatus": "ENABLED"}


def test_the_queues_of_the_template_are_created(engine: None) -> None:
    urls = boto3.client("sqs").list_queues()["QueueUrls"]
    assert {url.rsplit("/", 1)[1] for url in urls} == {
        "cams-deliveries",
        "cams-deliveries-slow",
        "cams-deliveries-dead",
        "cams-maintenance",
        "cams-maintenance-dead",
        *(f"cams-{name}{suffix}" for name in extensions.listed("QUEUES") for suffix in ("", "-dead")),
    }


@pytest.mark.parametrize(
    ("waiting", "dead"),
    [
        pytest.param(queue.FAST, queue.DEAD_LETTER, id="deliveries"),
        pytest.param(queue.SLOW, queue.DEAD_LETTER, id="slow deliveries"),
        pytest.param(queues.MAINTENANCE, "maintenance-dead", id="maintenance"),
        *(pytest.param(name, f"{name}-dead", id=name) for name in extensions.listed("QUEUES")),
    ],
)
@first_case
def test_a_message_goes_to_the_dead_letter_queue_after_its_attempts(waiting: str, dead: str, engine: None) -> None:
    dead_letter_queue = attributes(dead)
    assert json.loads(attributes(waiting)["RedrivePolicy"]) == {
        "deadLetterTargetArn": dead_letter_queue["QueueArn"],
        "maxReceiveCount": retry_policy.MAX_RECEIVES if waiting in (queue.FAST, queue.SLOW) else 10,
    }
    # SQS's maximum retention gives an operator the most time to react.
    assert dead_letter_queue["MessageRetentionPeriod"] == str(14 * 24 * 60 * 60)


def test_a_delivery_expires_with_the_retention_period_of_its_queue(engine: None) -> None:
    retention = {int(attributes(name)["MessageRetentionPeriod"]) for name in (queue.FAST, queue.SLOW)}
    assert retention == {retry_policy.QUEUE_RETENTION_DAYS * 24 * 60 * 60}


def attributes(name: str) -> dict[str, str]:
    """Return a queue's attributes."""
    sqs = boto3.client("sqs")
    url = sqs.get_queue_url(QueueName=queues.name(name))["QueueUrl"]
    found: dict[str, str] = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return found
