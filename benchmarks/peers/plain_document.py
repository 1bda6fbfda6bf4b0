"""The floor of the state question: the same document as compressed JSON, put and read with a bare client.

Large documents take several independent items. There is no agent, metadata, encryption or optimistic locking. It is not
a usable store; it shows the cost of the engine and the SDK alone.
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
        """Return its DynamoDB client."""
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
        """Get the document, and put it with more messages at the end."""
        self.replace(conversation, [*self.read(conversation), *messages])
