"""A meter for the requests and capacity units that a block of code consumes through any DynamoDB client.

The test engines report wrong capacities, so the meter computes them from item sizes by DynamoDB's published rules:

- A strongly consistent read costs 1 unit per 4 KB, an eventually consistent read half of that.
- A write costs 1 unit per KB of the larger of the old and the new item.
- A transaction doubles both.
- Each index entry that is put, changed or deleted costs 1 write unit per KB. A changed index key costs two writes.
- Sizes are rounded up per item, or once per query for all items together. Projections and filters do not reduce the
  cost of a read.

An operation without a cost rule raises an error. The meter reads the items before and after a write with a separate
client.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

from botocore.session import Session

from chalicelib import storage
from tests import fast_moto

Item = dict[str, dict[str, Any]]

_KEYED_READS = frozenset({"GetItem", "BatchGetItem", "TransactGetItems"})
_RANGE_READS = frozenset({"Query", "Scan"})
_WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
# Query parameters that narrow the result, and the parameters with their placeholders.
_NARROWING = frozenset({"ProjectionExpression", "FilterExpression", "Select"})
_SUBSTITUTES = ("ExpressionAttributeNames", "ExpressionAttributeValues")


_lock = threading.Lock()


@dataclass
class Meter:
    """The number of requests by operation, the read units, and the write units."""

    requests: Counter[str] = field(default_factory=Counter)
    reads: float = 0
    writes: float = 0

    def add(self, requests: str | None = None, reads: float = 0, writes: float = 0) -> None:
        """Add requests or units. The method is thread-safe."""
        with _lock:
            self.requests.update([requests] if requests else ())
            self.reads += reads
            self.writes += writes

    @property
    def total(self) -> int:
        """Return the total number of requests."""
        return sum(self.requests.values())


@contextmanager
def metered(client: Any = None) -> Iterator[Meter]:
    """Count all requests of a DynamoDB client inside the block. The default client is the service's.

    For a boto3 resource, pass its `meta.client`. A request that the SDK retries counts once. Raise ValueError for an
    operation without a cost rule.
    """
    asked = client or storage.sdk_client("dynamodb")
    meter, events = Meter(), asked.meta.events
    recorder = _Recorder(meter, _plain(asked.meta.endpoint_url, asked.meta.region_name))
    # Read the encoded request, because its values look the same for clients and resources.
    events.register("before-call.dynamodb.*", recorder.before)
    events.register("after-call.dynamodb.*", recorder.after)
    try:
        yield meter
    finally:
        events.unregister("before-call.dynamodb.*", recorder.before)
        events.unregister("after-call.dynamodb.*", recorder.after)


@lru_cache
def _plain(endpoint: str, region: str) -> Any:
    # Use the environment's credentials, because the local engine rejects all others.
    client = Session().create_client("dynamodb", region, endpoint_url=endpoint)
    fast_moto.attach(client)
    return client


class _Place(NamedTuple):
    table: str
    key: Item
    strong: bool = True


class _Recorder(threading.local):  # each thread sends one request at a time
    def __init__(self, meter: Meter, engine: Any) -> None:
        self._meter = meter
        self._engine = engine
        self._sent: dict[str, Any] = {}
        self._old: list[Item] = []
        self._tables: dict[str, dict[str, Any]] = {}

    def before(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        """Remember the request and read the items that it replaces."""
        if model.name not in _KEYED_READS | _RANGE_READS | _WRITES:
            raise ValueError(f"There is no cost rule for {model.name}.")
        self._sent = json.loads(params["body"])
        self._old = [self._stored(place) for place in self._written(model.name)]

    def after(self, http_response: Any, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        """Add the cost of the request. A failed request is counted, but costs no units."""
        self._meter.add(requests=model.name)
        if http_response.status_code != 200:
            return
        doubled = 2 if model.name.startswith("Transact") else 1
        for place in _read(model.name, self._sent):
            self._meter.add(reads=doubled * _read_units(size(self._stored(place)), strong=place.strong))
        if model.name in _RANGE_READS:
            self._meter.add(reads=_read_units(self._bytes_read(model.name, parsed), strong=_is_strong(self._sent)))
        for place, old in zip(self._written(model.name), self._old, strict=True):
            new = self._stored(place)
            index_units = sum(self._index_units(place.table, old, new))
            self._meter.add(writes=doubled * _write_units(old, new) + index_units)

    def _bytes_read(self, operation: str, answer: dict[str, Any]) -> int:
        """Return how many bytes a query or scan read. Repeat a narrowed request without the narrowing parameters."""
        if not _NARROWING & self._sent.keys():
            return sum(map(size, answer["Items"]))
        request = {name: value for name, value in self._sent.items() if name not in _NARROWING}
        for name in _SUBSTITUTES:
            used = self._sent.get("KeyConditionExpression", "")
            request[name] = {one: value for one, value in request.get(name, {}).items() if one in used}
        ask = self._engine.query if operation == "Query" else self._engine.scan
        return sum(map(size, ask(**{name: value for name, value in request.items() if value != {}})["Items"]))

    def _written(self, operation: str) -> list[_Place]:
        """Return the items that a request writes, or that a transaction checks."""
        if operation not in _WRITES:
            return []
        steps = [self._sent]
        if operation == "TransactWriteItems":
            steps = [step for item in self._sent["TransactItems"] for step in item.values()]
        elif operation == "BatchWriteItem":
            asked = self._sent["RequestItems"].items()
            steps = [{"TableName": table, **step} for table, many in asked for one in many for step in one.values()]
        keys = (step.get("Key") or self._key(step["TableName"], step["Item"]) for step in steps)
        return [_Place(step["TableName"], key) for step, key in zip(steps, keys, strict=True)]

    def _key(self, table: str, item: Item) -> Item:
        return {one["AttributeName"]: item[one["AttributeName"]] for one in self._described(table)["KeySchema"]}

    def _stored(self, place: _Place) -> Item:
        answer = self._engine.get_item(TableName=place.table, Key=place.key, ConsistentRead=True)
        found: Item = answer.get("Item", {})
        return found

    def _described(self, table: str) -> dict[str, Any]:
        if table not in self._tables:
            self._tables[table] = self._engine.describe_table(TableName=table)["Table"]
        return self._tables[table]

    def _index_units(self, table: str, old: Item, new: Item) -> Iterator[int]:
        if self._described(table).get("LocalSecondaryIndexes"):
            raise ValueError("There is no cost rule for a local index.")
        for index in self._described(table).get("GlobalSecondaryIndexes", []):
            keys = {one["AttributeName"] for one in index["KeySchema"]}
            before, after = (self._entry(table, index, item) for item in (old, new))
            if before and after and any(before[name] != after[name] for name in keys):
                yield _write_units(before) + _write_units(after)
            elif before != after:
                yield _write_units(before, after)

    def _entry(self, table: str, index: dict[str, Any], item: Item) -> Item:
        """Return an item's index entry. The entry is empty if the item lacks the index key."""
        keys, projection = {one["AttributeName"] for one in index["KeySchema"]}, index["Projection"]
        if not keys <= set(item):
            return {}
        shown = keys | set(self._key(table, item)) | set(projection.get("NonKeyAttributes", []))
        return {name: value for name, value in item.items() if name in shown or projection["ProjectionType"] == "ALL"}


