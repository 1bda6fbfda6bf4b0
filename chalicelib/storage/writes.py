"""What is done with the items of a table (`rows`): strong reads, conditional saves, transactions.

Reads are strongly consistent, but for an index and where one only glances. See `connection` for the client.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pynamodb.exceptions import CancellationReason
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action
from pynamodb.models import BatchWrite
from pynamodb.transactions import TransactWrite

from chalicelib import clock, errors
from chalicelib.storage.client import ConditionFailed, TransactionConflict, connection, translate_errors
from chalicelib.storage.reads import _stored, find
from chalicelib.storage.retries import pause
from chalicelib.storage.rows import AnyRow, Key, Row, TaggedRow, VersionedRow

_ATTEMPTS = 12
_WRITES = 25  # items of one BatchWriteItem
_STEPS = 100  # items of one transaction

Result = TypeVar("Result")
Step = Callable[[TransactWrite], None]


def as_stored(row: AnyRow) -> AnyRow:
    """The item that stands in the place of `row`, whoever has created it; `row` itself where there is none."""
    return _stored(type(row), *row.keys) or row


def save(row: Row, condition: Condition | None = None) -> None:
    """Write the item. Raises ConditionFailed when `condition` fails or another write came first."""
    condition = _as_read(row, condition)
    _mark(row)
    try:
        _past_collisions(lambda: row.save(condition))
    except ConditionFailed:
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
    if isinstance(row, TaggedRow):
        is_new = isinstance(row, VersionedRow) and row.version is None
        row.written = clock.new_id() if is_new else clock.new_mark()


def _is_ours(row: Row) -> bool:
    if not isinstance(row, TaggedRow):
        return False
    stored = _stored(type(row), *row.keys)
    return stored is not None and (stored.written == row.written or any(map(clock.is_own, (stored.written, *row.keys))))


def update(row: Row, actions: Sequence[Action], condition: Condition | None = None) -> None:
    """Change single attributes of an item. Raises ConditionFailed when `condition` fails."""
    changes = list(actions)
    _mark(row)
    if isinstance(row, TaggedRow):
        changes.append(type(row).written.set(row.written))
    try:
        _past_collisions(lambda: row.update(changes, condition))
    except ConditionFailed:
        if not _is_ours(row):
            raise


def delete(row: Row, condition: Condition | None = None) -> None:
    """Delete the item; a versioned one only as it was read. Raises ConditionFailed when it was not."""
    condition = _as_read(row, condition)
    try:
        _past_collisions(lambda: row.delete(condition))
    except ConditionFailed:
        # Gone is what was wanted: the answer to our own deletion may have been lost, and the SDK asked again.
        if find(type(row), *row.keys) is not None:
            raise


def _past_collisions(write: Callable[[], object]) -> None:
    for attempt in range(_ATTEMPTS):
        try:
            with translate_errors():
                write()
            return
        except TransactionConflict:
            pause(attempt)
    raise errors.Unavailable("Too many writers at the same record; try again.")


def save_many(rows: Sequence[Row]) -> None:
    """Write items of one table, each with a key of its own, whatever is there. One request for each 25."""
    _write_many(rows, BatchWrite.save)


def delete_many(rows: Sequence[Row]) -> None:
    """Delete items of one table, whatever has become of them meanwhile. One request for each 25."""
    _write_many(rows, BatchWrite.delete)


def _write_many(rows: Sequence[Row], write: Callable[[BatchWrite[Any], Row], None]) -> None:
    with translate_errors():
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
    """Do all steps or none, in one request (at twice the capacity). Raises ConditionFailed, and TooLarge for too many steps.
    False when they are done already, by an earlier run of a repeatable request: what it put says so, in its
    mark or in an id that was made for it. A collision with another transaction (TransactionConflict) changes nothing;
    the SDK does not repeat it, so it is repeated here."""
    if len(steps) > _STEPS:
        raise errors.TooLarge("The change is too large to store at once; send less of it.")
    for attempt in range(_ATTEMPTS):
        try:
            with translate_errors(), TransactWrite(connection=connection) as transaction:
                for step in steps:
                    step(transaction)
            return True
        except ConditionFailed as stale:
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


def retry_on_conflict(action: Callable[[], Result], attempts: int = 5) -> Result:
    """The result of reading, changing and saving a record, done over when somebody was faster.

    For changes that mean the same whatever they are applied to. Raises ConditionFailed after `attempts`.
    """
    for attempt in range(attempts - 1):
        try:
            with clock.attempt():
                return action()
        except ConditionFailed:
            pause(attempt)
    return action()
