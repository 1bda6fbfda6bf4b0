"""The lines of charts, and the axes that fit them.

The x coordinates are the numbers of the intervals, and the y coordinates are percentages of the drawing.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from chalicelib.storage import Document

_PARTS = 4  # the number of intervals on an axis
_FACTORS = (1, 1.5, 2, 2.5, 3, 4, 5, 7.5)
# The whole numbers between two marks of an axis, and the seconds between two marks of an axis with durations.
_STEPS = sorted({int(factor * 10**power) for factor in _FACTORS for power in range(9) if not factor * 10**power % 1})
_SECONDS = (
    1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, 900, 1200, 1800, 2700, 3600, 5400, 7200, 10800, 14400,
    21600, 28800, 43200, 64800, 86400, 172800, 259200, 432000, 864000, 1728000, 2592000, 5184000, 8640000, 31536000,
)  # fmt: skip
_MAX_POINTS = 45  # of a small line; more intervals are combined
# The part of an interval that must have passed for a line to lead to its count. The line would show a sharp fall.
_LEAST_PART = 0.1
_BELOW = 120  # a y coordinate below the drawing of a small line
_Value = float | None


class Trend(NamedTuple):
    """A small line and the area below it, as the attribute `d` of an SVG path, or an empty string without values.

    The x coordinates are whole numbers from 0 to `last`, and the y coordinates are percentages. The path goes beyond
    the drawing, which hides its edges.
    """

    path: str
    last: int


class Plot(NamedTuple):
    """A count's or an average's chart. Each line is the attribute `points` of an SVG element.

    `unfinished` is the point of the last interval if it has not ended. The dashed line `rest` leads to it, because the
    interval's count is too low for a comparison. At the beginning of the interval, there is no dashed line to a count.
    `marks` are the values at the axis, the highest first. `last` is the index of the last interval that has begun.
    A line omits intervals without a value.
    """

    name: str
    last: int
    marks: list[float]
    line: str
    unfinished: str
    rest: str
    before: str
    area: str

    @property
    def is_sum(self) -> bool:
        """Whether a period's value is the sum of its intervals' values, unlike an average or a rate."""
        return is_sum(self.name)


def is_sum(name: str) -> bool:
    """Return whether a figure is a count, whose intervals and groups add up, unlike an average or a rate."""
    return not name.endswith(("Seconds", "Rate"))


def plot(
    name: str, series: Sequence[Document], earlier: Sequence[Document], charted: int, finished: int, passed: float
) -> Plot:
    """Return the chart of `name` for a series and the previous period's.

    `charted` and `finished` are the numbers of intervals that have begun and that have ended, and `passed` is the part
    of the unfinished interval that has passed.
    """
    values, before = ([entry.get(name) for entry in entries] for entries in (series[:charted], earlier))
    highest = _top(max((value for value in (*values, *before) if value is not None), default=0), name)
    scale = max(len(series) - 1, 1) / max(len(before) - 1, 1)
    line = [*_points(values[: max(1, finished)], highest)]
    unfinished = [*_points([None] * finished + values[finished:], highest)]
    is_connected = unfinished and (passed >= _LEAST_PART or not is_sum(name))
    return Plot(
        name,
        charted - 1,
        [highest * part / _PARTS for part in range(_PARTS, -1, -1)],
        " ".join(line),
        " ".join(unfinished),
        " ".join(line[-1:] + unfinished) if is_connected else "",
        " ".join(_points(before, highest, scale)),
        _area(line) if finished else "",
    )


def trends(names: Sequence[str], series: Sequence[Document], finished: int) -> dict[str, Trend]:
    """Return the small line of each name that has counts. It has no axis and no previous period.

    An unfinished interval's count is too low for the line, unless it is the only one. Its average is not. A line has
    at most 45 points, which are the means of neighbouring intervals.
    """
    return {name: _trend(_trend_values(name, series, finished)) for name in names}


def _trend_values(name: str, series: Sequence[Document], finished: int) -> list[_Value]:
    """Return the values of the intervals that have ended, or also the unfinished one's if these are all 0."""
    values = [entry.get(name) for entry in series]
    ended = values if name.endswith("Seconds") else values[: max(1, finished)]
    return ended if any(ended) else values[: finished + 1]


def _trend(intervals: list[_Value]) -> Trend:
    size = -(-len(intervals) // _MAX_POINTS)
    values = [_mean(intervals[start : start + size]) for start in range(0, len(intervals), size)]
    highest = max((value for value in values if value is not None), default=0) or 1
    points = [(index, round(100 - value * 100 / highest)) for index, value in enumerate(values) if value is not None]
    if not any(values):
        return Trend("", 1)
    edges = [(-1, points[0][1]), *points, (len(values), points[-1][1])]
    line = " ".join(f"{x},{y}" for x, y in edges)
    return Trend(f"M{line}V{_BELOW}H-1Z", max(len(values) - 1, 1))


def _mean(values: list[_Value]) -> _Value:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _top(highest: float, name: str) -> int:
    """Return the axis's highest value, which is at most twice the highest value of a large count."""
    steps = _SECONDS if name.endswith("Seconds") else _STEPS
    return _PARTS * next((step for step in steps if step * _PARTS >= highest), int(highest))


def _points(values: Sequence[_Value], highest: float, scale: float = 1) -> Iterator[str]:
    for index, value in enumerate(values):
        if value is not None:
            yield f"{index * scale:.4g},{100 - value * 100 / highest:.3g}"


def _area(line: list[str]) -> str:
    edges = [point.partition(",")[0] for point in (line[:1] + line[-1:])]
    return " ".join([f"{edges[0]},100", *line, f"{edges[1]},100"]) if edges else ""
