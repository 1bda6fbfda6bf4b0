"""Operations cost the same among few and many conversations, also after deletions, and equal the published results."""

from collections.abc import Iterator, Mapping

import pytest

from benchmarks import deliveries, results
from benchmarks.costs import UNITS, Costs
from benchmarks.questions import scale
from benchmarks.questions.listing import ANY_PAGE
from tests.engine import shared_engine

LISTS = {scale.BY_CURSOR, *scale.PAGES}
SMALL, LARGE = 10, 400


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[None]:
    """One engine for all tests; each test has its own tenants."""
    with shared_engine():
        yield


@pytest.fixture(scope="module")
def counted(engine: None) -> scale.Figures:
    """Each operation's costs at both sizes, with and without deletions."""
    found: scale.Figures = {}
    for count in (SMALL, LARGE):
        for size, tenant, numbers in scale.sizes(count):
            for operation, costs, _ in scale.measured(tenant, numbers):
                found.setdefault(operation.name, {})[size] = costs
    return found


@pytest.fixture(scope="module")
def published() -> Mapping[tuple[str, str], float | None]:
    """Return the published figures of CAMS by case and metric."""
    rows = results.read(results.LATEST)["rows"]
    return {(one["case"], one["metric"]): one["ours"] for one in rows if one["question"] == "scale"}


def test_an_operation_costs_the_same_at_any_size(counted: scale.Figures) -> None:
    assert len(counted) == 8
    for name in counted.keys() - LISTS:
        assert all(costs == counted[name][f"{SMALL} conversations"] for costs in counted[name].values()), name


def test_a_list_costs_the_same_once_a_page_is_full(counted: scale.Figures) -> None:
    costs = counted[scale.BY_CURSOR]
    assert costs[f"{LARGE} conversations"] == costs[f"half of {LARGE} deleted"]


def test_a_page_by_number_stays_within_its_limits(counted: scale.Figures) -> None:
    for name in scale.PAGES:
        for costs in counted[name].values():
            assert all(costs[metric] <= limit for metric, limit in ANY_PAGE.items())


@pytest.mark.parametrize("count", [200, 1_000])
def test_a_list_of_deliveries_costs_the_same_at_any_size(
    count: int, published: Mapping[tuple[str, str], float | None]
) -> None:
    for name, costs in deliveries.costs(count):
        assert nonzero(costs) == {metric: published[name, metric] for metric in UNITS if (name, metric) in published}


def test_the_costs_equal_the_results(counted: scale.Figures, published: Mapping[tuple[str, str], float | None]) -> None:
    """The pages of the results are deeper."""
    for name in counted.keys() - scale.PAGES.keys():
        costs = nonzero(counted[name][f"half of {LARGE} deleted"])
        assert costs == {metric: published[name, metric] for metric in costs}, name


def nonzero(costs: Costs) -> Costs:
    """The costs as in rows."""
    return {metric: value for metric, value in costs.items() if value}
