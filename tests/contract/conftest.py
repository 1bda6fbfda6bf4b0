"""The contract tests' engine: unmodified moto, without `tests/fast_moto.py`."""

from collections.abc import Iterator

import pytest

from tests.engines import new_engine
from tests.fast_moto import plain_moto


@pytest.fixture(scope="module")
def engine() -> Iterator[None]:
    """Start a new engine with the template's resources."""
    with plain_moto(), new_engine():
        yield
