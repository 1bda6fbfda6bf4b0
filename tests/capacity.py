"""Requests and capacity units of what a block of code does, counted at the SDK's client.

The engines of the tests report capacity wrongly, so it is computed from item sizes by DynamoDB's
published rules: a strongly consistent read 1 unit for each 4 KB, an eventually consistent one half, a
write 1 unit for each KB of the larger of the old and the new item, both doubled in a transaction, and
1 more write for each KB of an index entry that a write changes. Sizes are rounded up per item, and per
query for all of its items together.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from chalicelib import storage
from infra import tables

Item = dict[str, dict[str, Any]]


@dataclass
class Meter:
    """What was counted: requests by operation, read units and write units."""

    requests: Counter[str] = field(default_factory=Counter)
    reads: float = 0
    writes: float = 0

    @property
    def total(self) -> int:
        """All requests."""
        return sum(self.requests.values())


@contextmanager
def metered() -> Iterator[Meter]:
    """Count everything that the process's DynamoDB client sends inside the block."""
    meter, events = Meter(), storage.client("dynamodb").meta.events
    recorder = _Recorder(meter)
    events.register("provide-client-params.dynamodb.*", recorder.before)
    events.register("after-call.dynamodb.*", recorder.after)
    try:
        yield meter
    finally:
        events.unregister("provide-client-params.dynamodb.*", recorder.before)
        events.unregister("after-call.dynamodb.*", recorder.after)


class _Recorder:
    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._asking = False
        self._params: dict[str, Any] = {}
        self._old: list[Item] = []

    def before(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        """Remember the request, and the items it is about to replace."""
        if self._asking:
            return
        self._params = params
        self._old = [self._stored(table, key) for _, table, key, _ in _written(model.name, params)]

    def after(self, http_response: Any, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        """Add up what the request has cost; one that failed costs its request."""
        if self._asking:
            return
        self._meter.requests[model.name] += 1
        if http_response.status_code != 200:
            return
        self._meter.reads += _read_units(model.name, self._params, parsed)
        factor = 2 if model.name == "TransactWriteItems" else 1
        for (_, table, key, _), old in zip(_written(model.name, self._params), self._old, strict=True):
            new = self._stored(table, key)
            self._meter.writes += factor * max(1, ceil(max(size(old), size(new)) / 1024))
            self._meter.writes += _index_units(table, old, new)

    def _stored(self, table: str, key: Item) -> Item:
        self._asking = True
        try:
            answer = storage.client("dynamodb").get_item(TableName=table, Key=key, ConsistentRead=True)
        finally:
            self._asking = False
        found: Item = answer.get("Item", {})
        return found


def size(item: Item) -> int:
    """An item's size in bytes: names and values."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: dict[str, Any]) -> int:
    ((kind, content),) = value.items()
    if kind == "N":
        return ceil(len(content.lstrip("-").replace(".", "")) / 2) + 1
    return len(content.encode()) if kind == "S" else len(content) if kind == "B" else 1


def _written(operation: str, params: dict[str, Any]) -> list[tuple[str, str, Item, Item]]:
    """What a request writes or checks: kind, table, key, and nothing for the rest."""
    if operation == "TransactWriteItems":
        steps = [(kind, step) for item in params["TransactItems"] for kind, step in item.items()]
    elif operation == "BatchWriteItem":
        asked = [(table, one) for table, several in params["RequestItems"].items() for one in several]
        steps = [(kind, {"TableName": table, **step}) for table, one in asked for kind, step in one.items()]
    elif operation in {"PutItem", "UpdateItem", "DeleteItem"}:
        steps = [(operation.removesuffix("Item"), params)]
    else:
        return []
    return [
        (kind, step["TableName"], step.get("Key") or _key(step["TableName"], step["Item"]), {}) for kind, step in steps
    ]


def _declared(table: str) -> dict[str, Any]:
    prefix = storage.table("")
    return next(
        one for one in tables.declared("AWS::DynamoDB::Table") if tables._name(one["TableName"], prefix) == table
    )


def _key(table: str, item: Item) -> Item:
    return {one["AttributeName"]: item[one["AttributeName"]] for one in _declared(table)["KeySchema"]}


def _read_units(operation: str, params: dict[str, Any], parsed: dict[str, Any]) -> float:
    if operation == "GetItem":
        return _rounded(size(parsed.get("Item", {})), strong=params.get("ConsistentRead", False))
    if operation == "BatchGetItem":
        read = [item for items in parsed["Responses"].values() for item in items]
        asked = sum(len(one["Keys"]) for one in params["RequestItems"].values())
        return sum(_rounded(size(item), strong=True) for item in read) + (asked - len(read))
    if operation == "Query":
        return _rounded(sum(map(size, parsed["Items"])), strong=params.get("ConsistentRead", False))
    return 0


def _rounded(bytes_read: int, *, strong: bool) -> float:
    return max(1, ceil(bytes_read / 4096)) * (1 if strong else 0.5)


def _index_units(table: str, old: Item, new: Item) -> float:
    units = 0
    for index in _declared(table).get("GlobalSecondaryIndexes", []):
        keys = {one["AttributeName"] for one in index["KeySchema"]}
        shown = keys | set(_key(table, new or old)) | set(index["Projection"]["NonKeyAttributes"])
        entries = [{name: item[name] for name in shown if name in item} for item in (old, new) if keys <= set(item)]
        if entries and (len(entries) == 1 or entries[0] != entries[1]):
            units += max(1, ceil(max(map(size, entries)) / 1024))
    return units
