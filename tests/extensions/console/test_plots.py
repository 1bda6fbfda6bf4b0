"""The axes and lines of charts."""

import pytest

from tests import extensions

extensions.require("reports")

from chalicelib.extensions.console.figure_pages import plots

NAMES = ("conversations", "averageSeconds")


def series(name: str, *values: int | None) -> list[dict[str, int]]:
    return [{} if value is None else {name: value} for value in values]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("highest", [5, 21, 65, 130, 260, 999, 4_100, 50_000, 200_000])
def test_an_axis_fits_its_values(name: str, highest: int) -> None:
    marks = plots.plot(name, series(name, 1, highest), series(name, 2), 2, 2, 1).marks
    assert len(marks) == 5 and marks[-1] == 0 and marks == sorted(marks, reverse=True)
    assert marks[0] / 2 <= highest <= marks[0]
    assert all(mark % 1 == 0 for mark in marks)


def test_the_highest_values_have_axes() -> None:
    assert [plots.plot(name, series(name, 10**12), [], 1, 1, 1).marks[0] >= 10**12 for name in NAMES] == [True, True]
    assert plots.plot("leads", series("leads", 0), [], 1, 1, 1).marks == [4, 3, 2, 1, 0]


def test_intervals_without_an_average_have_no_point() -> None:
    entries = series("averageSeconds", 30, None, 60, None)
    plot = plots.plot("averageSeconds", entries, series("averageSeconds", None, 15), 4, 3, 0.5)
    assert (plot.marks[0], plot.line) == (60, "0,50 2,0")
    assert (plot.before, plot.unfinished, plot.area) == ("3,75", "", "0,100 0,50 2,0 2,100")
    assert plots.plot("averageSeconds", series("averageSeconds", None), [], 1, 1, 1).area == ""


def test_an_unfinished_interval_is_a_point_apart_from_the_line() -> None:
    plot = plots.plot("leads", series("leads", 4, 2, 1, 9), [], 3, 2, 0.5)
    assert (plot.line, plot.unfinished, plot.last) == ("0,0 1,50", "2,75", 2)
    today = plots.plot("leads", series("leads", 4, 2), [], 1, 0, 0.5)
    assert (today.line, today.unfinished, today.area) == ("0,0", "0,0", "")


@pytest.mark.parametrize(
    ("name", "passed", "rest"),
    [
        ("leads", 0.1, "1,50 2,75"),
        ("leads", 0.09, ""),
        ("averageSeconds", 0.09, "1,50 2,75"),
        ("leadRate", 0, "1,50 2,75"),
    ],
)
def test_a_count_is_not_connected_at_the_beginning_of_its_interval(name: str, passed: float, rest: str) -> None:
    plot = plots.plot(name, series(name, 4, 2, 1, 9), series(name, 4), 3, 2, passed)
    assert (plot.rest, plot.unfinished) == (rest, "2,75")


def test_a_small_line_has_only_the_finished_intervals() -> None:
    trends = plots.trends(("leads", "handoffRate"), series("leads", 1, 2, 0, 8), 3)
    assert trends["leads"] == ("M-1,50 0,50 1,0 2,100 3,100V120H-1Z", 2)
    assert trends["handoffRate"] == ("", 1)


def test_a_small_line_has_the_unfinished_interval_if_nothing_was_counted_before() -> None:
    trends = plots.trends(("leads",), series("leads", 0, 0, 4, 9), 2)
    assert trends["leads"] == ("M-1,100 0,100 1,100 2,0 3,0V120H-1Z", 2)


def test_a_small_line_has_the_average_of_the_unfinished_interval() -> None:
    trends = plots.trends(("averageSeconds",), series("averageSeconds", 30, None, 60), 2)
    assert trends["averageSeconds"] == ("M-1,50 0,50 2,0 3,0V120H-1Z", 2)


def test_a_small_line_combines_many_intervals() -> None:
    path, last = plots.trends(("leads",), series("leads", *range(90)), 90)["leads"]
    assert (len(path.split()), last, path.split()[-2]) == (47, 44, "44,0")
