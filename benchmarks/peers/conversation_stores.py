"""Stores of conversations on DynamoDB that `benchmarks.state` compares, used as their documentation shows."""

import json
import logging
import zlib
from collections.abc import Sequence
from contextlib import suppress

import boto3
from langchain_community.chat_message_histories import DynamoDBChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph_checkpoint_aws import DynamoDBSaver

from benchmarks.transcripts import Message


class PlainDocument:
    """The minimum: the same document as compressed JSON, written and read with a bare client.

    A large document is stored in several independent items. There is no agent, metadata, encryption or optimistic
    locking. The store is not usable in practice; it shows only the cost of the engine.
    """

    _PART = 350_000
    _LEVEL = 3

    def __init__(self) -> None:
        self.client = boto3.client("dynamodb")
        self._parts: dict[str, int] = {}
        _create_table("plain-document", "id")

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Put the document."""
        text = zlib.compress(json.dumps(messages, ensure_ascii=False).encode(), self._LEVEL)
        parts = [text[start : start + self._PART] for start in range(0, len(text), self._PART)]
        for number, part in enumerate(parts):
            item = {"id": {"S": f"{conversation}/{number}"}, "part": {"B": part}}
            self.client.put_item(TableName="plain-document", Item=item)
        self._parts[conversation] = len(parts)

    def read(self, conversation: str) -> list[Message]:
        """Get the document."""
        keys = [{"id": {"S": f"{conversation}/{number}"}} for number in range(self._parts[conversation])]
        answers = [self.client.get_item(TableName="plain-document", Key=key, ConsistentRead=True) for key in keys]
        messages: list[Message] = json.loads(zlib.decompress(b"".join(one["Item"]["part"]["B"] for one in answers)))
        return messages

    def append(self, conversation: str, message: Message) -> None:
        """Get the document, and put it with the message at the end."""
        self.replace(conversation, [*self.read(conversation), message])


class ItemPerMessage:
    """The cheapest append: each message is a JSON item, and a read queries all items of the conversation.

    Nothing checks an append against the rest of the conversation, and a replacement does not delete removed messages.
    """

    def __init__(self) -> None:
        self.client = boto3.client("dynamodb")
        _create_table("item-per-message", "conversation", "number")

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Put all messages."""
        for number, message in enumerate(messages):
            self._put(conversation, number, message)

    def read(self, conversation: str) -> list[Message]:
        """Query all messages."""
        pages = self.client.get_paginator("query").paginate(
            TableName="item-per-message",
            KeyConditionExpression="conversation = :conversation",
            ExpressionAttributeValues={":conversation": {"S": conversation}},
            ConsistentRead=True,
        )
        return [json.loads(item["message"]["S"]) for page in pages for item in page["Items"]]

    def append(self, conversation: str, message: Message) -> None:
        """Put the message. The time of a later message is higher."""
        self._put(conversation, message["ts"], message)

    def _put(self, conversation: str, number: int, message: Message) -> None:
        text = json.dumps(message, ensure_ascii=False)
        item = {"conversation": {"S": conversation}, "number": {"S": f"{number:012}"}, "message": {"S": text}}
        self.client.put_item(TableName="item-per-message", Item=item)


class LangChainHistory:
    """LangChain's chat history: `DynamoDBChatMessageHistory` of langchain-community.

    The class stores one item for each conversation, with the messages as a list of native maps, and always writes the
    complete item. It cannot replace messages, so a replacement clears the history first. Writers overwrite each other.
    Encryption needs a KMS key, which the documentation omits. A conversation cannot exceed the 400 KB of an item.
    """

    def __init__(self) -> None:
        self._session = boto3.Session()
        _create_table("langchain-history", "SessionId")
        # All conversations share a client, so that one meter counts their requests.
        self._table = self._history("").table
        self.client = self._table.meta.client

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Clear the history and add all messages."""
        self._history(conversation).clear()
        self._history(conversation).add_messages([_to_langchain(message) for message in messages])

    def read(self, conversation: str) -> list[Message]:
        """Return all messages."""
        return [_from_langchain(message) for message in self._history(conversation).messages]

    def append(self, conversation: str, message: Message) -> None:
        """Read the item, and write it with the message at the end."""
        self._history(conversation).add_messages([_to_langchain(message)])

    def _history(self, conversation: str) -> DynamoDBChatMessageHistory:
        history = DynamoDBChatMessageHistory("langchain-history", conversation, boto3_session=self._session)
        history.table = getattr(self, "_table", history.table)
        return history


class LangGraphCheckpointer:
    """LangGraph's checkpoints: `DynamoDBSaver` of langgraph-checkpoint-aws, compressed with gzip, without a bucket.

    The class stores every state of the graph: a small item, one item with all messages as MessagePack, and the writes
    of each step. So each write stores a copy of the conversation. The benchmark uses `update_state`, the cheapest
    change; a run (`invoke`) also stores its input and each step. There is no encryption. States above 400 KB need a
    bucket.
    """

    def __init__(self) -> None:
        _create_table("langgraph", "PK", "SK")
        saver = DynamoDBSaver(table_name="langgraph", enable_checkpoint_compression=True)
        self.client = saver.client
        graph = StateGraph(MessagesState)
        graph.add_node("chat", lambda state: {"messages": []})
        graph.add_edge(START, "chat")
        self._graph = graph.compile(checkpointer=saver)

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Remove all messages and add the new messages in one change of the state."""
        self._update(conversation, [RemoveMessage(id=REMOVE_ALL_MESSAGES), *map(_to_langchain, messages)])

    def read(self, conversation: str) -> list[Message]:
        """Return the messages of the thread's latest state."""
        return [_from_langchain(message) for message in self._graph.get_state(_thread(conversation)).values["messages"]]

    def append(self, conversation: str, message: Message) -> None:
        """Add a message to the state."""
        self._update(conversation, [_to_langchain(message)])

    def _update(self, conversation: str, messages: list[BaseMessage]) -> None:
        self._graph.update_state(_thread(conversation), {"messages": messages})


# The checkpointer logs an item that is too large before it raises.
logging.getLogger("langgraph_checkpoint_aws").setLevel(logging.CRITICAL)


def _thread(conversation: str) -> RunnableConfig:
    return {"configurable": {"thread_id": conversation}}


def _to_langchain(message: Message) -> BaseMessage:
    """Convert a message to LangChain's form. Members without a counterpart go to `additional_kwargs`."""
    kind = HumanMessage if message["from"] == "human" else AIMessage
    return kind(content=message["text"], id=message["mid"], additional_kwargs={"ts": message["ts"]})


def _from_langchain(message: BaseMessage) -> Message:
    """Convert a message from LangChain's form. Numbers arrive as decimals."""
    sender, ts = ("human" if message.type == "human" else "agent"), int(message.additional_kwargs["ts"])
    return {"mid": str(message.id), "from": sender, "type": "text", "text": str(message.content), "ts": ts}


def _create_table(name: str, *keys: str) -> None:
    """Create a table, unless another process has created it."""
    client = boto3.client("dynamodb")
    schema = zip(keys, ("HASH", "RANGE"), strict=False)
    with suppress(client.exceptions.ResourceInUseException):
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
            KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in schema],
        )
