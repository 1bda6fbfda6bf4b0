"""The table in docs/benchmarks.md matches the latest results, and gives a reason only for missed goals."""

import pytest

from benchmarks import results
from benchmarks.results import OURS, Goal, row


def test_the_page_has_the_tables_of_the_latest_results() -> None:
    text = results.PAGE.read_text(encoding="utf-8")
    assert results.with_tables(text, results.read()) == text, "update the table: run `python -m benchmarks.results`"


def test_the_results_have_every_question() -> None:
    assert tuple(results.read()) == results.QUESTIONS


def test_every_missed_goal_has_a_reason_and_no_other() -> None:
    rows = [(question, measured) for question, rows in results.read().items() for measured in rows]
    missed = {(question, measured.case, measured.metric) for question, measured in rows if measured.holds is False}
    assert results.REASONS.keys() == missed


@pytest.mark.parametrize(
    ("ours", "goal", "holds"),
    [
        (5, Goal("<=", 0.5, "peer"), True),
        (5.1, Goal("<=", 0.5, "peer"), False),
        (5, Goal("<=", 5), True),
        (5.1, Goal("<=", 5), False),
        (5, Goal(">=", 5), True),
        (4.9, Goal(">=", 5), False),
    ],
)
def test_a_goal_is_evaluated_from_the_figures(ours: float, goal: Goal, holds: bool) -> None:
    assert row("case", "requests", {OURS: ours, "peer": 10}, goal).holds is holds
