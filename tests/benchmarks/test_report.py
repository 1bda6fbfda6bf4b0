"""The table in docs/benchmarks.md matches the latest results, and only a missed goal has a reason."""

from typing import get_args

from benchmarks import reasons, report, results
from benchmarks.results import Goal, Row, row


def rows() -> list[Row]:
    found: list[Row] = results.read(results.LATEST)["rows"]
    return found


def test_the_page_has_the_table_of_the_latest_results() -> None:
    text = report.PAGE.read_text(encoding="utf-8")
    assert report.with_table(text, rows()) == text, "run `python -m benchmarks.report`"


def test_the_results_have_every_question() -> None:
    questions = {one["question"] for one in rows()}
    assert questions == set(get_args(results.Question))


def test_every_missed_goal_has_a_reason_and_no_other() -> None:
    missed = {(one["question"], one["case"], one["metric"]) for one in rows() if one["holds"] is False}
    assert reasons.REASONS.keys() == missed


def test_a_goal_is_evaluated_from_the_figures() -> None:
    peers = {"a": 10.0, "b": 40.0, "cannot": None}
    goals = [
        Goal("<=", 0.5, "best peer"),
        Goal("<=", 0.125, "worst peer"),
        Goal("<=", 2, "floor"),
        Goal("<=", 0.5, "a"),
    ]
    assert row("state", "c", "requests", "", 5, peers=peers, floor=2.5, goals=goals)["holds"] is True
    for goal in goals:
        assert row("state", "c", "requests", "", 5.1, peers=peers, floor=2.5, goals=[goal])["holds"] is False
    assert row("fanout", "c", "rate", "/s", 799, goals=[Goal(">=", 800)])["holds"] is False
    assert row("state", "c", "requests", "", None, goals=[Goal("<=", 1)])["holds"] is False
    assert row("state", "c", "requests", "", 1)["holds"] is None


def test_the_dollars_weigh_a_write_unit_five_times_a_read_unit() -> None:
    counts = {"read units": (2, 1.5, None), "write units": (0, 3, 4), "capacity units": (2, 4.5, None)}
    goals = [Goal("<=", 2)]
    made = [
        row("state", "c", metric, "", ours, floor=floor, peers={"a": peer}, goals=goals)
        for metric, (ours, floor, peer) in counts.items()
    ]
    lines = report.markdown(made).splitlines()[2:]
    assert {line.split(" | ")[3] for line in lines} == {"0.25, floor 2.06, a n/a"}
    assert len(lines) == 3
