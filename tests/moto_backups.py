"""Backups of moto's tables that cost what a transaction changes, not what the tables hold.

moto copies each table with all its items and stream records before a transaction, and puts the copy back after a
failure. That took a tenth of the suite's time. Here the copy shares them: an update, the only operation that changes an
item in place, changes a copy of the item instead, and nothing changes a record.
"""

import copy
from collections import defaultdict
from typing import Any

from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.table import Table

_update_item = DynamoDBBackend.update_item


def use() -> None:
    """Make moto work so."""
    Table.__deepcopy__ = _copy  # type: ignore[attr-defined]
    DynamoDBBackend.update_item = _update_copy  # type: ignore[assignment, method-assign]


def _copy(table: Any, memo: Any) -> Any:
    copied = copy.copy(table)
    copied.items = defaultdict(dict, {hash_key: copy.copy(held) for hash_key, held in table.items.items()})
    if table.stream_shard is not None:
        copied.stream_shard = copy.copy(table.stream_shard)
        copied.stream_shard.table, copied.stream_shard.items = copied, [*table.stream_shard.items]
    return copied


def _update_copy(backend: Any, table_name: str, key: dict[str, Any], *arguments: Any, **named: Any) -> Any:
    table = backend.get_table(table_name)
    hash_key, range_key = backend.get_keys_value(table, key)
    item = table.get_item(hash_key, range_key)
    if item is not None and range_key is not None:
        table.items[hash_key][range_key] = copy.deepcopy(item)
    elif item is not None:
        table.items[hash_key] = copy.deepcopy(item)
    return _update_item(backend, table_name, key, *arguments, **named)
