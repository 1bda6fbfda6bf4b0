"""The counts of the state benchmark equal its results: a more expensive operation fails here first."""

from collections.abc import Iterator

import pytest

from benchmarks import populate, results
from benchmarks.ours import COUNTS, OPERATIONS, Ours, case, costs
from benchmarks.transcripts import transcript
from tests.capacity import size
from tests.engine import shared_engine
from tests.moto_tables import items
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


def test_the_first_state_of_ten_messages_leaves_room_in_its_two_write_units(ours: Ours) -> None:
    """The third unit is the index entry. Names and ids in the workspace may be longer than here."""
    ours.replace("room", transcript(10))
    (item,) = (one for one in items()["cams-conversations"] if one["conversation"]["S"].endswith("#room"))
    assert size(item) <= 2 * 1024 - 256
