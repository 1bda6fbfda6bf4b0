"""The counts of the state benchmark equal its results: a more expensive operation fails here first."""

from collections.abc import Iterator

import pytest

from benchmarks import populate, results
from benchmarks.ours import COUNTS, OPERATIONS, Ours, case, costs
from tests.engine import shared_engine
from tests.selection import one_of_each


@pytest.fixture(scope="module")
def ours() -> Iterator[Ours]:
    """One store for all tests; each test has its own conversations."""
    with shared_engine():
        yield Ours(populate.tenant().api, populate.AGENT)


@one_of_each(lambda: None)
@pytest.mark.parametrize("count", COUNTS)
def test_the_costs_of_an_operation_equal_the_results(count: int, ours: Ours) -> None:
    rows = results.read(results.LATEST)["rows"]
    published = {(one["case"], one["metric"]): one["ours"] for one in rows if one["question"] == "state"}
    counted = dict(costs(ours, count))
    assert tuple(counted) == OPERATIONS
    for operation, values in counted.items():
        assert values == {metric: published[case(operation, count), metric] for metric in values}, operation
