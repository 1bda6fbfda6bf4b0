"""What a request may cost: instructions of the three operations, against the same on the bare SDK; and of a message.

Counted, not timed: the same number in every run, so that a change that makes a request dearer is seen at once. The
limits are what was reached and a little more; the goals of `benchmarks` are above them.
"""

import pytest

from benchmarks.measure import instructions
from benchmarks.overhead.cases import FURTHER, LONG
from benchmarks.overhead.stacks import FLOOR, OURS
from benchmarks.questions import overhead

MOST = {"agent read": 1.05, "list page": 1.15, "small state": 1.08, "state of 100": 0.70}
MOST_OF_A_MESSAGE = 70_000
# Operations of the shorter run: those that vary least are counted once.
LENGTHS = {"agent read": 2, "list page": 2, "small state": 2, "state of 100": 1, "state of 300": 1}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> overhead.Counts:
    """Ours and the floor, counted at the same time."""
    if not instructions.is_there():
        pytest.skip("instructions are counted by valgrind, which is not installed")
    directory = tmp_path_factory.mktemp("recordings")
    overhead.record(directory, FURTHER, ["ours", "sealed"])
    return overhead.count(directory, dict.fromkeys((OURS, FLOOR), LENGTHS))


@pytest.mark.parametrize("case", MOST)
def test_a_request_costs_little_more_than_the_bare_sdk(counted: overhead.Counts, case: str) -> None:
    assert counted[OURS][case] <= MOST[case] * counted[FLOOR][case]


def test_a_further_message_of_a_state_costs_little(counted: overhead.Counts) -> None:
    further = counted[OURS]["state of 300"] - counted[OURS]["state of 100"]
    assert further / (FURTHER - LONG) <= MOST_OF_A_MESSAGE


def test_what_is_counted_is_an_operation(counted: overhead.Counts) -> None:
    # The SDK alone takes some millions: less would mean that nothing was asked, more that a start was counted.
    assert all(1e6 < count < 80e6 for cases in counted.values() for count in cases.values())
