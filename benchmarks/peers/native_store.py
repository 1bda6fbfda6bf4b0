"""The three operations with native maps: boto3's resource and tables of plain items.

There is no encryption and no events. A page is one query of an index by creation. A state and its agent are read in one
batch, and the state is written with optimistic locking.
"""

from decimal import Decimal
from typing import Any

import boto3
from boto3.dynamodb.conditions import Attr, Key

from benchmarks.peers import answers
from benchmarks.peers.answers import Document

_AGENTS, _CONVERSATIONS = "native-agents", "native-conversations"
_PAGE = 20
_dynamodb = boto3.resource("dynamodb")
_agents = _dynamodb.Table(_AGENTS)
_conversations = _dynamodb.Table(_CONVERSATIONS)


def create_tables() -> None:
    """Create the tables and the index for the pages."""
    _create(_AGENTS, {"agent_id": "S"})
    by_creation = {
        "IndexName": "by_creation",
        "KeySchema": [
            {"AttributeName": "agent_id", "KeyType": "HASH"},
            {"AttributeName": "created", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["metadata"]},
    }
    _create(_CONVERSATIONS, {"agent_id": "S", "user_id": "S"}, {"created": "S"}, GlobalSecondaryIndexes=[by_creation])


def put_agent(agent_id: str, document: Document) -> None:
    """Store an agent."""
    _agents.put_item(Item={"agent_id": agent_id, "document": to_decimals(document)})


def put_conversation(agent_id: str, user_id: str, created: str, metadata: Document, turns: list[Document]) -> None:
    """Store a conversation."""
    item = {"agent_id": agent_id, "user_id": user_id, "created": created, "version": 1}
    _conversations.put_item(Item=item | {"metadata": to_decimals(metadata), "turns": to_decimals(turns)})


def agent(agent_id: str) -> Document:
    """Return an agent's document."""
    document: Document = from_decimals(
        _agents.get_item(Key={"agent_id": agent_id}, ConsistentRead=True)["Item"]["document"]
    )
    return document


def page(agent_id: str) -> tuple[list[Document], str | None]:
    """Return the first page, newest first, and the position of its last entry if there are more."""
    found = _conversations.query(
        IndexName="by_creation",
        KeyConditionExpression=Key("agent_id").eq(agent_id),
        ScanIndexForward=False,
        Limit=_PAGE,
    )
    items = from_decimals(found["Items"])
    return [item["metadata"] for item in items], items[-1]["created"] if "LastEvaluatedKey" in found else None


def replace(agent_id: str, user_id: str, sent: list[Document]) -> Document:
    """Replace a conversation's turns, and return the state route's answer."""
    key = {"agent_id": agent_id, "user_id": user_id}
    wanted = {_AGENTS: {"Keys": [{"agent_id": agent_id}]}, _CONVERSATIONS: {"Keys": [key], "ConsistentRead": True}}
    found = _dynamodb.batch_get_item(RequestItems=wanted)["Responses"]
    (agent_item,), (item,) = found[_AGENTS], found[_CONVERSATIONS]
    before = from_decimals(item)
    metadata, turns = answers.replaced(before["metadata"], sent)
    after = {**item, "metadata": metadata, "turns": turns, "version": item["version"] + 1}
    _conversations.put_item(Item=to_decimals(after), ConditionExpression=Attr("version").eq(item["version"]))
    agent = from_decimals(agent_item["document"])
    return answers.state(agent_id, user_id, agent, metadata, turns, before["turns"])


def to_decimals(value: Any) -> Any:
    """Convert floats to decimals: boto3 refuses floats."""
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, dict):
        return {name: to_decimals(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [to_decimals(inner) for inner in value]
    return value


def from_decimals(value: Any) -> Any:
    """Convert decimals to numbers that JSON has."""
    if isinstance(value, Decimal):
        return int(value) if value % 1 == 0 else float(value)
    if isinstance(value, dict):
        return {name: from_decimals(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [from_decimals(inner) for inner in value]
    return value


def _create(name: str, keys: dict[str, str], more: dict[str, str] | None = None, **options: Any) -> None:
    attributes = {**keys, **(more or {})}
    _dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": kind} for one, kind in attributes.items()],
        KeySchema=[{"AttributeName": one, "KeyType": kind} for one, kind in zip(keys, ("HASH", "RANGE"), strict=False)],
        **options,
    )
