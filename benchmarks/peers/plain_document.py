"""The floor that times are compared with: the same document as compressed JSON, put and got with a bare client.

In as many items as it takes, which nothing keeps together: no agent, no metadata, no encryption, no guard against a
second writer. Nobody should keep conversations so; it is what the engine and the SDK take by themselves.
"""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import boto3

from benchmarks.transcripts import Message

_TABLE = "peer-plain-document"
_PART = 350_000
_LEVEL = 3


class PlainDocument:
    """A table of documents, cut into parts."""

    def __init__(self) -> None:
        self._client = boto3.client("dynamodb")
        self._parts: dict[str, int] = {}
        self._client.create_table(
            TableName=_TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )

    def client(self, conversation: str) -> Any:
        """The DynamoDB client that it asks."""
        return self._client

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Put the document."""
        text = zlib.compress(json.dumps(messages, ensure_ascii=False).encode(), _LEVEL)
        parts = [text[start : start + _PART] for start in range(0, len(text), _PART)]
        for number, part in enumerate(parts):
            self._client.put_item(TableName=_TABLE, Item={"id": {"S": f"{conversation}/{number}"}, "part": {"B": part}})
        self._parts[conversation] = len(parts)

    def read(self, conversation: str) -> list[Message]:
        """Get the document."""
        keys = [{"id": {"S": f"{conversation}/{number}"}} for number in range(self._parts[conversation])]
        answers = [self._client.get_item(TableName=_TABLE, Key=key, ConsistentRead=True) for key in keys]
        text = b"".join(answer["Item"]["part"]["B"] for answer in answers)
        messages: list[Message] = json.loads(zlib.decompress(text))
        return messages

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Get the document, and put it with more behind it."""
        self.replace(conversation, [*self.read(conversation), *messages])
