"""LangChain's chat history on DynamoDB: `DynamoDBChatMessageHistory` of langchain-community.

It stores one item for each conversation, with the messages as a list of native maps, and writes the complete item each
time. It has no replacement, so a replacement clears first. Writers overwrite each other. Encryption needs a KMS key,
which its documentation omits. A conversation cannot exceed an item's 400 KB.
"""

from collections.abc import Sequence
from typing import Any

import boto3
from langchain_community.chat_message_histories import DynamoDBChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from benchmarks.transcripts import Message

NAME = "LangChain history"
_TABLE = "peer-langchain-history"


class LangChainHistory:
    """One history for each conversation, with a session from the environment."""

    def __init__(self) -> None:
        self._session = boto3.Session()
        self._histories: dict[str, DynamoDBChatMessageHistory] = {}
        self._session.client("dynamodb").create_table(
            TableName=_TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "SessionId", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "SessionId", "KeyType": "HASH"}],
        )

    def client(self, conversation: str) -> Any:
        """Return the DynamoDB client of a conversation's history."""
        return self._history(conversation).table.meta.client

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Clear the history and add all messages."""
        self._history(conversation).clear()
        self._history(conversation).add_messages([to_langchain(one) for one in messages])

    def read(self, conversation: str) -> list[Message]:
        """Return all messages."""
        return [from_langchain(one) for one in self._history(conversation).messages]

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Read the item and write it with the added messages."""
        self._history(conversation).add_messages([to_langchain(one) for one in messages])

    def _history(self, conversation: str) -> DynamoDBChatMessageHistory:
        if conversation not in self._histories:
            self._histories[conversation] = DynamoDBChatMessageHistory(
                table_name=_TABLE, session_id=conversation, boto3_session=self._session
            )
        return self._histories[conversation]


def to_langchain(one: Message) -> BaseMessage:
    """Convert a message to LangChain's form. Members without a counterpart go to `additional_kwargs`."""
    kind = HumanMessage if one["from"] == "human" else AIMessage
    return kind(content=one["text"], id=one["mid"], additional_kwargs={"ts": one["ts"]})


def from_langchain(one: BaseMessage) -> Message:
    """Convert a message from LangChain's form. Numbers arrive as decimals."""
    sender = "human" if one.type == "human" else "agent"
    ts = int(one.additional_kwargs["ts"])
    return {"mid": str(one.id), "from": sender, "type": "text", "text": str(one.content), "ts": ts}
