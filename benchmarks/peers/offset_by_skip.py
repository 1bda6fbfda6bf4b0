"""The usual list: the conversations of an agent in one partition, newest first; page N reads those before it, too.

DynamoDB has no offset, so whoever needs page N asks for all entries up to its end and drops the ones before.
"""

from collections.abc import Iterable
from typing import Any

from boto3.dynamodb.conditions import Key

TABLE = "peer-conversations-by-agent"


def create_table(dynamodb: Any) -> Any:
    """The table, of a `boto3.resource`: a conversation's metadata, by its agent and its id, which sorts by time."""
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
    """Page `page`, from 1: each request of it brings 1 MB at most."""
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
