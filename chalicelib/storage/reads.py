"""Database reads: a single item, a batch of items, a query or a scan.

Reads are strongly consistent, except on an index or with `consistent=False`, which halves the cost.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pynamodb.expressions.condition import Condition

from chalicelib import errors
from chalicelib.storage.client import TransactionConflict, send, translate_errors
from chalicelib.storage.retries import pause
from chalicelib.storage.rows import AnyRow, Key, Row

_ATTEMPTS = 12
_BATCH = 100  # DynamoDB's item limit for BatchGetItem


def find(row: type[AnyRow], partition: str, sort: str | None = None, consistent: bool = True) -> AnyRow | None:
    """Return the item with this key, or None. This costs one request. Eventual consistency halves the cost.

    `find(*key)` takes less CPU time than `find_many([key])`.
    """
    key = row.raw_key(partition, sort)
    arguments = {"TableName": row.Meta.table_name, "Key": key, "ConsistentRead": consistent}
    item = send("GetItem", arguments).get("Item")
    return row.from_raw_data(item) if item else None


def find_serializable(key: Key) -> Any:
    """Return the item, or None. The read is transactional, so it never sees a partially applied commit.

    Raise Unavailable after twelve conflicts with other transactions.
    """
    get = {"TableName": key.row.Meta.table_name, "Key": key.row.raw_key(key.partition, key.sort)}
    arguments = {"TransactItems": [{"Get": get}]}
    for attempt in range(_ATTEMPTS):
        try:
            (response,) = send("TransactGetItems", arguments)["Responses"]
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
    items: dict[_Place, dict[str, Any]] = {}
    distinct = [*{_place(key): key for key in keys}.values()]
    for start in range(0, len(distinct), _BATCH):
        items |= _batch(distinct[start : start + _BATCH])
    return [(item := items.get(_place(key))) and key.row.from_raw_data(item) for key in keys]


def find_written(keys: Sequence[Key]) -> list[Any]:
    """Return items as `find_many` does, and read missing items again, strongly consistently: they may be new.

    This costs one more request if an item is missing.
    """
    items = find_many(keys)
    missing = [place for place, (key, item) in enumerate(zip(keys, items, strict=True)) if not (item or key.consistent)]
    for place, item in zip(missing, find_many([keys[one]._replace(consistent=True) for one in missing]), strict=True):
        items[place] = item
    return items


_Place = tuple[str, str, str | None]  # the table, the partition key, and the sort key if the table has one


def _place(key: Key) -> _Place:
    return key.row.Meta.table_name, key.partition, key.sort


def _place_of(row: type[Row], item: dict[str, Any]) -> _Place:
    sort = item[row._range_keyname]["S"] if row._range_keyname else None
    return row.Meta.table_name, item[row._hash_keyname]["S"], sort


def _batch(keys: list[Key]) -> dict[_Place, dict[str, Any]]:
    rows = {key.row.Meta.table_name: key.row for key in keys}
    rest: dict[str, Any] = {table: {"Keys": [], "ConsistentRead": False} for table in rows}
    for key in keys:
        batch = rest[key.row.Meta.table_name]
        batch["Keys"].append(key.row.raw_key(key.partition, key.sort))
        batch["ConsistentRead"] |= key.consistent
    items: dict[_Place, dict[str, Any]] = {}
    for attempt in range(_ATTEMPTS):
        response = send("BatchGetItem", {"RequestItems": rest})
        items |= {
            _place_of(rows[table], item): item for table, batch in response["Responses"].items() for item in batch
        }
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
    """Return the items that `iterate` would yield for the same arguments."""
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
    """Yield a partition's items in sort key order: at most `limit`, or all if it is None.

    This costs one request per MB, which is sent only when the caller needs it. Reads are eventually consistent on an
    index, and on a table with `consistent=False`, at half the cost.

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
    page = send("Query", arguments)
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
