"""A pytest plugin that counts the evidence for each guarantee in docs/guarantees.md and prints it after the run.

A test that proves a guarantee has the marker `guarantee`, and counts its cases with the fixture `count_cases`:

    @pytest.mark.guarantee("whole")
    def test_...(count_cases: CaseCounter) -> None:
        ...
        count_cases(faults=12, states=24)

If a marked test fails, its guarantee is broken. `CAMS_UPDATE_GUARANTEES=1 make test-all` updates the page if no
guarantee is broken.
"""

import os
from collections import Counter, defaultdict
from typing import Any, Protocol

import pytest

from tests import generated_docs
from tests.selection import runs_part

PAGE = "docs/guarantees.md"

COUNTED = {
    "faults": "faults injected",
    "states": "states compared",
    "requests": "requests fuzzed",
    "tenants": "tenants crossed",
}
BROKEN = "broken guarantees"

# Guarantee -> its text in the first column of the page's table, in the same order as the page.
GUARANTEES = {
    "whole": "A write is applied completely or not at all, wherever the process stops",
    "repeated": "A `POST`, `PUT` or `PATCH` with an `Idempotency-Key` takes effect once",
    "matched": "A save with `If-Match` never overwrites a change that its sender has not seen",
    "voice": "A reply with `inReplyTo` directly follows the message it names, and never an acknowledged takeover",
    "once": "Each webhook is sent at most once; its outcome is listed",
    "pulled": "A consumer of a pull endpoint reads each event once, even after a pause of 29 days",
    "model": "Every response equals that of a reference model",
    "any": "Any JSON value in an open member is returned unchanged",
    "contract": "No request causes a 500, and every response conforms to the OpenAPI document",
    "isolated": "A caller accesses only its workspace's records, on routes that its credential permits",
    "history": "Each read returns one complete write, no write is lost, and lists have no gaps or duplicates",
    "tallied": "Tallies become correct, whatever is repeated, reordered or interrupted",
    "changes": "The history contains every change once, with its author, and no value",
    "limits": "Concurrent writers never exceed a limit",
    "cloud": "During cloud failures, a caller gets a correct response or a 503 in time",
    "upgraded": "During an upgrade, each version reads what the other stores, and nothing is lost",
    "kept": "An acknowledged write survives `kill -9`, even in the local run",
    "secret": "No log, error or table contains a secret in clear text",
}


class CaseCounter(Protocol):
    """A function that adds to the case counts for the test's guarantees."""

    def __call__(self, *, faults: int = 0, states: int = 0, requests: int = 0, tenants: int = 0) -> None: ...


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "guarantee(name): proves a guarantee in docs/guarantees.md")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Copy the test's guarantees to its report, because reports do not contain markers."""
    for marker in item.iter_markers("guarantee"):
        (name,) = marker.args
        assert name in GUARANTEES, f"{name} is not in GUARANTEES of tests/guarantees.py"
        item.user_properties.append(("guarantee", name))


@pytest.fixture
def count_cases(request: pytest.FixtureRequest) -> CaseCounter:
    """Return a function that counts the test's cases for its guarantees."""
    assert request.node.get_closest_marker("guarantee"), "the test has no guarantee marker"

    def add(**counts: int) -> None:
        assert counts.keys() <= COUNTED.keys(), f"only {', '.join(COUNTED)} are counted"
        request.node.user_properties.append(("cases", counts))

    return add


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the table if a marked test ran. `make test` and `make test-rest` do not print the incomplete table."""
    if runs_part(config):
        return
    figures: dict[str, Counter[str]] = defaultdict(Counter)
    for reports in terminalreporter.stats.values():
        for report in reports:
            _add(report, figures)
    if not any(figures.values()):
        return
    terminalreporter.section("guarantees")
    for line in _table(figures):
        terminalreporter.write_line(line)
    is_complete = figures.keys() == GUARANTEES.keys() and not any(one[BROKEN] for one in figures.values())
    if os.environ.get("CAMS_UPDATE_GUARANTEES") and is_complete:
        generated_docs.write(PAGE, "guarantees", _markdown(figures))


def _add(report: Any, figures: dict[str, Counter[str]]) -> None:
    # Each test has three reports. Count the call's report, plus the report of a failed setup or teardown.
    if getattr(report, "when", None) != "call" and not getattr(report, "failed", False):
        return
    properties = getattr(report, "user_properties", [])
    for name in (value for kind, value in properties if kind == "guarantee"):
        figures[name]["tests"] += 1
        figures[name][BROKEN] += report.failed
        for counts in (value for kind, value in properties if kind == "cases"):
            figures[name].update(counts)


def _table(figures: dict[str, Counter[str]]) -> list[str]:
    columns = ["tests", *COUNTED, BROKEN]
    heads = ["guarantee", "tests", *COUNTED.values(), BROKEN]
    rows = [[name, *(f"{figures[name][one]:,}" for one in columns)] for name in GUARANTEES if name in figures]
    rows.append(["all", *(f"{sum(one[column] for one in figures.values()):,}" for column in columns)])
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    aligned = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in (heads, *rows)]
    return ["  ".join(row) for row in aligned]


def _markdown(figures: dict[str, Counter[str]]) -> str:
    rows = []
    for name, guarantee in GUARANTEES.items():
        counts = {one: figures[name][one] for one in ("tests", *COUNTED)}
        result = [f"{count:,} {one if count > 1 else one[:-1]}" for one, count in counts.items() if count]
        rows.append([guarantee, ", ".join(result)])
    return generated_docs.table(["Guarantee", "Last result"], rows)
