"""The counts of the growth benchmark equal its results, checked for the small cases."""

from collections.abc import Iterator, Mapping

import pytest

from benchmarks import populate, results
from benchmarks.questions import growth
from tests.engine import shared_engine

COUNT, SIZES = growth.COUNTS[0], (1, 64)


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[None]:
    """One engine for all tests; each test has its own tenants."""
    with shared_engine():
        yield


@pytest.fixture(scope="module")
def published() -> Mapping[tuple[str, str], float | None]:
    """Return the published figures of CAMS by case and metric."""
    rows = results.read(results.LATEST)["rows"]
    return {(one["case"], one["metric"]): one["ours"] for one in rows if one["question"] == "growth"}


def test_the_costs_of_a_small_tenant_equal_the_results(published: Mapping[tuple[str, str], float | None]) -> None:
    tenant = populate.tenant()
    populate.fill(tenant, range(1, COUNT + 1))
    counted = dict(growth.tenant_costs(tenant, COUNT))
    assert len(counted) > 10
    assert units(counted, COUNT, growth.CONVERSATIONS) == {
        cost: value
        for cost, value in published.items()
        if (position := growth.position(cost[0])) and position[1:] == (COUNT, growth.CONVERSATIONS)
    }


@pytest.mark.parametrize("kb", SIZES)
def test_the_costs_of_a_state_equal_the_results(kb: int, published: Mapping[tuple[str, str], float | None]) -> None:
    counted = units(dict(growth.conversation_costs(kb)), kb, growth.KB)
    assert len(counted) > 5
    assert counted == {cost: published[cost] for cost in counted}


@pytest.mark.parametrize(
    ("case", "position"),
    [
        ("agent read, 100,000 conversations", ("agent read", 100_000, "conversations")),
        ("list page 1, 2,048 KB", ("list page 1", 2_048, "KB")),
        ("growth from 10 to 100,000 conversations", None),
        ("list page 1, growth from 1 to 2,048 KB", None),
    ],
)
def test_a_case_has_its_position(case: str, position: tuple[str, int, str] | None) -> None:
    assert growth.position(case) == position


def units(counted: Mapping[str, growth.Costs], position: int, unit: str) -> dict[tuple[str, str], float]:
    """Return counts in the form of rows, without bytes: they differ slightly between builds of zlib."""
    return {
        (f"{name}, {position:,} {unit}", metric): value
        for name, costs in counted.items()
        for metric, value in costs.items()
        if value and metric != "bytes"
    }
