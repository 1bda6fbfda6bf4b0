"""Fixtures for the webhook pipeline: private receivers are allowed, and streams and queues start empty."""

from collections.abc import Callable, Iterator
from typing import Protocol

import pytest

from chalicelib import clock
from chalicelib.webhooks import delivery, fan_out, hosts, retry_policy
from tests.webhooks import pipeline
from tests.webhooks.crashes import make_atomic


@pytest.fixture
def stream(engine: None, monkeypatch: pytest.MonkeyPatch) -> pipeline.Stream:
    """Return the streams, starting now. A new receiver counts as quick, so its deliveries use the fast queue."""
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    monkeypatch.setattr(hosts, "NEW", pipeline.QUICK)
    make_atomic(monkeypatch.setattr)
    return pipeline.Stream()


@pytest.fixture
def inbox() -> Iterator[pipeline.Inbox]:
    """Run a receiver that acknowledges every delivery."""
    with pipeline.inbox() as running:
        yield running


class SetLimits(Protocol):
    """Sets fan-out and delivery limits for a test. Limits that are not passed stay unchanged."""

    def __call__(
        self,
        *,
        slow_seconds: float | None = None,
        poll_seconds: float | None = None,
        starts: int | None = None,
        messages: int | None = None,
        characters: int | None = None,
    ) -> None: ...


@pytest.fixture
def set_limits(monkeypatch: pytest.MonkeyPatch) -> SetLimits:
    """Return a function that sets limits.

    A receiver is slow after `slow_seconds`. A batch starts `starts` deliveries every `poll_seconds`. A fan-out
    invocation sends at most `messages` messages, and a message contains at most `characters` characters of events.
    """

    def set_limits(**limits: float | None) -> None:
        for name, limit in limits.items():
            monkeypatch.setattr(*_LIMITS[name], limit)

    return set_limits


_LIMITS = {
    "slow_seconds": (retry_policy, "SLOW_SECONDS"),
    "poll_seconds": (delivery, "_POLL_SECONDS"),
    "starts": (delivery, "_STARTS"),
    "messages": (fan_out, "_MAX_MESSAGES"),
    "characters": (fan_out, "_MAX_CHARACTERS"),
}


@pytest.fixture
def slow_new_hosts(stream: pipeline.Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat new hosts as slow, as in a deployment."""
    monkeypatch.setattr(hosts, "NEW", hosts.Host())


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that advances the clock by a number of seconds."""
    real, offset = clock.milliseconds, [0]

    def advance(seconds: int) -> None:
        offset[0] += seconds * 1000
        monkeypatch.setattr(clock, "milliseconds", lambda: real() + offset[0])

    return advance
