"""Conversations with boto3 alone, the usual first design: one item each, with the messages as a list of native maps.

It stores only the messages: no agent, metadata, encryption or optimistic locking. Reads are eventually consistent,
boto3's default. A conversation cannot exceed an item's 400 KB.
"""

from collections.abc import Sequence
from typing import Any

import boto3

from benchmarks.transcripts import Message

NAME = "native maps"


class NativeMaps:
    """A table of conversations."""

    def __init__(self) -> None:
        self._table = boto3.resource("dynamodb").create_table(
            TableName="peer-native-maps",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "conversation", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "conversation", "KeyType": "HASH"}],
        )

    def client(self, conversation: str) -> Any:
        """Return its DynamoDB client."""
        return self._table.meta.client

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Put the item unconditionally."""
        self._table.put_item(Item={"conversation": conversation, "messages": list(messages)})

    def read(self, conversation: str) -> list[Message]:
        """Return all messages. Numbers arrive as decimals."""
        item = self._table.get_item(Key={"conversation": conversation})["Item"]
        return [{**one, "ts": int(one["ts"])} for one in item["messages"]]

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Append to the list in place. DynamoDB charges for the complete item."""
        self._table.update_item(
            Key={"conversation": conversation},
            UpdateExpression="SET messages = list_append(messages, :new)",
            ExpressionAttributeValues={":new": list(messages)},
        )
