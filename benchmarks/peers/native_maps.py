"""Conversations with boto3 alone, as most people begin: one item each, its messages a list of native maps.

Keeps nothing but the messages: no agent, no metadata, no encryption, no guard against a second writer. Reads are
eventually consistent, as boto3 reads unless it is told otherwise; an item's 400 KB are the end of a conversation.
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
        """The DynamoDB client that it asks."""
        return self._table.meta.client

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Put the item, whatever is there."""
        self._table.put_item(Item={"conversation": conversation, "messages": list(messages)})

    def read(self, conversation: str) -> list[Message]:
        """All messages; numbers come back as decimals."""
        item = self._table.get_item(Key={"conversation": conversation})["Item"]
        return [{**one, "ts": int(one["ts"])} for one in item["messages"]]

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Add messages to the list where it is: DynamoDB charges for the whole item."""
        self._table.update_item(
            Key={"conversation": conversation},
            UpdateExpression="SET messages = list_append(messages, :new)",
            ExpressionAttributeValues={":new": list(messages)},
        )
