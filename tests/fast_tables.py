"""The part of the fast path (`tests/fast_moto.py`) that speeds up queries, comparisons and sizes of moto's items.

For each query, moto sorts the whole table, and then selects the items with the partition key. For each attribute of a
new item, moto measures all earlier attributes again. In each comparison, moto determines the types of both values.
"""

from typing import Any

from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models.dynamo_type import DDBType, DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table

_MOST_BYTES = 405_000  # moto's limit
_query: Any = Table.query
_cast_value: Any = DynamoType.cast_value
_size: Any = DynamoType.size
_create: Any = Item.__init__


def switch(*, on: bool) -> None:
    """Replace moto's functions, or restore them."""
    for owner, name, original, fast in _FUNCTIONS:
        setattr(owner, name, fast if on else original)


def _query_partition(table: Any, hash_key: Any, *arguments: Any, **named: Any) -> Any:
    """Query a copy of the table that contains only the items with the keys of the partition."""
    index_name = arguments[6]  # moto passes the first ten arguments by position
    # A copy with `copy.copy` would be added to moto's list of all tables.
    part = object.__new__(type(table))
    part.__dict__.update(table.__dict__)
    if index_name is None:
        part.items = {hash_key: table.items[hash_key]} if hash_key in table.items else {}
    elif table.range_key_attr:  # without a range key, moto stores items without inner dictionaries
        conditions = named["hash_key_conditions"]
        part.items = {
            key: {range_key: item for range_key, item in partition.items() if _has_values(item, conditions)}
            for key, partition in table.items.items()
        }
    return _query(part, hash_key, *arguments, **named)


def _has_values(item: Any, conditions: list[tuple[str, Any]]) -> bool:
    return all(name in item.attrs and item.attrs[name] == value for name, value in conditions)


def _cast_quickly(value: DynamoType) -> Any:
    return value.value if value.type == DDBType.STRING else _cast_value.fget(value)


def _measure_quickly(value: DynamoType) -> int:
    return len(value.value.encode()) if value.type == DDBType.STRING else _size(value)


def _create_quickly(item: Item, hash_key: DynamoType, range_key: DynamoType | None, attrs: dict[str, Any]) -> None:
    item.hash_key, item.range_key, item.attrs = hash_key, range_key, LimitedSizeDict()
    size = 0
    for name, value in attrs.items():
        attribute = DynamoType(value)
        size += len(name.encode()) + attribute.size()
        if size > _MOST_BYTES:
            raise ItemSizeTooLarge
        dict.__setitem__(item.attrs, name, attribute)


_FUNCTIONS: tuple[tuple[type, str, Any, Any], ...] = (
    (Table, "query", _query, _query_partition),
    (DynamoType, "cast_value", _cast_value, property(_cast_quickly)),
    (DynamoType, "size", _size, _measure_quickly),
    (Item, "__init__", _create, _create_quickly),
)
