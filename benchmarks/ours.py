"""CAMS as a store of conversations: its state route, called with gateway events, and what that costs.

Imports nothing that only the benchmarks have: a test holds these counts, too.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from benchmarks.transcripts import Message, other, transcript, turns
from chalicelib import storage
from chalicelib.http import auth
from tests.api import Api
from tests.capacity import metered

COUNTS = (10, 100, 1_000, 5_000)
OPERATIONS = ("replace", "read", "append", "rewrite")

Costs = dict[str, float]
"""Metric -> value."""


class Store(Protocol):
    """Keeps conversations; what it is, a peer's module says."""

    def client(self, conversation: str) -> Any:
        """The DynamoDB client that a conversation is kept through."""

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Keep exactly these messages, whatever there was."""

    def read(self, conversation: str) -> list[Message]:
        """All messages that are kept."""

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Keep more messages behind those that are kept."""


class TooLong(Exception):
    """The service says that it does not keep a conversation of this length."""


class Ours:
    """The state route of an agent.

    Keeps a conversation as one sealed document, in parts where an item cannot hold it, with its metadata and a mark of
    every message that ever came. It knows the agent, refuses a writer that is late, and tells webhooks what is new.
    """

    def __init__(self, api: Api, agent_id: str) -> None:
        self._api = api
        self._path = f"/agents/{agent_id}/interact"

    def client(self, conversation: str) -> Any:
        """The process's one DynamoDB client."""
        return storage.sdk_client("dynamodb")

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """One request to the service."""
        self._exchange(conversation, {"turns": turns(messages)})

    def read(self, conversation: str) -> list[Message]:
        """One request to the service."""
        return [_message(turn) for turn in self._exchange(conversation, {})["turns"]]

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """What a caller does who has only what is stored: read, then replace with more behind it."""
        self.replace(conversation, [*self.read(conversation), *messages])

    def introduce(self) -> None:
        """Let the process look its caller up, which it then knows for 30 seconds."""
        auth.clear_cache()
        self.read("nobody")

    def _exchange(self, conversation: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._api.post(f"{self._path}/{conversation}/state", body)
        if answer.status == 413:
            raise TooLong(answer.json["message"])
        if answer.status != 200:
            raise AssertionError(answer.text[:1000])
        exchanged: dict[str, Any] = answer.json
        return exchanged


def case(operation: str, length: int) -> str:
    """What an operation on a conversation of so many messages is called in the results."""
    return f"{operation}, {length:,} messages"


def costs(store: Store, count: int) -> Iterator[tuple[str, Costs]]:
    """What each operation costs for a conversation of `count` messages: its name, and metric -> value.

    A replacement has the same messages but for the last two, as when the last turn is done over; a "rewrite" has none
    of those that were there. Fails unless each is read back as it should be.
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


def _cost(store: Store, conversation: str, expected: list[Message], act: Callable[[], object]) -> Costs:
    if isinstance(store, Ours):
        store.introduce()
    with metered(store.client(conversation)) as meter:
        act()
    if store.read(conversation) != expected:
        raise AssertionError(f"{type(store).__name__} does not answer what was kept")
    units = {"read units": meter.reads, "write units": meter.writes, "capacity units": meter.reads + meter.writes}
    return {"requests": meter.total, **units}


def _message(turn: dict[str, Any]) -> Message:
    said = turn["messages"]
    return {
        "mid": said["mid"],
        "from": said["from"],
        "type": said["type"],
        "text": said["item"]["text"],
        "ts": said["ts"],
    }
