"""Batch writes (BatchWriteItem). They are unconditional and do not belong to a unit of work."""

from collections.abc import Callable, Sequence
from typing import Any

from pynamodb.models import BatchWrite

from chalicelib.storage.client import translate_errors
from chalicelib.storage.rows import Row

_BATCH = 25  # DynamoDB's item limit for BatchWriteItem


def save_many(rows: Sequence[Row]) -> None:
    """Put items with distinct keys into one table, overwriting existing items. This costs one request per 25 items."""
    _write_many(rows, BatchWrite.save)


def delete_many(rows: Sequence[Row]) -> None:
    """Delete items from one table, regardless of their version. This costs one request per 25 items."""
    _write_many(rows, BatchWrite.delete)


def _write_many(rows: Sequence[Row], write: Callable[[BatchWrite[Any], Row], None]) -> None:
    for start in range(0, len(rows), _BATCH):
        with translate_errors(), type(rows[0]).batch_write() as batch:
            for row in rows[start : start + _BATCH]:
                write(batch, row)
