"""Functions that write rows outside requests, or run another writer just before a commit."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.storage.unit import Unit


def put_now(row: storage.Row, condition: Any = None) -> None:
    """Write a row in a separate unit of work."""
    with storage.unit_of_work():
        storage.put(row, condition)


def delete_now(row: storage.Row) -> None:
    """Delete a row in a separate unit of work."""
    with storage.unit_of_work():
        storage.delete(row)


def before_each_commit(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Call `act` before each commit that writes, including the commits of `act`. The test must stop the recursion."""
    commit = Unit.commit

    def acting(self: Unit) -> None:
        if self._steps:
            act()
        commit(self)

    monkeypatch.setattr(Unit, "commit", acting)
