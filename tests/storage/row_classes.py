"""All row classes, and the lookup of a stored item's class."""

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pynamodb.attributes import Attribute

import chalicelib
from chalicelib import extensions, storage
from infra.operator.records import key_pattern

CODE = Path(chalicelib.__file__).parent
META = "    class Meta:\n        table_name = "
# These classes are views: they read rows that other classes write.
VIEWS = {"AgentOrToolRow", "ConversationPartRow"}

RowClass = type[storage.Row]


@cache
def row_classes() -> tuple[RowClass, ...]:
    """Return the row classes of core and of the extensions that are on, without views."""
    for path in sorted(CODE.rglob("*.py")):
        if META in path.read_text(encoding="utf-8"):
            import_module(".".join(path.relative_to(CODE.parent).with_suffix("").parts))
    classes = {row for row in _subclasses(storage.Row) if row.__name__ not in VIEWS}
    enabled = {"", *(extension.name for extension in extensions.enabled())}
    return tuple(sorted((row for row in classes if extension_of(row) in enabled), key=lambda row: row.__name__))


def extension_of(row: RowClass) -> str:
    """Return the extension that a row class belongs to, or an empty string for core."""
    found = re.match(r"chalicelib\.extensions\.(\w+)", row.__module__)
    return found[1] if found else ""


def table_of(row: RowClass) -> str:
    """Return a class's table, as the template names it."""
    return storage.logical_name(row.Meta.table_name)


def keys_of(row: RowClass) -> list[str]:
    """Return the names of the partition key and, if the table has a sort key, of the sort key."""
    return [name for name in (row._hash_keyname, row._range_keyname) if name]


def attributes_of(row: RowClass) -> dict[str, Attribute[Any]]:
    """Return a class's attributes by name, without its keys."""
    return {name: one for name, one in row.get_attributes().items() if name not in keys_of(row)}


def class_of(table: str, item: dict[str, Any]) -> RowClass:
    """Return the only class that has an item's keys and attributes."""
    (row,) = (row for row in row_classes() if table_of(row) == table and _fits(row, item))
    return row


def _fits(row: RowClass, item: dict[str, Any]) -> bool:
    keys, attributes = keys_of(row), attributes_of(row)
    forms = row.lifecycle.partition, row.lifecycle.sort
    required = {name for name, one in attributes.items() if not one.null and one.default is None}
    return required <= item.keys() - {*keys} <= attributes.keys() and all(
        key_pattern(form).fullmatch(item[name]["S"]) for name, form in zip(keys, forms, strict=False)
    )


def _subclasses(row: RowClass) -> list[RowClass]:
    below = [one for subclass in row.__subclasses__() for one in _subclasses(subclass)]
    return [row, *below] if row.__module__.startswith("chalicelib.") and "Meta" in vars(row) else below
