"""Instructions of the three operations, compared with the bare SDK, and of one more message.

Counts are equal in every run, so a more expensive request fails at once. The limits are slightly above the measured
counts.
"""

import pytest

from benchmarks.measure import instructions
from benchmarks.overhead.cases import FURTHER, LONG
from benchmarks.overhead.stacks import FLOOR, OURS
from benchmarks.questions import overhead
from tests.selection import whole

MOST = {"agent read": 0.81, "list page": 1.33, "small state": 1.24, "state of 100": 0.73}
MOST_PER_MESSAGE = 88_000
# Operations of the shorter run; the least variable cases need only one.
LENGTHS = {"agent read": 2, "list page": 2, "small state": 2, "state of 100": 1, "state of 300": 1}


pytestmark = whole


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> overhead.Counts:
    """Count CAMS and the floor in parallel."""
    if not instructions.is_available():
        pytest.skip("valgrind, which counts instructions, is not installed")
    directory = tmp_path_factory.mktemp("recordings")
    overhead.record(directory, FURTHER, ["ours", "sealed"])
    return overhead.count(directory, dict.fromkeys((OURS, FLOOR), LENGTHS))


@pytest.mark.parametrize("case", MOST)
def test_a_request_stays_within_its_limit(counted: overhead.Counts, case: str) -> None:
    assert counted[OURS][case] <= MOST[case] * counted[FLOOR][case]


def test_one_more_message_stays_within_its_limit(counted: overhead.Counts) -> None:
    difference = counted[OURS]["state of 300"] - counted[OURS]["state of 100"]
    assert difference / (FURTHER - LONG) <= MOST_PER_MESSAGE


def test_the_counts_are_of_single_operations(counted: overhead.Counts) -> None:
    # The SDK alone takes some millions. Fewer means no request; more means that the count includes the start.
    assert all(1e6 < count < 80e6 for cases in counted.values() for count in cases.values())
