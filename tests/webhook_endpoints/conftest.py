"""A clock for the order of creation."""

import pytest


@pytest.fixture(autouse=True)
def in_order(ticking: None) -> None:
    """All tests of this folder list what they have created."""
