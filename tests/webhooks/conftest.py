"""Fixtures of the webhook pipeline: private receivers are allowed, and streams and queues start empty."""

from collections.abc import Callable, Iterator

import pytest

from chalicelib import clock
from chalicelib.webhooks import hosts
from tests.webhooks import pipeline
from tests.webhooks.crashes import make_atomic


@pytest.fixture
def stream(engine: None, monkeypatch: pytest.MonkeyPatch) -> pipeline.Stream:
    """Provide the streams from now on. A new receiver counts as quick, so its deliveries use the fast queue."""
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    monkeypatch.setattr(hosts, "NEW", pipeline.QUICK)
    make_atomic(monkeypatch.setattr)
    return pipeline.Stream()


@pytest.fixture
def inbox() -> Iterator[pipeline.Inbox]:
    """Run a receiver that acknowledges every delivery."""
    with pipeline.inbox() as running:
        yield running


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that advances the clock by a number of seconds."""
    real, offset = clock.milliseconds, [0]

    def advance(seconds: int) -> None:
        offset[0] += seconds * 1000
        monkeypatch.setattr(clock, "milliseconds", lambda: real() + offset[0])

    return advance
