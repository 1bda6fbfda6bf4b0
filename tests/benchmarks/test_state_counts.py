"""The counts of the state benchmark are those of its results: an operation that costs more fails here first."""

from collections.abc import Iterator

import pytest

from benchmarks import populate, results
from benchmarks.ours import COUNTS, OPERATIONS, Ours, case, costs
from tests.engine import shared_engine


@pytest.fixture(scope="module")
def ours() -> Iterator[Ours]:
    """One for all; each test has conversations of its own."""
    with shared_engine():
        yield Ours(populate.tenant().api, populate.AGENT)


@pytest.mark.parametrize("count", COUNTS)
def test_an_operation_costs_what_the_results_say(count: int, ours: Ours) -> None:
    rows = results.read(results.LATEST)["rows"]
    published = {(one["case"], one["metric"]): one["ours"] for one in rows if one["question"] == "state"}
    counted = dict(costs(ours, count))
    assert tuple(counted) == OPERATIONS
    for operation, values in counted.items():
        assert values == {metric: published[case(operation, count), metric] for metric in values}, operation
