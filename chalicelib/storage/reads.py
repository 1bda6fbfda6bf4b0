"""Database reads: a single item, a batch of items, a query or a scan.

Reads are strongly consistent, except on an index or with `consistent=False`, which halves the cost.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pynamodb.expressions.condition import Condition

from chalicelib import errors
from chalicelib.storage.client import TransactionConflict, connection, translate_errors
from chalicelib.storage.retries import pause
from chalicelib.storage.rows import AnyRow, Key

_ATTEMPTS = 12
_BATCH = 100  # DynamoDB's item limit for BatchGetItem


def find(row: type[AnyRow], partition: str, sort: str | None = None, *, consistent: bool = True) -> AnyRow | None:
    """Return the item with this key, or None. This costs one request. Eventual consistency halves the cost."""
    key = row.raw_key(partition, sort)
    arguments = {"TableName": row.Meta.table_name, "Key": key, "ConsistentRead": consistent}
    with translate_errors():
        item = connection.dispatch("GetItem", arguments).get("Item")
    return row.from_raw_data(item) if item else None


def find_key(key: Key) -> Any:
    """Return the item with this key, or None. This costs one request, which takes less CPU time than `find_many`."""
    return find(key.row, key.partition, key.sort, consistent=key.consistent)


def find_serializable(key: Key) -> Any:
    """Return the item, or None. The read is transactional, so it never sees a partially applied commit.

    Raise Unavailable after twelve conflicts with other transactions.
    """
    get = {"TableName": key.row.Meta.table_name, "Key": key.row.raw_key(key.partition, key.sort)}
    arguments = {"TransactItems": [{"Get": get}]}
    for attempt in range(_ATTEMPTS):
        try:
            with translate_errors():
                (response,) = connection.dispatch("TransactGetItems", arguments)["Responses"]
        except TransactionConflict:
            pause(attempt)
        else:
            return key.row.from_raw_data(response["Item"]) if response.get("Item") else None
    raise errors.Unavailable()


def find_many(keys: Sequence[Key]) -> list[Any]:
    """Return the items with these keys, from any tables, in the same order as the keys. Missing items are None.

    This costs one request per 100 distinct keys, plus one for each batch of unprocessed keys. If a table has a strongly
    consistent key, all its keys are read like that. Raise Unavailable after twelve requests for the same batch.
    """
    items: dict[_Identity, dict[str, Any]] = {}
    reads = [
        _ItemRead(key.row.Meta.table_name, key.row.raw_key(key.partition, key.sort), key.consistent) for key in keys
    ]
    distinct = [*{_identity(read.table, read.key, read.key): read for read in reads}.values()]
    for start in range(0, len(distinct), _BATCH):
        items |= _batch(distinct[start : start + _BATCH])
    in_order = (items.get(_identity(read.table, read.key, read.key)) for read in reads)
    return [item and key.row.from_raw_data(item) for key, item in zip(keys, in_order, strict=True)]


def find_written(keys: Sequence[Key]) -> list[Any]:
    """Return items as `find_many` does, and read missing items again, strongly consistently: they may be new.

    This costs one more request if an item is missing.
    """
    items = find_many(keys)
    missing = [place for place, (key, item) in enumerate(zip(keys, items, strict=True)) if not (item or key.consistent)]
    for place, item in zip(missing, find_many([keys[one]._replace(consistent=True) for one in missing]), strict=True):
        items[place] = item
    return items


_Identity = tuple[str, ...]
_RawKey = dict[str, dict[str, str]]


class _ItemRead(NamedTuple):
    table: str
    key: _RawKey
    consistent: bool


def _identity(table_name: str, item_key: _RawKey, item: dict[str, Any]) -> _Identity:
    return (table_name, *(item[name]["S"] for name in sorted(item_key)))


def _batch(reads: list[_ItemRead]) -> dict[_Identity, dict[str, Any]]:
    key_of_table = {read.table: read.key for read in reads}
    rest: dict[str, Any] = {}
    for read in reads:
        batch = rest.setdefault(read.table, {"Keys": [], "ConsistentRead": False})
        batch["Keys"].append(read.key)
        batch["ConsistentRead"] |= read.consistent
    items: dict[_Identity, dict[str, Any]] = {}
    for attempt in range(_ATTEMPTS):
        with translate_errors():
            response = connection.dispatch("BatchGetItem", {"RequestItems": rest})
        for name, batch in response["Responses"].items():
            items |= {_identity(name, key_of_table[name], item): item for item in batch}
        rest = response.get("UnprocessedKeys") or {}
        if not rest:
            return items
        pause(attempt)
    raise errors.Unavailable()


def query(
    row: type[AnyRow],
    partition: str,
    condition: Condition | None = None,
    *,
    limit: int | None = None,
    index: str | None = None,
    newest_first: bool = False,
    consistent: bool = True,
) -> list[AnyRow]:
    """Return a partition's items in sort key order: at most `limit`, or all if it is None.

    This costs one request per MB read. Reads are eventually consistent on an index, and on a table with
    `consistent=False`, at half the cost.
    """
    rows = iterate(
        row, partition, condition, limit=limit, index=index, newest_first=newest_first, consistent=consistent
    )
    return [*rows]


def iterate(
    row: type[AnyRow],
    partition: str,
    condition: Condition | None = None,
    *,
    only: Condition | None = None,
    limit: int | None = None,
    index: str | None = None,
    newest_first: bool = False,
    consistent: bool = True,
) -> Iterator[AnyRow]:
    """Yield the items of `query` one at a time. Read the next megabyte only when the caller needs it.

    If `only` is set, yield only matching items. Each page with omitted items costs one more request.
    """
    with translate_errors():
        yield from row.query(
            partition,
            condition,
            only,
            consistent_read=consistent and index is None,
            index_name=index,
            scan_index_forward=not newest_first,
            limit=limit,
            page_size=limit,
        )


def count(row: type[AnyRow], partition: str, condition: Condition, *, index: str) -> int:
    """Return how many index entries satisfy the sort key condition. This costs one request per MB read."""
    with translate_errors():
        return int(row.count(partition, condition, index_name=index))


def query_once(row: type[AnyRow], partition: str) -> tuple[list[Any], bool]:
    """Return up to 1 MB of a partition's items, and whether the partition has no others. This costs one request."""
    # PynamoDB's query is not used, because it would add 10 % to the CPU instructions for reading an agent.
    arguments = {
        "TableName": row.Meta.table_name,
        "KeyConditionExpression": "#key = :key",
        "ExpressionAttributeNames": {"#key": row._hash_keyname},
        "ExpressionAttributeValues": {":key": {"S": partition}},
        "ConsistentRead": True,
    }
    with translate_errors():
        page = connection.dispatch("Query", arguments)
    return [row.from_raw_data(item) for item in page["Items"]], "LastEvaluatedKey" not in page


def query_page(
    row: type[AnyRow], partition: str, limit: int, after: Any, *, index: str
) -> tuple[list[AnyRow], dict[str, Any] | None]:
    """Return up to `limit` entries of an index partition, and the next page's `after`.

    Use this for an index with duplicate sort keys. `after` is None at the beginning and at the end. This costs one
    request per MB.
    """
    with translate_errors():
        entries = row.query(partition, index_name=index, limit=limit, page_size=limit, last_evaluated_key=after)
        return [*entries], entries.last_evaluated_key


def scan(row: type[AnyRow], condition: Condition) -> Iterator[AnyRow]:
    """Yield a table's items that satisfy the condition, in no particular order. The scan reads the whole table."""
    with translate_errors():
        yield from row.scan(condition, consistent_read=True)
