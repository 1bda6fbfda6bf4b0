"""Draws a report in the terminal with Rich: totals with sparklines, and bars.

A report is what `GET /v3/agents/{agent_id}/analytics` answers. Everything fits 80 columns. In a terminal of fewer,
from 47 on, sparklines and bars are shorter. Rich omits the colours when the output is no terminal, or with NO_COLOR.
"""

import re
import sys
from collections.abc import Sequence
from datetime import datetime, tzinfo
from io import StringIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.bar import Bar
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from chalicelib.extensions.reports.series import day_of

Report = dict[str, Any]

WIDTH = 80
_LABELS = {
    "loads": "Page loads",
    "newVisitors": "New visitors",
    "conversations": "Conversations",
    "messages": "Messages",
    "interactions": "Interactions",
    "handoffs": "Handoffs",
    "leads": "Leads",
}
_LEVELS = "▁▂▃▄▅▆▇█"
_SPARKS = 31  # columns of a sparkline: a month by days
_FEWEST_SPARKS = 7
_BARS = 8  # of a dimension
_VALUE_WIDTH = 18
_COUNT_WIDTH = 7
# What the tables need beside the sparklines, and beside the bars.
_TOTALS_WIDTH, _BARS_WIDTH = 49, 44
# From here on, a number is rounded, so that it is never cut.
_LARGE, _LARGE_PERCENT = 10**8, 10**5


def draw(
    title: str, report: Report, groups: dict[str, list[Report]], zone: tzinfo, width: int = WIDTH
) -> RenderableType:
    """The totals of a report with the change since the period before, a sparkline per count, and bars.

    `zone` is that of the dates, `width` the columns to fill. `groups` has the groups of a report by dimension. Their
    bars show page loads, or conversations if none is counted.
    """
    series, totals = report["series"], report["totals"]
    heading = _text(title, "bold")
    if not any(totals[name] or report["previous"][name] for name in _LABELS):
        return Group(heading, Text("Nothing was counted in this period. A change is counted about 17 minutes later."))
    sparks = min(_SPARKS, width - _TOTALS_WIDTH)
    per_mark = -(-len(series) // sparks) if sparks >= _FEWEST_SPARKS else None
    scale = [Text(_scale(series, per_mark, zone), style="dim")] if per_mark else []
    name = "loads" if totals["loads"] else "conversations"
    bars = [_bars(dimension, name, found, width - _BARS_WIDTH) for dimension, found in groups.items() if totals[name]]
    return Group(heading, _totals(report, per_mark), *scale, *bars)


def width_of_terminal() -> int:
    """The columns to fill: 80, or fewer in a narrow terminal."""
    return min(WIDTH, Console().width)


def sparkline(values: Sequence[int], per_mark: int = 1) -> str:
    """A mark for the sum of each `per_mark` values, its height relative to the largest; a space for 0."""
    sums = [sum(values[start : start + per_mark]) for start in range(0, len(values), per_mark)]
    most = max(sums, default=0)
    return "".join(_LEVELS[(value * len(_LEVELS) - 1) // most] if value else " " for value in sums)


def change(now: float, before: float) -> str:
    """The change from `before` to `now` in per cent, rounded; `new` where there was nothing before."""
    if not before:
        return "new" if now else "–"
    percent = round((now - before) * 100 / before)
    return f"{percent:+.0e}%" if percent >= _LARGE_PERCENT else f"{percent:+}%".replace("+0%", "±0%")


def show(drawn: RenderableType) -> None:
    """Print to standard output, with `?` for the marks that its encoding does not have."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    Console(width=width_of_terminal(), highlight=False).print(drawn)


def save(drawn: RenderableType, picture: Path, title: str) -> None:
    """Write an SVG file of a terminal with this title."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, highlight=False)
    console.print(drawn)
    # Without the fonts that a reader would fetch from another site.
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    console.save_svg(str(picture), title=title, code_format=form, unique_id="report")


def _totals(report: Report, per_mark: int | None) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("", no_wrap=True)
    for header in ("Total", "Before", "Change"):
        table.add_column(header, justify="right", no_wrap=True)
    if per_mark:
        table.add_column("Trend", no_wrap=True)
    for name, label in _LABELS.items():
        now, before = report["totals"][name], report["previous"][name]
        marks = sparkline([entry[name] for entry in report["series"]], per_mark) if per_mark else ""
        cells = (label, _number(now), _number(before), change(now, before), Text(marks, style="cyan"))
        table.add_row(*cells[: len(table.columns)])
    now, before = (report[part].get("averageSeconds") for part in ("totals", "previous"))
    if now is not None:
        marks = sparkline([entry.get("averageSeconds", 0) for entry in report["series"]]) if per_mark == 1 else ""
        cells = ("Average length", _length(now), _length(before), change(now, before or 0), Text(marks, style="cyan"))
        table.add_row(*cells[: len(table.columns)])
    return table


def _bars(dimension: str, name: str, groups: Sequence[Report], width: int) -> RenderableType:
    counted = sorted(((group["totals"][name], group["value"]) for group in groups), reverse=True)
    shown = [one for one in islice(counted, _BARS) if one[0]]
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(width=_VALUE_WIDTH, no_wrap=True)
    # So that bars of several dimensions are aligned.
    table.add_column(justify="right", min_width=_COUNT_WIDTH, no_wrap=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    if width > 0:
        table.add_column(width=width)
    total = sum(count for count, _ in counted)
    for count, value in shown:
        bar = Bar(shown[0][0], 0, count, width=width, color="cyan")
        table.add_row(*(_text(value), _number(count), f"{round(count * 100 / total)}%", bar)[: len(table.columns)])
    rest = sum(count for count, _ in counted[len(shown) :])
    if rest:
        table.add_row(Text("all others", style="dim"), _number(rest), f"{round(rest * 100 / total)}%")
    return Group("", Text(f"{_LABELS[name]} by {dimension}", style="bold"), table)


def _number(value: int) -> str:
    return f"{value:.3g}" if value >= _LARGE else f"{value:,}"


def _length(seconds: int | None) -> str:
    return "–" if seconds is None else f"{seconds // 60}:{seconds % 60:02}"


def _scale(series: Sequence[Report], per_mark: int, zone: tzinfo) -> str:
    """What a mark of the sparklines is."""
    if len(series) == 1:
        return "Each mark is the whole period."
    is_hourly = series[-1]["from"] - series[-2]["from"] <= 3_600  # a day has 23 to 25 hours
    one, many = ("an hour", "hours") if is_hourly else ("a day", "days")
    first, last = (_moment(entry["from"], zone, is_hourly) for entry in (series[0], series[-1]))
    return f"Each mark is {one if per_mark == 1 else f'{per_mark} {many}'}, from {first} to {last}."


def _moment(start: int, zone: tzinfo, is_hourly: bool) -> str:
    return f"{datetime.fromtimestamp(start, zone):%Y-%m-%d %H:%M}" if is_hourly else str(day_of(start, zone))


def _text(value: str, style: str = "") -> Text:
    """A text that callers chose: without control characters, and not taken for Rich's markup."""
    return Text("".join(character if character.isprintable() else "?" for character in value), style)
