"""LangGraph's checkpoints on DynamoDB: `DynamoDBSaver` of langgraph-checkpoint-aws, without an S3 bucket.

It stores every state of the graph: a small item, one item with all messages as MessagePack (optionally gzipped), and
the writes of each step. So each write stores the conversation again until it is deleted. The benchmark uses
`update_state`, the cheapest change; a run (`invoke`) also stores its input and each step. There is no encryption.
States above 400 KB need the bucket.
"""

import logging
from collections.abc import Sequence
from typing import Any

import boto3
from langchain_core.messages import BaseMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph_checkpoint_aws import DynamoDBSaver

from benchmarks.peers.langchain_history import from_langchain, to_langchain
from benchmarks.transcripts import Message

NAME = "LangGraph checkpointer"
NAME_COMPRESSED = "LangGraph checkpointer (gzip)"

# It logs an item that is too large before it raises.
logging.getLogger("langgraph_checkpoint_aws").setLevel(logging.CRITICAL)


class LangGraphCheckpointer:
    """A graph with one node and its own table; a conversation is a thread."""

    def __init__(self, *, compressed: bool) -> None:
        table = "peer-langgraph-gzip" if compressed else "peer-langgraph"
        boto3.client("dynamodb").create_table(
            TableName=table,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK")],
            KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        )
        self._saver = DynamoDBSaver(table_name=table, enable_checkpoint_compression=compressed)
        graph = StateGraph(MessagesState)
        graph.add_node("chat", lambda state: {"messages": []})
        graph.add_edge(START, "chat")
        self._graph = graph.compile(checkpointer=self._saver)

    def client(self, conversation: str) -> Any:
        """Return its DynamoDB client."""
        return self._saver.client

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Remove all messages and add these in one change of the state."""
        self._update(conversation, [RemoveMessage(id=REMOVE_ALL_MESSAGES), *map(to_langchain, messages)])

    def read(self, conversation: str) -> list[Message]:
        """Return the messages of the thread's latest state."""
        return [from_langchain(one) for one in self._graph.get_state(_thread(conversation)).values["messages"]]

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Add messages to the state."""
        self._update(conversation, [to_langchain(one) for one in messages])

    def _update(self, conversation: str, messages: list[BaseMessage]) -> None:
        self._graph.update_state(_thread(conversation), {"messages": messages})


def _thread(conversation: str) -> RunnableConfig:
    return {"configurable": {"thread_id": conversation}}
