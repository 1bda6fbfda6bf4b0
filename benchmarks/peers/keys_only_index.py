"""A list with a keys-only index: page N reads the keys up to its end, then the items of the page.

A common next step once reading complete items becomes too expensive.
"""

from collections.abc import Iterable
from typing import Any

from boto3.dynamodb.conditions import Key

TABLE = "peer-conversations-by-id"
INDEX = "by_agent"


def create_table(dynamodb: Any) -> Any:
    """Create the table with a `boto3.resource`: metadata by conversation id, and an index of the keys by agent."""
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
    """Return page `page`, from 1. A batch is unordered, so the items are sorted."""
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
