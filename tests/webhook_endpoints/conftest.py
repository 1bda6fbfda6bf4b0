"""A fixture that gives records distinct creation times."""

import pytest


@pytest.fixture(autouse=True)
def in_order(ticking: None) -> None:
    """Advance the clock between creations, because the tests in this folder list records in order of creation."""
