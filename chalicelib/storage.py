"""The base of every table: strong reads, conditional saves, transactions. See `connection` for the client.

Every partition key begins with a workspace id that came from a credential, so a record of another
workspace is not found rather than refused. Reads are strongly consistent unless an index is read.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action
from pynamodb.models import BatchWrite
from pynamodb.transactions import TransactWrite

from chalicelib import clock, errors
from chalicelib.connection import Collided, connection, translated
from chalicelib.connection import Stale as Stale
from chalicelib.connection import client as client
from chalicelib.rows import AnyRow
from chalicelib.rows import Row as Row
from chalicelib.rows import VersionedRow as VersionedRow
from chalicelib.rows import key as key
from chalicelib.rows import parts as parts
from chalicelib.rows import table as table

_ATTEMPTS = 12
_BATCH = 100  # items of one BatchGetItem
_WRITES = 25  # items of one BatchWriteItem

Result = TypeVar("Result")
Step = Callable[[TransactWrite], None]


class Key(NamedTuple):
    """One item to read: its row class, partition key and sort key."""

    row: type[Row]
    partition: str
    sort: str | None = None


def find(row: type[AnyRow], partition: str, sort: str | None = None) -> AnyRow | None:
    """The item with this key, or None. One request."""
    with translated():
        try:
            return row.get(partition, sort, consistent_read=True)
        except row.DoesNotExist:
            return None


def find_many(keys: Sequence[Key]) -> list[Any]:
    """The items with these keys, of any tables, in the order asked for, None where there is none.

    One request for each 100 keys, and more for what the database left over.
    """
    found: dict[_Identity, dict[str, Any]] = {}
    wanted = [(key.row.Meta.table_name, key.row.get_operation_kwargs_from_class(*key[1:])["Key"]) for key in keys]
    for start in range(0, len(wanted), _BATCH):
        found |= _batch(wanted[start : start + _BATCH])
    items = (found.get(_identity(name, item_key, item_key)) for name, item_key in wanted)
    return [item and key.row.from_raw_data(item) for key, item in zip(keys, items, strict=True)]


_Identity = tuple[str, ...]
_RawKey = dict[str, dict[str, str]]


def _identity(table_name: str, item_key: _RawKey, item: dict[str, Any]) -> _Identity:
    return (table_name, *(item[name]["S"] for name in sorted(item_key)))


def _batch(wanted: list[tuple[str, _RawKey]]) -> dict[_Identity, dict[str, Any]]:
    key_of_table = dict(wanted)
    rest: dict[str, Any] = {}
    for name, item_key in wanted:
        rest.setdefault(name, {"Keys": [], "ConsistentRead": True})["Keys"].append(item_key)
    found: dict[_Identity, dict[str, Any]] = {}
    for attempt in range(_ATTEMPTS):
        with translated():
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
    with translated():
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
    with translated():
        return list(row.scan(condition, consistent_read=True))


def save(row: Row, condition: Condition | None = None) -> None:
    """Write the item. Raises Stale when `condition` fails, or a versioned item has changed since it was read."""
    if isinstance(row, VersionedRow):
        row.written = clock.new_id()
    try:
        _past_collisions(lambda: row.save(condition))
    except Stale:
        if not _is_ours(row):
            raise
        row.update_local_version_attribute()  # type: ignore[no-untyped-call]


def _is_ours(row: Row) -> bool:
    if not isinstance(row, VersionedRow):
        return False
    stored = find(type(row), *row.keys)
    return stored is not None and stored.written == row.written


def update(row: Row, actions: Sequence[Action], condition: Condition | None = None) -> None:
    """Change single attributes of an item. Raises Stale when `condition` fails."""
    _past_collisions(lambda: row.update(list(actions), condition))


def delete(row: Row, condition: Condition | None = None) -> None:
    """Delete the item; a versioned one only as it was read. Raises Stale when it was not."""
    try:
        _past_collisions(lambda: row.delete(condition))
    except Stale:
        # Gone is what was wanted: the answer to our own deletion may have been lost, and the SDK asked again.
        if find(type(row), *row.keys) is not None:
            raise


def _past_collisions(write: Callable[[], object]) -> None:
    for attempt in range(_ATTEMPTS):
        try:
            with translated():
                write()
            return
        except Collided:
            pause(attempt)
    raise errors.Unavailable("Too many writers at the same record; try again.")


def save_many(rows: Sequence[Row]) -> None:
    """Write items of one table, each with a key of its own, whatever is there. One request for each 25."""
    _write_many(rows, BatchWrite.save)


def delete_many(rows: Sequence[Row]) -> None:
    """Delete items of one table, whatever has become of them meanwhile. One request for each 25."""
    _write_many(rows, BatchWrite.delete)


def _write_many(rows: Sequence[Row], write: Callable[[BatchWrite[Any], Row], None]) -> None:
    with translated():
        for start in range(0, len(rows), _WRITES):
            with type(rows[0]).batch_write() as batch:
                for row in rows[start : start + _WRITES]:
                    write(batch, row)


def put(row: Row, condition: Condition | None = None) -> Step:
    """A step of a transaction: write the item, under the same conditions as `save`."""
    if isinstance(row, VersionedRow):
        row.written = clock.new_id()
    return lambda transaction: transaction.save(row, condition)


def remove(row: Row, condition: Condition | None = None) -> Step:
    """A step of a transaction: delete the item; a versioned one only as it was read."""
    return lambda transaction: transaction.delete(row, condition)


def change(row: Row, actions: Sequence[Action], condition: Condition) -> Step:
    """A step of a transaction: change single attributes. On failure the reason carries the stored item."""
    return lambda transaction: transaction.update(row, list(actions), condition, return_values="ALL_OLD")


def require(key: Key, condition: Condition) -> Step:
    """A step of a transaction: go on only if the condition holds for an item that is not written."""
    return lambda transaction: transaction.condition_check(key.row, key.partition, key.sort, condition)


def transact(*steps: Step) -> None:
    """Do all steps or none, in one request (at twice the capacity). Raises Stale when a condition fails.

    A collision with another transaction (TransactionConflict) changes nothing and is not repeated by the
    SDK, so it is repeated here.
    """
    for attempt in range(_ATTEMPTS):
        try:
            with translated(), TransactWrite(connection=connection) as transaction:
                for step in steps:
                    step(transaction)
            return
        except Stale as stale:
            codes = {reason.code for reason in stale.reasons if reason}
            if codes != {"TransactionConflict"}:
                raise
            pause(attempt)
    raise errors.Unavailable("Too many writers at the same record; try again.")


def reapplied(action: Callable[[], Result], attempts: int = 5) -> Result:
    """The result of reading, changing and saving a record, done over when somebody was faster.

    For changes that mean the same whatever they are applied to. Raises Stale after `attempts`.
    """
    for attempt in range(attempts - 1):
        try:
            return action()
        except Stale:
            pause(attempt)
    return action()


def pause(attempt: int) -> None:
    """Wait before the next attempt: a random time, up to twice as long each time and a second at most."""
    clock.sleep(random.uniform(0, min(1.0, 0.01 * 2**attempt)))