def size(item: Item) -> int:
    """Return an item's size in bytes, including attribute names and values."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: dict[str, Any]) -> int:
    ((kind, content),) = value.items()
    if kind == "S":
        return len(content.encode())
    if kind == "B":
        return len(content)
    if kind == "N":
        return _number_size(content)
    if kind == "L":
        return 3 + sum(1 + _value_size(one) for one in content)
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + _value_size(one) for name, one in content.items())
    if kind in {"SS", "NS", "BS"}:
        return sum(_value_size({kind[0]: one}) for one in content)
    return 1  # a boolean, null


def _number_size(content: str) -> int:
    digits = content.lstrip("-").partition("E")[0].replace(".", "").strip("0")
    return ceil(len(digits) / 2) + 1


def _read(operation: str, sent: dict[str, Any]) -> list[_Place]:
    """Return the item keys that a request reads."""
    if operation == "GetItem":
        return [_Place(sent["TableName"], sent["Key"], _is_strong(sent))]
    if operation == "TransactGetItems":
        return [_Place(one["Get"]["TableName"], one["Get"]["Key"]) for one in sent["TransactItems"]]
    if operation == "BatchGetItem":
        return [
            _Place(table, key, _is_strong(one)) for table, one in sent["RequestItems"].items() for key in one["Keys"]
        ]
    return []


def _is_strong(sent: dict[str, Any]) -> bool:
    return bool(sent.get("ConsistentRead", False))


def _read_units(bytes_read: int, *, strong: bool) -> float:
    return max(1, ceil(bytes_read / 4096)) * (1 if strong else 0.5)


def _write_units(*items: Item) -> int:
    return max(1, ceil(max(map(size, items)) / 1024))
