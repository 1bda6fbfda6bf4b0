"""The question `poison` sees a pair that is missing, and a POST that is made again or unexpected."""

from collections import Counter

import pytest

from benchmarks.questions import poison
from benchmarks.questions.poison import Pairs

A, B, OTHER = ("/a", "1"), ("/b", "1"), ("/b", "2")


@pytest.mark.parametrize(
    ("enqueued", "posted", "listed", "missed"),
    [
        pytest.param([A, B], [A, B], [A, B], set(), id="each once"),
        pytest.param([A, B], [A], [A, B], set(), id="one listed only"),
        pytest.param([A, B], [A], [A], {"pairs posted or listed, of 2"}, id="one lost"),
        pytest.param([A, B], [A, B, B], [A, B], {"pairs posted again, or unexpectedly"}, id="one posted again"),
        pytest.param([A, B], [A, B, OTHER], [A, B], {"pairs posted again, or unexpectedly"}, id="one unexpected"),
        pytest.param([A, B, B], [A, B], [A, B], {"pairs enqueued again"}, id="one enqueued again"),
        pytest.param([A], [A, B], [A, B], {"pairs enqueued"}, id="one not enqueued"),
    ],
)
def test_only_pairs_that_are_posted_once_or_listed_meet_the_goals(
    enqueued: list[tuple[str, str]], posted: list[tuple[str, str]], listed: list[tuple[str, str]], missed: set[str]
) -> None:
    longest = dict.fromkeys(poison._NAMES, 1.0)
    counts = map(Pairs, (enqueued, [A, B], posted, listed))
    rows = poison._rows("case", poison._Found(longest, 100, 0, *counts, Counter()), pairs=2)
    assert {one["metric"] for one in rows if one["holds"] is False} == missed
