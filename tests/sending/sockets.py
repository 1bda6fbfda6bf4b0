"""Fixtures for tests that send requests to customer URLs: settings, DNS, and a watch on all sockets."""

import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib.sending import lookups

Resolve = Callable[..., list[str]]


class Watch:
    """Records the process's socket calls through the interpreter's audit events, and can refuse every connection."""

    def __init__(self) -> None:
        self.sockets = 0
        self.connects: list[Any] = []
        self.refuse = False

    def record(self, event: str, arguments: tuple[Any, ...]) -> None:
        self.sockets += event == "socket.__new__"
        if event == "socket.connect":
            self.connects.append(arguments[1][:2])
            if self.refuse:
                raise ConnectionRefusedError("Refused by the test")


_watches: list[Watch] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _watches and event.startswith("socket."):
        _watches[-1].record(event, arguments)


@pytest.fixture(scope="session")
def audited() -> None:
    sys.addaudithook(_audit)  # audit hooks cannot be removed, so the hook does nothing without a watch


@pytest.fixture
def watch(audited: None) -> Iterator[Watch]:
    """Record socket calls until the test ends."""
    _watches.append(Watch())
    yield _watches[-1]
    _watches.pop()


@pytest.fixture
def public_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply a deployment's setting: private addresses are blocked."""
    monkeypatch.delenv("CAMS_WEBHOOK_ALLOW_PRIVATE", raising=False)


@pytest.fixture
def empty_cache() -> None:
    """Empty the DNS cache, so that tests do not share results."""
    lookups.cache.clear()


@pytest.fixture
def private(public_only: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply the local run's setting: receivers on this machine are allowed."""
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[[Resolve], list[str]]:
    """Replace DNS with a function that maps a name to addresses. Return the list of names that are looked up."""
    lookups: list[str] = []
    real = socket.getaddrinfo

    def use(resolve: Resolve) -> list[str]:
        def fake(host: str, port: int, **options: Any) -> list[Any]:
            lookups.append(host)
            answers = (real(address, port, **options) for address in resolve(host))
            return [answer for each in answers for answer in each]

        monkeypatch.setattr(socket, "getaddrinfo", fake)
        return lookups

    return use
