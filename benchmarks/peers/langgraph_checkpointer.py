"""LangGraph's checkpoints on DynamoDB: `DynamoDBSaver` of langgraph-checkpoint-aws, without an S3 bucket.

Keeps every state that the graph ever had: for each a small item, and one with all messages as MessagePack, whole, or
gzipped where the option for it is set; and beside that what each step wrote. So a conversation is stored as often as it
was written, until somebody deletes it. The state is changed by `update_state`, the least that a graph offers: a run of
it (`invoke`) stores its input and each of its steps. No encryption; what is beyond 400 KB needs the bucket.
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
NAME_COMPRESSED = "LangGraph checkpointer, gzip"

# It writes a line for an item that is too large, and raises.
logging.getLogger("langgraph_checkpoint_aws").setLevel(logging.CRITICAL)


class LangGraphCheckpointer:
    """A graph of one node over a table of its own; a conversation is a thread."""

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
        """The DynamoDB client that it asks."""
        return self._saver.client

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Remove all messages and add these, as one change of the state."""
        self._update(conversation, [RemoveMessage(id=REMOVE_ALL_MESSAGES), *map(to_langchain, messages)])

    def read(self, conversation: str) -> list[Message]:
        """The messages of the thread's latest state."""
        return [from_langchain(one) for one in self._graph.get_state(_thread(conversation)).values["messages"]]

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Add messages to the state."""
        self._update(conversation, [to_langchain(one) for one in messages])

    def _update(self, conversation: str, messages: list[BaseMessage]) -> None:
        self._graph.update_state(_thread(conversation), {"messages": messages})


def _thread(conversation: str) -> RunnableConfig:
    return {"configurable": {"thread_id": conversation}}
