"""The capacity meter, which measures this service's costs and those of the services that it is compared with."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.local.children import Engine
from tests.capacity import Item, metered, size
from tests.reliability import engine_fixture
from tests.reliability.engine_fixture import local_engine  # noqa: F401 - the fixture
from tests.selection import first_case

TABLE, INDEX = "metered", "by_group"
KEY = {"id": "a"}


DESCRIPTION: dict[str, Any] = {
    "TableName": TABLE,
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "group")],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": INDEX,
            "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


@pytest.fixture
def table() -> Iterator[Any]:
    """Create a table that has one item of 6,018 bytes and an index that projects all attributes."""
    with mock_aws():
        made = boto3.resource("dynamodb").create_table(**DESCRIPTION)
        made.put_item(Item={**KEY, "group": "g", "text": "x" * 6_000})
        yield made


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"a": {"S": "é"}}, 3),
        ({"a": {"B": b"123"}}, 4),
        ({"a": {"N": "1790000052"}}, 1 + 5 + 1),
        ({"a": {"N": "-0.50"}}, 1 + 1 + 1),
        ({"a": {"BOOL": True}, "b": {"NULL": True}}, 4),
        ({"a": {"L": [{"S": "xy"}, {"S": "z"}]}}, 1 + 3 + 2 + 3),
        ({"a": {"M": {"name": {"S": "xy"}}}}, 1 + 3 + 1 + 4 + 2),
        ({"a": {"SS": ["xy", "z"]}}, 4),
    ],
)
@first_case
def test_the_size_of_an_item_follows_the_published_rules(item: Item, expected: int) -> None:
    assert size(item) == expected


def test_projections_and_filters_do_not_make_a_read_cheaper(table: Any) -> None:
    with metered(table.meta.client) as meter:
        table.get_item(Key=KEY, ProjectionExpression="id")
        table.get_item(Key=KEY, ConsistentRead=True)
        table.query(
            KeyConditionExpression="#key = :key",
            FilterExpression="#text = :text",
            ProjectionExpression="id",
            ExpressionAttributeNames={"#key": "id", "#text": "text"},
            ExpressionAttributeValues={":key": "a", ":text": "no"},
        )
    assert (meter.total, meter.reads, meter.writes) == (3, 1 + 2 + 1, 0)


def test_an_update_costs_the_whole_item_and_its_index_entry(table: Any) -> None:
    change = {"UpdateExpression": "SET seen = :yes", "ExpressionAttributeValues": {":yes": True}}
    with metered(table.meta.client) as meter:
        table.update_item(Key=KEY, **change)
    assert (meter.total, meter.reads, meter.writes) == (1, 0, 6 + 6)
    with metered(table.meta.client) as meter:
        table.update_item(Key=KEY, **change)
    assert meter.writes == 6


def test_a_changed_index_key_costs_a_delete_and_a_put(table: Any) -> None:
    with metered(table.meta.client) as meter:
        table.put_item(Item={**KEY, "group": "h"})
    assert meter.writes == 6 + 6 + 1


def test_an_operation_without_a_rule_raises_an_error(table: Any) -> None:
    with metered(table.meta.client), pytest.raises(ValueError, match="DescribeTable"):
        table.meta.client.describe_table(TableName=TABLE)


@pytest.mark.engine
def test_the_local_engine_is_metered(local_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Run the meter on the local engine, which unlike moto rejects requests that are signed with other credentials."""
    for name, value in local_engine.environment.items():
        monkeypatch.setenv(name, value)
    client = engine_fixture.client(local_engine, "dynamodb")
    client.create_table(**DESCRIPTION)
    with metered(client) as meter:
        client.put_item(TableName=TABLE, Item={"id": {"S": "a"}, "group": {"S": "g"}})
    assert (meter.total, meter.reads, meter.writes) == (1, 0, 1 + 1)
