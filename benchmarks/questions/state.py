"""State: the cost of a conversation compared with common stores on DynamoDB, and its largest size."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count, islice, product
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from benchmarks import populate
from benchmarks.measure import latency
from benchmarks.ours import COUNTS, OPERATIONS, Costs, Ours, Store, TooLong, case, costs
from benchmarks.peers import langchain_history, langgraph_checkpointer, native_maps
from benchmarks.peers.plain_document import PlainDocument
from benchmarks.results import Goal, Row, row
from benchmarks.transcripts import Message, other, transcript, transcript_of

if TYPE_CHECKING:
    from benchmarks.run import Run

TITLE = "State: cost and largest size of a conversation"
OURS, FLOOR, AGAIN = "ours", "floor", "floor, second run"
QUICK_COUNTS = (COUNTS[0], COUNTS[2])
TIMED = OPERATIONS[:3]
LARGEST = 2 * 1024 * 1024
_WRITTEN = {"read units": [Goal("<=", 1.5)], "write units": [Goal("<=", 3)]}
_LONG_CAPACITY = {"capacity units": [Goal("<=", 0.333, "best peer"), Goal("<=", 0.1, "worst peer")]}
# Operation and length -> metric -> goals. Ten messages cost a bare item, its index entry and half a unit for the agent.
_GOALS: dict[tuple[str, int], dict[str, list[Goal]]] = {
    ("read", 10): {"read units": [Goal("<=", 1.5)]},
    ("replace", 10): _WRITTEN,
    ("first state", 10): _WRITTEN,
    ("read", 100): {"capacity units": [Goal("<=", 1, "worst peer")]},
    ("replace", 100): {"capacity units": [Goal("<=", 1, "best peer")]},
    ("read", 1_000): _LONG_CAPACITY,
    ("replace", 1_000): _LONG_CAPACITY,
    ("append", 1_000): _LONG_CAPACITY,
}
_ROUNDS, _LONG_ROUNDS, _QUICK_ROUNDS = 5, 3, 3
_LONG = 1_000
# Start and relative precision of the search for the largest conversation.
_SMALLEST, _PART = 256 * 1024, 1 / 32
_QUICK_SMALLEST, _QUICK_PART = LARGEST, 1


def measure(run: "Run") -> list[Row]:
    """Return the rows: counts and latency of each operation and length, and each store's largest conversation.

    The quick run times only the shortest conversation, and searches only the limit of CAMS.
    """
    with populate.service(run.engine) as tenant:
        stores: dict[str, Store] = {OURS: Ours(tenant.api, populate.AGENT), FLOOR: PlainDocument(), **_peers()}
        return [*_operations(run, stores), _largest_row(run, stores)]


def _operations(run: "Run", stores: dict[str, Store]) -> list[Row]:
    lengths, operations = (QUICK_COUNTS, TIMED) if run.quick else (COUNTS, OPERATIONS)
    counted: dict[int, dict[str, dict[str, Costs]]] = {length: {} for length in lengths}
    for length, name in run.each(list(product(lengths, stores)), "counting"):
        counted[length][name] = _costs(stores[name], length, len(operations))
    rows = [one for length in lengths for one in _count_rows(length, operations, counted[length])]
    timed = lengths[:1] if run.quick else lengths
    for length, operation in run.each(list(product(timed, TIMED)), "timing", lambda one: case(one[1], one[0])):
        able = {name: store for name, store in stores.items() if operation in counted[length][name]}
        batches = {name: _batch(store, operation, length) for name, store in able.items()}
        batches[AGAIN] = _batch(stores[FLOOR], operation, length)
        rounds = _QUICK_ROUNDS if run.quick else _LONG_ROUNDS if length >= _LONG else _ROUNDS
        rows += _latency_rows(case(operation, length), latency.ratios(batches, FLOOR, rounds), list(stores))
    return rows


def _largest_row(run: "Run", stores: dict[str, Store]) -> Row:
    names = [OURS] if run.quick else [name for name in stores if name != FLOOR]
    search = (_QUICK_SMALLEST, _QUICK_PART) if run.quick else (_SMALLEST, _PART)
    found = {name: _largest(stores[name], *search) for name in run.each(names, "searching the limit of", str)}
    ours, goals = found.pop(OURS), [Goal(">=", LARGEST)]
    return row("state", "largest conversation", "bytes", "bytes", ours, peers=found, goals=goals)


def _peers() -> dict[str, Store]:
    return {
        langchain_history.NAME: langchain_history.LangChainHistory(),
        langgraph_checkpointer.NAME: langgraph_checkpointer.LangGraphCheckpointer(compressed=False),
        langgraph_checkpointer.NAME_COMPRESSED: langgraph_checkpointer.LangGraphCheckpointer(compressed=True),
        native_maps.NAME: native_maps.NativeMaps(),
    }


def _costs(store: Store, length: int, operations: int) -> dict[str, Costs]:
    """Return the costs of the first `operations` operations that the store supports at this length."""
    found: dict[str, Costs] = {}
    try:
        for operation, cost in islice(costs(store, length), operations):
            found[operation] = cost
    except (ClientError, TooLong) as error:
        _require_too_long(error)
    return found


def _require_too_long(error: Exception) -> None:
    """Raise the error again unless it means that the conversation is too long."""
    code = error.response["Error"]["Code"] if isinstance(error, ClientError) else ""
    message = str(error)
    if not isinstance(error, TooLong) and not (code == "ValidationException" and "size" in message):
        raise error


def _count_rows(length: int, operations: Sequence[str], found: dict[str, dict[str, Costs]]) -> list[Row]:
    rows: list[Row] = []
    for operation, metric in product(operations, ("requests", "read units", "write units", "capacity units")):
        values = {name: one[operation][metric] if operation in one else None for name, one in found.items()}
        ours, floor = values.pop(OURS), values.pop(FLOOR)
        goals = _goals(operation, length, metric, found)
        rows.append(row("state", case(operation, length), metric, "", ours, peers=values, floor=floor, goals=goals))
    return rows


def _goals(operation: str, length: int, metric: str, found: dict[str, dict[str, Costs]]) -> list[Goal]:
    """Return the goals. Long conversations take no more requests than the peer with the best capacity."""
    if length == _LONG and metric == "requests" and operation in TIMED:
        units = {name: one[operation]["capacity units"] for name, one in found.items() if operation in one}
        best = min(units.keys() - {OURS, FLOOR}, key=lambda name: (units[name], name))
        return [Goal("<=", 1, best)]
    return _GOALS.get((operation, length), {}).get(metric, [])


def _latency_rows(name: str, found: dict[str, latency.Ratio], peers: list[str]) -> list[Row]:
    """Return rows with the quartiles and the A/A ratio of the floor."""
    rows: list[Row] = []
    for quartile in ("median", "lower quartile", "upper quartile"):
        values = {store: getattr(ratio, quartile.split()[0]) for store, ratio in found.items()}
        metric = "latency" if quartile == "median" else f"latency, {quartile}"
        others = {store: values.get(store) for store in peers if store not in (OURS, FLOOR)}
        rows.append(row("state", name, metric, "x", values[OURS], peers=others, floor=values[FLOOR]))
        if quartile == "median":
            rows.append(row("state", name, "latency, A/A", "x", values[AGAIN], floor=values[FLOOR]))
    return rows


def _batch(store: Store, operation: str, length: int) -> latency.Batch:
    """Return a batch of operations on one conversation. Appending resets it before it grows by more than 5 %."""
    conversation, messages = f"{operation}-{length}", transcript(length)
    numbers = count()
    appended = 0
    store.replace(conversation, messages)

    def replacement() -> list[Message]:
        return [*messages[:-2], *other(messages, 2, next(numbers))]

    def batch(size: int) -> list[Callable[[], object]]:
        nonlocal appended
        if operation == "read":
            return [partial(store.read, conversation)] * size
        if operation == "replace":
            return [partial(store.replace, conversation, replacement()) for _ in range(size)]
        if appended > length / 20:
            store.replace(conversation, replacement())
            appended = 0
        appended += 2 * size
        return [partial(store.append, conversation, other(messages, 2, next(numbers))) for _ in range(size)]

    return batch


def _largest(store: Store, smallest: int, part: float) -> int:
    """Return the JSON bytes of the largest conversation that the store returns unchanged, to a precision of `part`."""
    kept, refused = smallest // 2, smallest
    while _keeps(store, refused):
        kept, refused = refused, 2 * refused
    while refused - kept > kept * part:
        between = (kept + refused) // 2
        kept, refused = (between, refused) if _keeps(store, between) else (kept, between)
    return kept


def _keeps(store: Store, size: int) -> bool:
    messages = transcript_of(size)
    try:
        store.replace(f"of-{size}", messages)
    except (ClientError, TooLong) as error:
        _require_too_long(error)
        return False
    if store.read(f"of-{size}") != messages:
        raise AssertionError(f"{type(store).__name__} does not return the stored messages")
    return True
