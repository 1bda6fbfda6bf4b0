"""Instruction counts of the three operations and of each additional message, compared with the bare SDK.

Instruction counts hardly vary between runs, so the limits are slightly above the measured counts. A more expensive
request fails a test at once.
"""

import pytest

from benchmarks import instructions, overhead
from benchmarks.overhead import FLOOR, LIST, LONG, LONGER, READ, SMALL
from benchmarks.results import OURS
from tests.selection import whole

MOST = {READ: 1.2, LIST: 1.14, SMALL: 1.15, LONG: 0.72}
MOST_PER_MESSAGE = 93_000
# Number of operations in the shorter run. The cases that vary least need only one.
LENGTHS = {READ: 2, LIST: 2, SMALL: 2, LONG: 1, LONGER: 1}


pytestmark = whole


@pytest.fixture(scope="module")
def instruction_counts(tmp_path_factory: pytest.TempPathFactory) -> overhead.Counts:
    """Count the instructions of CAMS and of the bare SDK in parallel."""
    if not instructions.is_available():
        pytest.skip("valgrind, which counts instructions, is not installed")
    return overhead.count(tmp_path_factory.mktemp("counts"), dict.fromkeys((OURS, FLOOR), LENGTHS))


@pytest.mark.parametrize("case", MOST)
def test_a_request_stays_within_its_limit(instruction_counts: overhead.Counts, case: str) -> None:
    assert instruction_counts[OURS][case] <= MOST[case] * instruction_counts[FLOOR][case]


def test_one_more_message_stays_within_its_limit(instruction_counts: overhead.Counts) -> None:
    assert overhead.per_message(instruction_counts[OURS]) <= MOST_PER_MESSAGE


def test_the_counts_are_of_single_operations(instruction_counts: overhead.Counts) -> None:
    # The SDK alone takes a few million instructions. A lower count means that no request was sent; a higher count means
    # that process startup was counted too.
    assert all(1e6 < count < 80e6 for cases in instruction_counts.values() for count in cases.values())
