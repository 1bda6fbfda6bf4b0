"""Write many items at once, unconditionally and outside any unit of work (BatchWriteItem)."""

from collections.abc import Callable, Sequence
from typing import Any

from pynamodb.models import BatchWrite

from chalicelib.storage.client import translate_errors
from chalicelib.storage.rows import Row

_BATCH = 25  # items of one BatchWriteItem


def save_many(rows: Sequence[Row]) -> None:
    """Write items of one table, each with a key of its own, over anything stored. One request per 25 items."""
    _write_many(rows, BatchWrite.save)


def delete_many(rows: Sequence[Row]) -> None:
    """Delete items of one table, changed or not. One request per 25 items."""
    _write_many(rows, BatchWrite.delete)


def _write_many(rows: Sequence[Row], write: Callable[[BatchWrite[Any], Row], None]) -> None:
    for start in range(0, len(rows), _BATCH):
        with translate_errors(), type(rows[0]).batch_write() as batch:
            for row in rows[start : start + _BATCH]:
                write(batch, row)
