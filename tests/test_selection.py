"""`make test` tests each behaviour once, `make test-rest` runs all other tests, and both end with a summary line."""

import pytest

from tests.run_summary import summary_line

pytest_plugins = "pytester"

QUICK, REST, ALL = "not whole and not long", "whole and not long", "not long"
CASES = """
import pytest
from tests.selection import each_value_once, one_of_each, whole

def test_alone(): pass

@whole
def test_count(): pass

@each_value_once
@pytest.mark.parametrize("letter", ["a", "b"])
@pytest.mark.parametrize(("number", "double"), [(1, 2), (2, 4), (3, 6)])
def test_matrix(letter, number, double): pass

@one_of_each(lambda kind: kind)
@pytest.mark.parametrize(
    ("value", "kind"),
    [pytest.param(0, "x", marks=pytest.mark.long), (1, "x"), (2, "x"), (3, "y")],
)
def test_list(value, kind): pass
"""


def passed(pytester: pytest.Pytester, marks: str) -> tuple[set[str], str]:
    """Run the cases that match a marker expression; return the names of the passed cases and the last output line."""
    pytester.makepyfile(test_cases=CASES)
    pytester.makeini("[pytest]\nmarkers = long\n")
    ran = pytester.runpytest_inprocess("-v", "-p", "tests.selection", "-p", "tests.run_summary", "-m", marks)
    assert ran.ret == pytest.ExitCode.OK
    lines = [line for line in ran.outlines if line]
    return {line.split()[0].partition("::")[2] for line in lines if " PASSED" in line}, lines[-1]


def test_the_quick_run_and_the_rest_together_run_all_tests(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # importing the plugins takes seconds
    quick, last = passed(pytester, QUICK)
    assert quick == {
        "test_alone",
        "test_matrix[1-2-a]",
        "test_matrix[2-4-b]",
        "test_matrix[3-6-a]",
        "test_list[1-x]",
        "test_list[3-y]",
    }
    assert last.startswith("All 6 tests passed in ")
    assert last.endswith(" The other 5 run with `make test-all`.")
    rest, _ = passed(pytester, REST)
    everything, last = passed(pytester, ALL)
    assert quick | rest == everything
    assert not quick & rest
    assert last.startswith("All 11 tests passed in ")
    assert last.endswith(" s of CPU).")


@pytest.mark.parametrize(
    ("counts", "left", "line"),
    [
        ((1503, 0, 0, 0), 9, "All 1,503 tests passed in 140 s (290 s of CPU). The other 9 run with `make test-all`."),
        ((3, 0, 0, 1), 0, "All 3 tests passed in 140 s (290 s of CPU). 1 were skipped; ARGS=-rs shows why."),
        ((3, 1, 1, 0), 9, "2 of 5 tests failed; see the lines FAILED and ERROR above."),
        ((1, 0, 0, 0), 0, "The test passed in 140 s (290 s of CPU)."),
        ((0, 0, 0, 0), 9, ""),
    ],
)  # fmt: skip
def test_the_last_line_summarises_the_run(counts: tuple[int, ...], left: int, line: str) -> None:
    assert (
        summary_line(dict(zip(("passed", "failed", "error", "skipped"), counts, strict=True)), left, 140.2, 289.9)
        == line
    )


def test_modules_on_the_local_engine_run_first(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    on_engine = "import pytest\npytestmark = pytest.mark.engine\ndef test_engine(): pass"
    pytester.makepyfile(test_a="def test_quick(): pass", test_b=on_engine)
    pytester.makeini("[pytest]\nmarkers = engine\n")
    ran = pytester.runpytest_inprocess("-v", "-p", "tests.selection")
    ran.stdout.fnmatch_lines(["*test_engine PASSED*", "*test_quick PASSED*"])
