"""The state benchmark's counts equal its published results, so a more expensive operation fails a test."""

from collections.abc import Iterator

import pytest

from benchmarks import populate, results
from benchmarks.state import LENGTHS, OPERATIONS, Ours, case, costs, with_dollars
from tests.engines import new_engine
from tests.selection import first_case


@pytest.fixture(scope="module")
def ours() -> Iterator[Ours]:
    """Provide one store for all tests. Each test uses its own conversations."""
    with new_engine():
        yield Ours(populate.tenant().api)


@first_case
@pytest.mark.parametrize("count", LENGTHS)
def test_the_costs_of_an_operation_equal_the_results(count: int, ours: Ours) -> None:
    published = results.published("state")
    counted = dict(costs(ours, count))
    assert tuple(counted) == OPERATIONS
    for operation, values in counted.items():
        expected = {metric: published[case(operation, count), metric] for metric in with_dollars(values)}
        # The times in the compressed text slightly change the mean cost of an append.
        tolerance = 0.002 if operation == "append" else 0
        assert with_dollars(values) == pytest.approx(expected, rel=tolerance, abs=0), operation
