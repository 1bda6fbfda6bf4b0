"""The usual list: an agent's conversations in one partition, newest first. Page N also reads the pages before it.

DynamoDB has no offset, so page N requests all entries up to its end and drops the first ones.
"""

from collections.abc import Iterable
from typing import Any

from boto3.dynamodb.conditions import Key

TABLE = "peer-conversations-by-agent"


def create_table(dynamodb: Any) -> Any:
    """Create the table with a `boto3.resource`: metadata by agent and conversation id, which sorts by time."""
    return dynamodb.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "agent", "AttributeType": "S"},
            {"AttributeName": "ID", "AttributeType": "S"},
        ],
        KeySchema=[
            {"AttributeName": "agent", "KeyType": "HASH"},
            {"AttributeName": "ID", "KeyType": "RANGE"},
        ],
    )


def save(table: Any, agent: str, conversations: Iterable[dict[str, Any]]) -> None:
    """Store the metadata of conversations."""
    with table.batch_writer() as batch:
        for metadata in conversations:
            batch.put_item(Item={"agent": agent, **metadata})


def page(table: Any, agent: str, page: int, size: int = 20) -> list[dict[str, Any]]:
    """Return page `page`, from 1. Each request returns at most 1 MB."""
    wanted = page * size
    found: list[dict[str, Any]] = []
    start: dict[str, Any] = {}
    while True:
        answer = table.query(
            KeyConditionExpression=Key("agent").eq(agent), ScanIndexForward=False, Limit=wanted - len(found), **start
        )
        found += answer["Items"]
        if len(found) >= wanted or "LastEvaluatedKey" not in answer:
            return found[wanted - size :]
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
