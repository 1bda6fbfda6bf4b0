"""Batch writes (BatchWriteItem), which are unconditional and outside any unit of work."""

from collections.abc import Callable, Sequence
from typing import Any

from pynamodb.models import BatchWrite

from chalicelib.storage.client import translate_errors
from chalicelib.storage.rows import Row

_BATCH = 25  # DynamoDB's limit of items per BatchWriteItem


def save_many(rows: Sequence[Row]) -> None:
    """Put items of one table with distinct keys; existing items are overwritten. One request per 25 items."""
    _write_many(rows, BatchWrite.save)


def delete_many(rows: Sequence[Row]) -> None:
    """Delete items of one table, regardless of their version. One request per 25 items."""
    _write_many(rows, BatchWrite.delete)


def _write_many(rows: Sequence[Row], write: Callable[[BatchWrite[Any], Row], None]) -> None:
    for start in range(0, len(rows), _BATCH):
        with translate_errors(), type(rows[0]).batch_write() as batch:
            for row in rows[start : start + _BATCH]:
                write(batch, row)
