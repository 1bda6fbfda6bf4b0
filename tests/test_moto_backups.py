"""A failed transaction leaves moto's tables and streams as they were, although they are not copied."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib import storage
from tests import moto_tables

WITH_RANGE, WITHOUT = "cams-workspaces", "cams-credentials"
pytestmark = pytest.mark.usefixtures("engine")


def key(table: str, name: str) -> dict[str, Any]:
    return {one["AttributeName"]: {"S": name} for one in moto_tables.tables()[table].schema}


def update(table: str, name: str, condition: str = "attribute_exists(marks)") -> dict[str, Any]:
    expressions = {"UpdateExpression": "SET marks = :new", "ConditionExpression": condition}
    return {"Update": {"TableName": table, "Key": key(table, name), **expressions, "ExpressionAttributeValues": NEW}}


def put(table: str, name: str) -> dict[str, Any]:
    return {"Put": {"TableName": table, "Item": {**key(table, name), "marks": {"L": [{"S": "first"}]}}}}


def delete(table: str, name: str) -> dict[str, Any]:
    return {"Delete": {"TableName": table, "Key": key(table, name)}}


NEW = {":new": {"L": [{"S": "second"}]}}


def records() -> list[str]:
    shards = (table.stream_shard for table in moto_tables.tables().values())
    return [repr(record.record) for shard in shards if shard for record in shard.items]


@pytest.mark.parametrize("table", [WITH_RANGE, WITHOUT])
def test_a_failed_transaction_leaves_everything_as_it_was(table: str) -> None:
    client = storage.sdk_client("dynamodb")
    client.transact_write_items(TransactItems=[put(table, "a"), put(table, "b"), put(table, "c")])
    before, streamed = moto_tables.items(), records()
    failing = update(table, "d")
    with pytest.raises(ClientError, match="TransactionCanceled"):
        client.transact_write_items(
            TransactItems=[update(table, "a"), delete(table, "b"), put(table, "e"), put(table, "c"), failing]
        )
    assert (moto_tables.items(), records()) == (before, streamed)
    client.transact_write_items(TransactItems=[update(table, "a"), delete(table, "b")])
    found = {item[next(iter(key(table, "")))]["S"]: item["marks"]["L"] for item in moto_tables.items()[table]}
    assert found == {"a": [{"S": "second"}], "c": [{"S": "first"}]}
