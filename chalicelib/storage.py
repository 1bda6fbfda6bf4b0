"""What is done with the items of a table (`rows`): strong reads, conditional saves, transactions.

Reads are strongly consistent, but for an index and where one only glances. See `connection` for the client.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pynamodb.exceptions import CancellationReason
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action
from pynamodb.models import BatchWrite
from pynamodb.transactions import TransactWrite

from chalicelib import clock, errors
from chalicelib.connection import Collided, connection, translated
from chalicelib.connection import Stale as Stale
from chalicelib.connection import client as client
from chalicelib.rows import AnyRow
from chalicelib.rows import Key as Key
from chalicelib.rows import MarkedRow as MarkedRow
from chalicelib.rows import Row as Row
from chalicelib.rows import VersionedRow as VersionedRow
from chalicelib.rows import key as key
from chalicelib.rows import parts as parts
from chalicelib.rows import table as table

_ATTEMPTS = 12
_BATCH = 100  # items of one BatchGetItem
_WRITES = 25  # items of one BatchWriteItem
_STEPS = 100  # items of one transaction

Result = TypeVar("Result")
Step = Callable[[TransactWrite], None]


def find(row: type[AnyRow], partition: str, sort: str | None = None) -> AnyRow | None:
    """The item with this key, or None. One request.

    What an earlier run of a repeatable request has created is not there for the next one: it creates it again, finds
    that this is done (`save`, `transact`), and answers as the first one would have.
    """
    return _unless_created_by_us(_stored(row, partition, sort))


def as_stored(row: AnyRow) -> AnyRow:
    """The item that stands in the place of `row`, whoever has created it; `row` itself where there is none."""
    return _stored(type(row), *row.keys) or row


def _stored(row: type[AnyRow], partition: str, sort: str | None = None) -> AnyRow | None:
    with translated():
        try:
            return row.get(partition, sort, consistent_read=True)
        except row.DoesNotExist:
            return None


def _unless_created_by_us(row: AnyRow | None) -> AnyRow | None:
    is_ours = isinstance(row, VersionedRow) and row.version == 1 and clock.is_own(row.written)
    return None if is_ours else row


def find_many(keys: Sequence[Key]) -> list[Any]:
    """The items with these keys, of any tables, in the order asked for, None where there is none.

    One request for each 100 keys, and more for what the database left over.
    """
    return _find(keys, {"ConsistentRead": True})


def glance_at_many(keys: Sequence[Key]) -> list[Any]:
    """As `find_many`, at half the capacity, for who can tell: each item as it is or as it was a moment ago."""
    return _find(keys, {})


def _find(keys: Sequence[Key], how: dict[str, bool]) -> list[Any]:
    found: dict[_Identity, dict[str, Any]] = {}
    wanted = [(key.row.Meta.table_name, key.row.get_operation_kwargs_from_class(*key[1:])["Key"]) for key in keys]
    for start in range(0, len(wanted), _BATCH):
        found |= _batch(wanted[start : start + _BATCH], how)
    items = (found.get(_identity(name, item_key, item_key)) for name, item_key in wanted)
    rows = (item and key.row.from_raw_data(item) for key, item in zip(keys, items, strict=True))
    return [_unless_created_by_us(row) for row in rows]


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
    condition = _as_read(row, condition)
    _mark(row)
    try:
        _past_collisions(lambda: row.save(condition))
    except Stale:
        if not _is_ours(row):
            raise
        row.update_local_version_attribute()  # type: ignore[no-untyped-call]


def _as_read(row: Row, condition: Condition | None) -> Condition | None:
    """`condition`, and that a versioned item is the one that was read: made anew, its versions begin at 1 again."""
    if isinstance(row, VersionedRow) and row.version is not None:
        condition &= type(row).written == row.written
    return condition


def _mark(row: Row) -> None:
    """Set the mark of a save. A creation has the same one in every run of a request, so that it is answered alike."""
    if isinstance(row, MarkedRow):
        is_new = isinstance(row, VersionedRow) and row.version is None
        row.written = clock.new_id() if is_new else clock.new_mark()


def _is_ours(row: Row) -> bool:
    if not isinstance(row, MarkedRow):
        return False
    stored = _stored(type(row), *row.keys)
    return stored is not None and (stored.written == row.written or any(map(clock.is_own, (stored.written, *row.keys))))


def update(row: Row, actions: Sequence[Action], condition: Condition | None = None) -> None:
    """Change single attributes of an item. Raises Stale when `condition` fails."""
    changes = list(actions)
    _mark(row)
    if isinstance(row, MarkedRow):
        changes.append(type(row).written.set(row.written))
    try:
        _past_collisions(lambda: row.update(changes, condition))
    except Stale:
        if not _is_ours(row):
            raise


def delete(row: Row, condition: Condition | None = None) -> None:
    """Delete the item; a versioned one only as it was read. Raises Stale when it was not."""
    condition = _as_read(row, condition)
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
    condition = _as_read(row, condition)
    _mark(row)
    return lambda transaction: transaction.save(row, condition, "ALL_OLD")


def remove(row: Row, condition: Condition | None = None) -> Step:
    """A step of a transaction: delete the item; a versioned one only as it was read."""
    condition = _as_read(row, condition)
    return lambda transaction: transaction.delete(row, condition)


def change(row: Row, actions: Sequence[Action], condition: Condition) -> Step:
    """A step of a transaction: change single attributes. On failure the reason carries the stored item."""
    return lambda transaction: transaction.update(row, list(actions), condition, return_values="ALL_OLD")


def require(key: Key, condition: Condition) -> Step:
    """A step of a transaction: go on only if the condition holds for an item that is not written."""
    return lambda transaction: transaction.condition_check(key.row, key.partition, key.sort, condition)


def transact(*steps: Step) -> bool:
    """Do all steps or none, in one request (at twice the capacity). Raises Stale when a condition fails, TooLarge for
    too many. False when they are done already, by an earlier run of a repeatable request: what it put says so, in its
    mark or in an id that was made for it. A collision with another transaction (TransactionConflict) changes nothing;
    the SDK does not repeat it, so it is repeated here."""
    if len(steps) > _STEPS:
        raise errors.TooLarge("The change is too large to store at once; send less of it.")
    for attempt in range(_ATTEMPTS):
        try:
            with translated(), TransactWrite(connection=connection) as transaction:
                for step in steps:
                    step(transaction)
            return True
        except Stale as stale:
            if any(map(_is_made_by_us, stale.reasons)):
                return False
            codes = {reason.code for reason in stale.reasons if reason}
            if codes != {"TransactionConflict"}:
                raise
            pause(attempt)
    raise errors.Unavailable("Too many writers at the same record; try again.")


def _is_made_by_us(reason: CancellationReason | None) -> bool:
    stored = reason.raw_item if reason and reason.raw_item else {}
    return any(clock.is_own(value["S"]) for value in stored.values() if "S" in value)


def reapplied(action: Callable[[], Result], attempts: int = 5) -> Result:
    """The result of reading, changing and saving a record, done over when somebody was faster.

    For changes that mean the same whatever they are applied to. Raises Stale after `attempts`.
    """
    for attempt in range(attempts - 1):
        try:
            with clock.attempt():
                return action()
        except Stale:
            pause(attempt)
    return action()


def pause(attempt: int) -> None:
    """Wait before the next attempt: a random time, up to twice as long each time and a second at most."""
    clock.sleep(random.uniform(0, min(1.0, 0.01 * 2**attempt)))
