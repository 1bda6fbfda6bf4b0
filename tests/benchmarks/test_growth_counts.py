"""The counts of the growth benchmark are those of its results, where they are quickly counted: at its small end."""

from collections.abc import Iterator, Mapping

import pytest

from benchmarks import populate, results
from benchmarks.questions import growth
from tests.engine import shared_engine

COUNT, SIZES = growth.COUNTS[0], (1, 64)


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[None]:
    """One for all; each test has tenants of its own."""
    with shared_engine():
        yield


@pytest.fixture(scope="module")
def published() -> Mapping[tuple[str, str], float | None]:
    """The published numbers of ours by case and metric."""
    rows = results.read(results.LATEST)["rows"]
    return {(one["case"], one["metric"]): one["ours"] for one in rows if one["question"] == "growth"}


def test_a_small_tenant_costs_what_the_results_say(published: Mapping[tuple[str, str], float | None]) -> None:
    tenant = populate.tenant()
    populate.fill(tenant, COUNT)
    counted = dict(growth.tenant_costs(tenant, COUNT))
    assert len(counted) > 10
    assert units(counted, COUNT, growth.CONVERSATIONS) == {
        cost: value
        for cost, value in published.items()
        if (place := growth.point(cost[0])) and place[1:] == (COUNT, growth.CONVERSATIONS)
    }


@pytest.mark.parametrize("kb", SIZES)
def test_a_state_costs_what_the_results_say(kb: int, published: Mapping[tuple[str, str], float | None]) -> None:
    counted = units(dict(growth.conversation_costs(kb)), kb, growth.KB)
    assert len(counted) > 5
    assert counted == {cost: published[cost] for cost in counted}


@pytest.mark.parametrize(
    ("case", "place"),
    [
        ("agent read, 100,000 conversations", ("agent read", 100_000, "conversations")),
        ("list page 1, 2,048 KB", ("list page 1", 2_048, "KB")),
        ("growth from 10 to 100,000 conversations", None),
        ("list page 1, growth from 1 to 2,048 KB", None),
    ],
)
def test_a_case_says_where_it_stands(case: str, place: tuple[str, int, str] | None) -> None:
    assert growth.point(case) == place


def units(counted: Mapping[str, growth.Costs], place: int, unit: str) -> dict[tuple[str, str], float]:
    """Counts as rows have them; not the bytes, which another build of zlib may make a few more or less."""
    return {
        (f"{name}, {place:,} {unit}", metric): value
        for name, costs in counted.items()
        for metric, value in costs.items()
        if value and metric != "bytes"
    }
