"""State: the cost of a conversation, compared with common stores on DynamoDB."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol
from unittest import mock

from moto.dynamodb.models.dynamo_type import LimitedSizeDict

from benchmarks import populate
from benchmarks.costs import Costs, cost
from benchmarks.results import OURS, PRICES, Goal, Row, row
from benchmarks.transcripts import Message, other_messages, transcript, turns
from chalicelib import storage
from chalicelib.http import auth
from tests.api import Api
from tests.engines import new_engine

LENGTHS, QUICK_LENGTHS = (10, 100, 1_000), (10, 1_000)
OPERATIONS = ("replace", "read", "append", "first state")
FLOOR, HISTORY, CHECKPOINTER = "bare SDK", "LangChain history", "LangGraph checkpointer"
DOLLARS = "dollars per million"
# Ten messages cost an item, its index entry, and half a unit for the agent.
_WRITE = {"read units": Goal("<=", 1.5), "write units": Goal("<=", 3)}
_GOALS: dict[tuple[str, int], dict[str, Goal]] = {
    ("read", 10): {"read units": Goal("<=", 1.5)},
    ("replace", 10): _WRITE,
    ("first state", 10): _WRITE,
    ("read", 100): {DOLLARS: Goal("<=", 1, HISTORY)},
    ("replace", 100): {DOLLARS: Goal("<=", 1, CHECKPOINTER)},
    **{
        (operation, 1_000): {"requests": Goal("<=", 1, CHECKPOINTER), DOLLARS: Goal("<=", 0.333, CHECKPOINTER)}
        for operation in ("read", "replace", "append")
    },
}


class Store(Protocol):
    """A conversation store. The class of each peer describes its store."""

    client: Any
    """The DynamoDB client that the store uses."""

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Replace all messages of a conversation."""

    def read(self, conversation: str) -> list[Message]:
        """Return all stored messages."""

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Add messages at the end."""


class Ours:
    """The state route of an agent.

    The route stores a conversation as one encrypted document, in chunks if it exceeds an item. It also stores metadata,
    counters, and a digest of each removed message. It reads the agent, rejects a stale write and records new messages.
    """

    def __init__(self, api: Api) -> None:
        self.client = storage.sdk_client("dynamodb")
        self._api = api

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Send one request to the service."""
        self._exchange(conversation, {"turns": turns(messages)})

    def read(self, conversation: str) -> list[Message]:
        """Send one request to the service."""
        answered = [turn["messages"] for turn in self._exchange(conversation, {})["turns"]]
        return [
            {
                "mid": message["mid"],
                "from": message["from"],
                "type": message["type"],
                "text": message["item"]["text"],
                "ts": message["ts"],
            }
            for message in answered
        ]

    def append(self, conversation: str, messages: Sequence[Message]) -> None:
        """Read the stored messages, and write them again with the new messages at the end."""
        self.replace(conversation, [*self.read(conversation), *messages])

    def warm_up(self) -> None:
        """Let the process cache its caller for 30 seconds."""
        auth.clear_cache()
        self.read("unknown")

    def _exchange(self, conversation: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._api.post(f"/agents/{populate.AGENT}/interact/{conversation}/state", body)
        if answer.status != 200:
            raise AssertionError(answer.text[:1000])
        exchanged: dict[str, Any] = answer.json
        return exchanged


def measure(quick: bool) -> list[Row]:
    """Return the rows: the counts of each operation and length."""
    from benchmarks.peers import conversation_stores as peers  # installed only for the benchmarks

    # moto adds the size of the replaced value in an update, so it would reject an item above 200 KB.
    with new_engine(), mock.patch.object(LimitedSizeDict, "__setitem__", dict.__setitem__):
        stores: dict[str, Store] = {
            OURS: Ours(populate.tenant().api),
            FLOOR: peers.PlainDocument(),
            HISTORY: peers.LangChainHistory(),
            CHECKPOINTER: peers.LangGraphCheckpointer(),
        }
        return [measured for length in (QUICK_LENGTHS if quick else LENGTHS) for measured in _rows(stores, length)]


def _rows(stores: dict[str, Store], length: int) -> Iterator[Row]:
    counted = {name: dict(costs(store, length)) for name, store in stores.items()}
    for operation in OPERATIONS:
        of_stores = {name: with_dollars(operations[operation]) for name, operations in counted.items()}
        for metric in of_stores[OURS]:
            figures = {name: values[metric] for name, values in of_stores.items()}
            yield row(case(operation, length), metric, figures, _GOALS.get((operation, length), {}).get(metric))


def with_dollars(values: Costs) -> Costs:
    """Return the costs, including the price of a million operations. A write unit costs five times a read unit."""
    return {**values, DOLLARS: sum(values[metric] * price for metric, price in PRICES.items())}


def case(operation: str, length: int) -> str:
    """Return the case name in the results for an operation on a conversation of `length` messages."""
    return f"{operation}, {length:,} messages"


def costs(store: Store, count: int) -> Iterator[tuple[str, Costs]]:
    """Yield each operation and its costs, for a conversation of `count` messages.

    A replacement changes the last two messages, as when the user repeats the last turn. A first state creates a
    conversation. Raise AssertionError if a read returns other messages than were written.
    """
    conversation, messages = f"costs-{count}", transcript(count)
    again, more = [*messages[:-2], *other_messages(messages, 2, 1)], other_messages(messages, 2, 3)
    store.replace(conversation, messages[:-2])
    store.append(conversation, messages[-2:])
    yield "replace", _cost(store, conversation, again, lambda: store.replace(conversation, again))
    yield "read", _cost(store, conversation, again, lambda: store.read(conversation))
    yield "append", _cost(store, conversation, [*again, *more], lambda: store.append(conversation, more))
    first = f"first-{count}"
    yield "first state", _cost(store, first, messages, lambda: store.replace(first, messages))


def _cost(store: Store, conversation: str, expected: list[Message], act: Callable[[], object]) -> Costs:
    if isinstance(store, Ours):
        store.warm_up()
    counted = cost(act, store.client)
    if store.read(conversation) != expected:
        raise AssertionError(f"{type(store).__name__} does not return the stored messages")
    return counted
