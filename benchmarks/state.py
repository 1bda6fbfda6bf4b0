"""State: the cost of a conversation, compared with common stores on DynamoDB."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol
from unittest import mock

from moto.dynamodb.models.dynamo_type import LimitedSizeDict

from benchmarks import populate
from benchmarks.costs import METRICS, Costs, cost, require_success
from benchmarks.results import DOLLARS, OURS, PRICES, Goal, Row, row
from benchmarks.transcripts import Message, other_messages, transcript, turns, wire_message
from chalicelib import storage
from chalicelib.http import auth
from tests.api import Api
from tests.engines import new_engine

LENGTHS, QUICK_LENGTHS = (10, 100, 1_000), (10, 1_000)
OPERATIONS = ("replace", "read", "append", "first state")
FLOOR, ITEMS = "bare SDK", "items"
HISTORY, CHECKPOINTER = "LangChain as documented", "LangGraph as documented"
# Ten messages cost an item, its index entry, and half a unit for the agent.
_WRITE = {"read units": Goal("<=", 1.5), "write units": Goal("<=", 3)}
_GOALS: dict[tuple[str, int], dict[str, Goal]] = {
    ("read", 10): {"read units": Goal("<=", 1.5)},
    ("replace", 10): _WRITE,
    ("first state", 10): _WRITE,
    ("read", 100): {DOLLARS: Goal("<=", 1, HISTORY)},
    ("replace", 100): {DOLLARS: Goal("<=", 1, CHECKPOINTER)},
    **{("append", length): {DOLLARS: Goal("<=", 1, ITEMS)} for length in LENGTHS},
    **{
        (operation, 1_000): {"requests": Goal("<=", 1, CHECKPOINTER), DOLLARS: Goal("<=", 0.333, CHECKPOINTER)}
        for operation in ("read", "replace")
    },
}
# Appends of one message that are measured at each length. At 1,000 messages, CAMS fills a chunk of about 300 messages,
# and the cost of an append grows until the chunk is complete. The figure is the mean, so a whole chunk is measured.
_APPENDS = 10
_APPENDS_OF_CHUNK = 330


class Store(Protocol):
    """A conversation store. The class of each peer describes its store."""

    client: Any
    """The DynamoDB client that the store uses."""

    def replace(self, conversation: str, messages: Sequence[Message]) -> None:
        """Replace all messages of a conversation."""

    def read(self, conversation: str) -> list[Message]:
        """Return all stored messages."""

    def append(self, conversation: str, message: Message) -> None:
        """Add a message at the end."""


class Ours:
    """The state route of an agent, and the append route of a conversation.

    The service stores a conversation as one encrypted document, in chunks if it is long. It also stores metadata,
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

    def append(self, conversation: str, message: Message) -> None:
        """Send one request to the service."""
        self._send(f"{_interact(conversation)}/messages", {"messages": [wire_message(message)]})

    def warm_up(self) -> None:
        """Let the process cache its caller for 30 seconds."""
        auth.clear_cache()
        self.read("unknown")

    def _exchange(self, conversation: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._send(f"{_interact(conversation)}/state", body)

    def _send(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        sent: dict[str, Any] = require_success(self._api.post(path, body)).json
        return sent


def _interact(conversation: str) -> str:
    return f"/agents/{populate.AGENT}/interact/{conversation}"


def measure(quick: bool) -> list[Row]:
    """Return the rows: the counts of each operation and length."""
    from benchmarks.peers import conversation_stores as peers  # installed only for the benchmarks

    # moto adds the size of the replaced value in an update, so it would reject an item above 200 KB.
    with new_engine(), mock.patch.object(LimitedSizeDict, "__setitem__", dict.__setitem__):
        stores: dict[str, Store] = {
            OURS: Ours(populate.tenant().api),
            FLOOR: peers.PlainDocument(),
            ITEMS: peers.ItemPerMessage(),
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

    A replacement changes the last two messages, as when the user repeats the last turn. An append adds one message; its
    cost is a mean. A first state creates a conversation. Raise AssertionError if a read returns other messages than
    were written.
    """
    conversation, messages = f"costs-{count}", transcript(count)
    again = [*messages[:-2], *other_messages(messages, 2, 1)]
    store.replace(conversation, messages[:-2])
    store.replace(conversation, messages)
    yield "replace", _cost(store, conversation, again, lambda: store.replace(conversation, again))
    yield "read", _cost(store, conversation, again, lambda: store.read(conversation))
    yield "append", _mean_append(store, conversation, again)
    first = f"first-{count}"
    yield "first state", _cost(store, first, messages, lambda: store.replace(first, messages))


def _mean_append(store: Store, conversation: str, stored: list[Message]) -> Costs:
    is_chunked = isinstance(store, Ours) and len(stored) == LENGTHS[-1]
    first, *more = other_messages(stored, 1 + (_APPENDS_OF_CHUNK if is_chunked else _APPENDS), 3)
    store.append(conversation, first)  # after a replacement, the first append to CAMS writes the message index
    counted = []
    for message in more:
        if isinstance(store, Ours):
            store.warm_up()
        counted.append(cost(partial(store.append, conversation, message), store.client))
    if store.read(conversation) != [*stored, first, *more]:
        raise AssertionError(f"{type(store).__name__} does not return the stored messages")
    return {metric: sum(one[metric] for one in counted) / len(counted) for metric in METRICS}


def _cost(store: Store, conversation: str, expected: list[Message], act: Callable[[], object]) -> Costs:
    if isinstance(store, Ours):
        store.warm_up()
    counted = cost(act, store.client)
    if store.read(conversation) != expected:
        raise AssertionError(f"{type(store).__name__} does not return the stored messages")
    return counted
