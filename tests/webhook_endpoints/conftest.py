"""The fixture for the order of creation."""

import pytest


@pytest.fixture(autouse=True)
def in_order(ticking: None) -> None:
    """Advance the clock between creations, because all tests of this folder list their records in order of creation."""
