"""A lazily imported module is the module itself: a later replacement of an attribute has an effect."""

import pytest

from chalicelib import clock
from chalicelib.http.lazy_module import LazyModule


def test_a_replaced_attribute_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    lazy = LazyModule("chalicelib.clock")
    assert lazy.seconds is clock.seconds
    monkeypatch.setattr(clock, "seconds", lambda: 7)
    assert lazy.seconds() == 7
