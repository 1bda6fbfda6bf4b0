"""A clock for the order of creation."""

import pytest

from chalicelib import clock


@pytest.fixture(autouse=True)
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call of the clock returns a later time, so that the order of creation is unambiguous."""
    real, last = clock.milliseconds, [0]

    def tick() -> int:
        last[0] = max(real(), last[0] + 1)
        return last[0]

    monkeypatch.setattr(clock, "milliseconds", tick)
