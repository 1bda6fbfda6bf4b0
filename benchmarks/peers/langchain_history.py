"""LangChain's chat history on DynamoDB: `DynamoDBChatMessageHistory` of langchain-community.

Keeps one item for each conversation, with the messages as a list of native maps, and writes all of it each time. It
has no replacement: what there is is cleared first. Writers overwrite each other. No encryption unless a key of KMS is
given, which its documentation leaves out too; an item's 400 KB are the end of a conversation.
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
    """A history for each conversation, made once; the session is the environment's."""

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
        """The DynamoDB client that a conversation's history asks."""
        return self._history(conversation).table.meta.client

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Clear, and add all messages."""
        self._history(conversation).clear()
        self._history(conversation).add_messages([to_langchain(one) for one in messages])

    def read(self, conversation: str) -> list[Message]:
        """All messages."""
        return [from_langchain(one) for one in self._history(conversation).messages]

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Add messages: reads the item, and writes it with them."""
        self._history(conversation).add_messages([to_langchain(one) for one in messages])

    def _history(self, conversation: str) -> DynamoDBChatMessageHistory:
        if conversation not in self._histories:
            self._histories[conversation] = DynamoDBChatMessageHistory(
                table_name=_TABLE, session_id=conversation, boto3_session=self._session
            )
        return self._histories[conversation]


def to_langchain(one: Message) -> BaseMessage:
    """The message as LangChain has it: what it has no member for goes where it keeps such things."""
    kind = HumanMessage if one["from"] == "human" else AIMessage
    return kind(content=one["text"], id=one["mid"], additional_kwargs={"ts": one["ts"]})


def from_langchain(one: BaseMessage) -> Message:
    """The message as all stores answer it; numbers come back as decimals."""
    who = "human" if one.type == "human" else "agent"
    ts = int(one.additional_kwargs["ts"])
    return {"mid": str(one.id), "from": who, "type": "text", "text": str(one.content), "ts": ts}
