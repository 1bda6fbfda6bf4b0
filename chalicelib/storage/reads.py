"""Reads: one item by key, a batch of items, a query, a scan.

Reads are strongly consistent, except on an index or with `consistent=False`, which costs half as much.
"""

from collections.abc import Sequence
from typing import Any

from pynamodb.expressions.condition import Condition

from chalicelib import errors
from chalicelib.storage.client import TransactionConflict, connection, translate_errors
from chalicelib.storage.retries import pause
from chalicelib.storage.rows import AnyRow, Key

_ATTEMPTS = 12
_BATCH = 100  # DynamoDB's limit of items per BatchGetItem


def find(row: type[AnyRow], partition: str, sort: str | None = None, *, consistent: bool = True) -> AnyRow | None:
    """The item with this key, or None. One request; eventual consistency costs half as much."""
    with translate_errors():
        try:
            return row.get(partition, sort, consistent_read=consistent)
        except row.DoesNotExist:
            return None


def find_serializable(key: Key) -> Any:
    """The item, or None, read in a transaction: it never sees a commit of several items half applied.

    Raises Unavailable after twelve conflicts with other transactions.
    """
    arguments = {"TransactItems": [{"Get": key.row.get_operation_kwargs_from_class(*key[1:])}]}
    for attempt in range(_ATTEMPTS):
        try:
            with translate_errors():
                (answer,) = connection.dispatch("TransactGetItems", arguments)["Responses"]
        except TransactionConflict:
            pause(attempt)
        else:
            return key.row.from_raw_data(answer["Item"]) if answer.get("Item") else None
    raise errors.Unavailable()


def find_many(keys: Sequence[Key], *, consistent: bool = True) -> list[Any]:
    """The items with these keys, of any tables, in the order of the keys; None for each that does not exist.

    One request per 100 keys, plus one for each batch of unprocessed keys. Eventual consistency costs half as much and
    may return a slightly older item. Raises Unavailable after twelve requests for the same batch.
    """
    options = {"ConsistentRead": True} if consistent else {}
    found: dict[_Identity, dict[str, Any]] = {}
    wanted = [(key.row.Meta.table_name, key.row.get_operation_kwargs_from_class(*key[1:])["Key"]) for key in keys]
    for start in range(0, len(wanted), _BATCH):
        found |= _batch(wanted[start : start + _BATCH], options)
    items = (found.get(_identity(name, item_key, item_key)) for name, item_key in wanted)
    return [item and key.row.from_raw_data(item) for key, item in zip(keys, items, strict=True)]


_Identity = tuple[str, ...]
_RawKey = dict[str, dict[str, str]]


def _identity(table_name: str, item_key: _RawKey, item: dict[str, Any]) -> _Identity:
    return (table_name, *(item[name]["S"] for name in sorted(item_key)))


def _batch(wanted: list[tuple[str, _RawKey]], options: dict[str, bool]) -> dict[_Identity, dict[str, Any]]:
    key_of_table = dict(wanted)
    rest: dict[str, Any] = {}
    for name, item_key in wanted:
        rest.setdefault(name, {"Keys": [], **options})["Keys"].append(item_key)
    found: dict[_Identity, dict[str, Any]] = {}
    for attempt in range(_ATTEMPTS):
        with translate_errors():
            answer = connection.dispatch("BatchGetItem", {"RequestItems": rest})
        for name, items in answer["Responses"].items():
            found |= {_identity(name, key_of_table[name], item): item for item in items}
        rest = answer.get("UnprocessedKeys") or {}
        if not rest:
            return found
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
    """The items of a partition in the order of their sort key, at most `limit`; None for all.

    One request per MB read. An index is eventually consistent, and so is a table with `consistent=False`, at half the
    price.
    """
    with translate_errors():
        return list(
            row.query(
                partition,
                condition,
                consistent_read=consistent and index is None,
                index_name=index,
                scan_index_forward=not newest_first,
                limit=limit,
                page_size=limit,
            )
        )


def scan(row: type[AnyRow], condition: Condition) -> list[AnyRow]:
    """The items of a table that satisfy the condition, in no order. Reads, and costs, the whole table."""
    with translate_errors():
        return list(row.scan(condition, consistent_read=True))
