"""Read items: one by its key, many in a batch, a query, a scan.

Reads are strongly consistent, except on an index and where the caller asks for eventual consistency at half the price.
"""

from collections.abc import Sequence
from typing import Any

from pynamodb.expressions.condition import Condition

from chalicelib import errors
from chalicelib.storage.client import TransactionConflict, connection, translate_errors
from chalicelib.storage.retries import pause
from chalicelib.storage.rows import AnyRow, Key

_ATTEMPTS = 12
_BATCH = 100  # items of one BatchGetItem


def find(row: type[AnyRow], partition: str, sort: str | None = None, *, consistent: bool = True) -> AnyRow | None:
    """The item with this key, or None. One request; half the price where eventual consistency will do."""
    with translate_errors():
        try:
            return row.get(partition, sort, consistent_read=consistent)
        except row.DoesNotExist:
            return None


def find_serializable(key: Key) -> Any:
    """The item as of a commit, or None: unlike `find` it never reads between the writes of one transaction."""
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
    """The items with these keys, of any tables, in the order asked for; None for each that does not exist.

    One request per 100 keys, and more for what the database leaves unprocessed. An eventually consistent read costs
    half as much and may answer an item as it was a moment ago.
    """
    how = {"ConsistentRead": True} if consistent else {}
    found: dict[_Identity, dict[str, Any]] = {}
    wanted = [(key.row.Meta.table_name, key.row.get_operation_kwargs_from_class(*key[1:])["Key"]) for key in keys]
    for start in range(0, len(wanted), _BATCH):
        found |= _batch(wanted[start : start + _BATCH], how)
    items = (found.get(_identity(name, item_key, item_key)) for name, item_key in wanted)
    return [item and key.row.from_raw_data(item) for key, item in zip(keys, items, strict=True)]


_Identity = tuple[str, ...]
_RawKey = dict[str, dict[str, str]]


def _identity(table_name: str, item_key: _RawKey, item: dict[str, Any]) -> _Identity:
    return (table_name, *(item[name]["S"] for name in sorted(item_key)))


def _batch(wanted: list[tuple[str, _RawKey]], how: dict[str, bool]) -> dict[_Identity, dict[str, Any]]:
    key_of_table = dict(wanted)
    rest: dict[str, Any] = {}
    for name, item_key in wanted:
        rest.setdefault(name, {"Keys": [], **how})["Keys"].append(item_key)
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
) -> list[AnyRow]:
    """The items of a partition in the order of their sort key: at most `limit`, all of them without.

    One request for each MB read. Strongly consistent, but for an index, which lags behind its table.
    """
    with translate_errors():
        return list(
            row.query(
                partition,
                condition,
                consistent_read=index is None,
                index_name=index,
                scan_index_forward=not newest_first,
                limit=limit,
                page_size=limit,
            )
        )


def scan(row: type[AnyRow], condition: Condition) -> list[AnyRow]:
    """The items of a whole table for which the condition holds, in no order; all of it is read and paid for."""
    with translate_errors():
        return list(row.scan(condition, consistent_read=True))
