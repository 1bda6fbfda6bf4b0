"""Simulated crashes of a command before any of its requests to the database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib import storage
from tests.engines import clear_caches
from tests.moto_tables import restore, snapshot
from tests.selection import whole


class Crash(BaseException):
    """The simulated process crashes here."""


@contextmanager
def crash_at(request: int) -> Iterator[list[str]]:
    """Inside the block, crash before this request to the database; yield the list of requests."""
    sent: list[str] = []

    def count(model: Any, **_: Any) -> None:
        if len(sent) == request:
            raise Crash
        sent.append(model.name)

    database = storage.sdk_client("dynamodb").meta.events
    database.register_first("before-call.dynamodb", count)
    try:
        yield sent
    except Crash:
        pass
    finally:
        database.unregister("before-call.dynamodb", count)


def crashes(act: Callable[[], object], points: slice) -> Iterator[None]:
    """Crash `act` at some of its requests, each time starting from the same tables; yield after each crash."""
    before = snapshot()
    clear_caches()
    with crash_at(-1) as needed:
        act()
    for request in range(len(needed))[points]:
        restore(before)
        clear_caches()
        with crash_at(request) as sent:
            act()
        assert len(sent) == request
        yield


# `make test-all` crashes at each fourth request, and `make test-long` at each request, which takes minutes.
each_crash = pytest.mark.parametrize(
    "points",
    [
        slice(2, None, 20),
        pytest.param(slice(1, None, 8), marks=whole),
        pytest.param(slice(None), marks=pytest.mark.long),
    ],
)
