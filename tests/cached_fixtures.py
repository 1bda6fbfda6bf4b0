"""Common fixtures, created by the service once per process and restored for later tests.

Creating a workspace and its agent takes five times as long as an average test. Items and stream records are restored
with the same ids, and only if the tables and their items equal those at the first creation. Caches are not restored:
they are empty afterwards.
"""

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from tests.moto_tables import tables

T = TypeVar("T")


class _Saved(NamedTuple):
    tables: list[Any]
    before: Any
    after: bytes
    made: Any


_saved: dict[str, _Saved] = {}


def restore_or_create(name: str, make: Callable[[], T]) -> tuple[T, bool]:
    """Return the result of `make`, and whether it was restored from an earlier call."""
    now, before = list(tables().values()), _contents()
    saved = _saved.get(name)
    if saved and saved.before == before and all(one is other for one, other in zip(saved.tables, now, strict=False)):
        for table, (items, happened) in zip(now, pickle.loads(saved.after), strict=True):
            table.items = items
            if table.stream_shard is not None:
                table.stream_shard.items = happened
        return saved.made, True
    made = make()
    after = [(one.items, one.stream_shard.items if one.stream_shard else None) for one in now]
    _saved[name] = _Saved(now, before, pickle.dumps(after), made)
    return made, False


def _contents() -> list[list[Any]]:
    return [[item.to_json() for item in table.all_items()] for table in tables().values()]
