"""The rows of the suite, their goals, the results file, and the table in docs/benchmarks.md.

A row contains a figure for CAMS and for each contender. `python -m benchmarks.results` writes the table from the
results file, without measuring.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks import session_table

HERE = Path(__file__).parent
LATEST = HERE / "results.json"
PAGE = HERE.parent / "docs" / "benchmarks.md"

SESSIONS = "sessions"
QUESTIONS = ("state", "overhead", "cold_start", "fanout", SESSIONS)
OURS = "CAMS"
# Dollars per million units: the list price for on-demand use in us-east-1 in 2025. A write costs five times a read.
PRICES = {"read units": 0.125, "write units": 0.625}
_PER_MILLION = " per million"
DOLLARS = f"dollars{_PER_MILLION}"
_APPEND = "rewrites the end and the metadata"
# (question, case, metric) -> the reason for a missed goal. Each missed goal, and no other, has a reason
# (`tests/benchmarks/test_results.py`).
REASONS: dict[tuple[str, str, str], str] = {
    ("state", "first state, 10 messages", "write units"): "stores new messages twice, for events",
    ("state", "append, 10 messages", DOLLARS): _APPEND,
    ("state", "append, 100 messages", DOLLARS): _APPEND,
    ("state", "append, 1,000 messages", DOLLARS): _APPEND,
    ("overhead", "state of 100", "M instructions"): "each change compresses all turns",
    ("state", "read, 1,000 messages", DOLLARS): "compresses each chunk separately",
    ("overhead", "one more message of a state", "M instructions"): "each change compresses all turns",
}
# The page says once for each question how the peers store data.
_SUFFIXES = (" as documented", " with our encoding", " + Mangum")
# The page leaves out the metrics that prices include.
_PRICED = {"requests", "read units"}


class Goal(NamedTuple):
    """The target of CAMS: at most or at least `limit`, multiplied by the figure of `of`."""

    relation: Literal["<=", ">="]
    limit: float
    of: str = ""

    def __str__(self) -> str:
        return f"{self.relation} {self.limit:,g}" + (f" x {self.of}" if self.of else "")


class Row(NamedTuple):
    """The figures of a row by contender, CAMS first, and whether the goal is met. Without a goal, `holds` is None."""

    case: str
    metric: str
    figures: Mapping[str, float]
    goal: str = ""
    holds: bool | None = None


Results = dict[str, Sequence[Row]]
"""Question -> rows."""


def row(case: str, metric: str, figures: Mapping[str, float], goal: Goal | None = None) -> Row:
    """Return a row with its goal evaluated. Raise KeyError if a figure of the goal is missing."""
    if goal is None:
        return Row(case, metric, figures)
    limit = goal.limit * (figures[goal.of] if goal.of else 1)
    ours = figures[OURS]
    return Row(case, metric, figures, str(goal), ours <= limit if goal.relation == "<=" else ours >= limit)


def reason(question: str, measured: Row) -> str:
    """Return the known reason for a missed goal, or an empty string."""
    return REASONS.get((question, measured.case, measured.metric), "")


def published(question: str) -> dict[tuple[str, str], float]:
    """Return the latest figures of CAMS by case and metric."""
    return {(measured.case, measured.metric): measured.figures[OURS] for measured in read()[question]}


def read() -> Results:
    """Read the results file."""
    stored = json.loads(LATEST.read_text(encoding="utf-8"))
    return {question: [Row(*values) for values in rows] for question, rows in stored.items()}


def write(results: Results) -> None:
    """Write the results file with one row per line, and the table of the page. Other questions keep their rows."""
    results = {**(read() if LATEST.exists() else {}), **results}
    questions = (
        f'"{question}": [\n' + ",\n".join(json.dumps(measured) for measured in results[question]) + "\n]"
        for question in QUESTIONS
        if question in results
    )
    LATEST.write_text("{\n" + ",\n".join(questions) + "\n}\n", encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


def with_tables(page: str, results: Results) -> str:
    """Return the page with its tables.

    The first contains the comparisons that have a goal, and those in which a contender is cheaper.
    """
    lines = ["| Case | CAMS | Compared with | Goal |", "|---|---|---|---|"]
    lines += [
        line(question, measured)
        for question, rows in results.items()
        for measured in rows
        if measured.metric not in _PRICED and (measured.goal or _is_lost(measured))
    ]
    return _with_part(_with_part(page, "benchmarks", lines), SESSIONS, table_lines(SESSIONS, results[SESSIONS]))


def _with_part(page: str, name: str, lines: Sequence[str]) -> str:
    before, start, rest = page.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- end of {name} -->")
    return before + start + "\n".join(lines) + "\n" + end + after


def table_lines(question: str, rows: Sequence[Row]) -> list[str]:
    """Return the lines that a run prints for a question."""
    if question == SESSIONS:
        return session_table.lines({(measured.case, measured.metric): measured.figures for measured in rows})
    return [line(question, measured) for measured in rows]


def _is_lost(measured: Row) -> bool:
    """Return whether a contender is cheaper than CAMS."""
    return measured.metric == DOLLARS and min(measured.figures.values()) < measured.figures[OURS]


def line(question: str, measured: Row) -> str:
    """Return a row of the page's table."""
    figures = dict(measured.figures)
    ours = _number(figures.pop(OURS))
    others = ", ".join(f"{name} {_number(value)}" for name, value in figures.items())
    goal = measured.goal
    if measured.holds is False:
        goal += f"; missed: {reason(question, measured)}".removesuffix(": ")
    case = f"{question.replace('_', ' ')}: {measured.case}, {measured.metric.removesuffix(_PER_MILLION)}"
    text = f"| {' | '.join((case, ours, others, goal))} |"
    for suffix in _SUFFIXES:
        text = text.replace(suffix, "")
    return text


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 or float(value).is_integer() else f"{value:.3g}"


if __name__ == "__main__":
    write({})
