"""CAMS as a conversation store: calls its state route with gateway events and counts the costs.

Tests check the same counts, so this module imports no package that only the benchmarks install.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from benchmarks.transcripts import Message, other, transcript, turns
from chalicelib import storage
from chalicelib.http import auth
from tests.api import Api
from tests.capacity import metered

COUNTS = (10, 100, 1_000, 5_000)
OPERATIONS = ("replace", "read", "append", "rewrite", "first state")

Costs = dict[str, float]
"""Metric -> value."""


class Store(Protocol):
    """A conversation store. Each peer's module describes its own."""

    def client(self, conversation: str) -> Any:
        """Return the DynamoDB client that stores a conversation."""

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Replace all messages of a conversation."""

    def read(self, conversation: str) -> list[Message]:
        """Return all stored messages."""

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Add messages at the end."""


class TooLong(Exception):
    """The service refuses a conversation of this length."""


class Ours:
    """The state route of an agent.

    Stores a conversation as one sealed document, in chunks if it exceeds an item. With it, the route stores metadata,
    counters, and a digest of each message that was removed. It reads the agent, refuses a stale write and records new
    messages.
    """

    def __init__(self, api: Api, agent_id: str) -> None:
        self._api = api
        self._path = f"/agents/{agent_id}/interact"

    def client(self, conversation: str) -> Any:
        """Return the process's only DynamoDB client."""
        return storage.sdk_client("dynamodb")

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """One request to the service."""
        self._exchange(conversation, {"turns": turns(messages)})

    def read(self, conversation: str) -> list[Message]:
        """One request to the service."""
        return [_message(turn) for turn in self._exchange(conversation, {})["turns"]]

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Read the stored messages, then replace them with more at the end."""
        self.replace(conversation, [*self.read(conversation), *messages])

    def warm_up(self) -> None:
        """Let the process cache its caller for 30 seconds."""
        auth.clear_cache()
        self.read("unknown")

    def _exchange(self, conversation: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._api.post(f"{self._path}/{conversation}/state", body)
        if answer.status == 413:
            raise TooLong(answer.json["message"])
        if answer.status != 200:
            raise AssertionError(answer.text[:1000])
        exchanged: dict[str, Any] = answer.json
        return exchanged


def case(operation: str, length: int) -> str:
    """Return the name in the results of an operation on a conversation of `length` messages."""
    return f"{operation}, {length:,} messages"


def costs(store: Store, count: int) -> Iterator[tuple[str, Costs]]:
    """Yield each operation and its costs, for a conversation of `count` messages.

    A replacement changes the last two messages, as when the user repeats the last turn. A rewrite shares no message
    with the stored conversation. A first state creates a conversation. Raises AssertionError if a read returns other
    messages than were written.
    """
    conversation, messages = f"costs-{count}", transcript(count)
    again, more = [*messages[:-2], *other(messages, 2, 1)], other(messages, 2, 2)
    new = other(messages, count, 3)
    store.replace(conversation, messages[:-2])
    store.append(conversation, messages[-2:])
    yield "replace", _cost(store, conversation, again, lambda: store.replace(conversation, again))
    yield "read", _cost(store, conversation, again, lambda: store.read(conversation))
    yield "append", _cost(store, conversation, [*again, *more], lambda: store.append(conversation, more))
    yield "rewrite", _cost(store, conversation, new, lambda: store.replace(conversation, new))
    first = f"first-{count}"
    yield "first state", _cost(store, first, messages, lambda: store.replace(first, messages))


def _cost(store: Store, conversation: str, expected: list[Message], act: Callable[[], object]) -> Costs:
    if isinstance(store, Ours):
        store.warm_up()
    with metered(store.client(conversation)) as meter:
        act()
    if store.read(conversation) != expected:
        raise AssertionError(f"{type(store).__name__} does not return the stored messages")
    units = {"read units": meter.reads, "write units": meter.writes, "capacity units": meter.reads + meter.writes}
    return {"requests": meter.total, **units}


def _message(turn: dict[str, Any]) -> Message:
    message = turn["messages"]
    return {
        "mid": message["mid"],
        "from": message["from"],
        "type": message["type"],
        "text": message["item"]["text"],
        "ts": message["ts"],
    }
