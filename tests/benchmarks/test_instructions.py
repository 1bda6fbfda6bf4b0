"""What a request may cost: instructions of the three operations, against the same on the bare SDK.

Counted, not timed: the same number in every run, so that a change that makes a request dearer is seen at once.
"""

import pytest

from benchmarks.measure import instructions
from benchmarks.overhead.cases import SMALL
from benchmarks.overhead.stacks import FLOOR, OURS
from benchmarks.questions import overhead

MOST = {"agent read": 1.30, "list page": 1.30, "small state": 1.30}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> overhead.Counts:
    """Ours and the floor, counted at the same time."""
    if not instructions.is_there():
        pytest.skip("instructions are counted by valgrind, which is not installed")
    directory = tmp_path_factory.mktemp("recordings")
    overhead.record(directory, SMALL, ["ours", "sealed"])
    return overhead.count(directory, {stack: dict.fromkeys(MOST, 2) for stack in (OURS, FLOOR)})


@pytest.mark.parametrize("case", MOST)
def test_a_request_costs_little_more_than_the_bare_sdk(counted: overhead.Counts, case: str) -> None:
    assert counted[OURS][case] <= MOST[case] * counted[FLOOR][case]


def test_what_is_counted_is_an_operation(counted: overhead.Counts) -> None:
    # The SDK alone takes some millions: less would mean that nothing was asked, more that a start was counted.
    assert all(1e6 < count < 40e6 for cases in counted.values() for count in cases.values())
