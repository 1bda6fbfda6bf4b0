"""The list with a thin index: page N counts through keys only, and then gets the items of the page.

What people do when skipping through whole items has become too expensive.
"""

from collections.abc import Iterable
from typing import Any

from boto3.dynamodb.conditions import Key

TABLE = "peer-conversations-by-id"
INDEX = "by_agent"


def create_table(dynamodb: Any) -> Any:
    """The table, of a `boto3.resource`: a conversation's metadata by its id, and an index of the keys by agent."""
    return dynamodb.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "agent", "AttributeType": "S"},
            {"AttributeName": "ID", "AttributeType": "S"},
        ],
        KeySchema=[{"AttributeName": "ID", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": INDEX,
                "KeySchema": [
                    {"AttributeName": "agent", "KeyType": "HASH"},
                    {"AttributeName": "ID", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )


def save(table: Any, agent: str, conversations: Iterable[dict[str, Any]]) -> None:
    """Store the metadata of conversations."""
    with table.batch_writer() as batch:
        for metadata in conversations:
            batch.put_item(Item={"agent": agent, **metadata})


def page(dynamodb: Any, table: Any, agent: str, page: int, size: int = 20) -> list[dict[str, Any]]:
    """Page `page`, from 1. A batch has no order of its own."""
    wanted = page * size
    keys: list[dict[str, Any]] = []
    start: dict[str, Any] = {}
    while True:
        answer = table.query(
            IndexName=INDEX,
            KeyConditionExpression=Key("agent").eq(agent),
            ScanIndexForward=False,
            Limit=wanted - len(keys),
            **start,
        )
        keys += [{"ID": item["ID"]} for item in answer["Items"]]
        if len(keys) >= wanted or "LastEvaluatedKey" not in answer:
            break
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
    items = dynamodb.batch_get_item(RequestItems={table.name: {"Keys": keys[wanted - size :]}})["Responses"][table.name]
    return sorted(items, key=lambda item: item["ID"], reverse=True)
