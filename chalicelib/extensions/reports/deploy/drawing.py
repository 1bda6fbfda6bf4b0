"""Draws a report in the terminal with Rich: totals with sparklines, and bars.

A report is the `data` member in the response to `GET /v3/agents/{agent_id}/analytics`. A drawing is 80 columns wide.
Terminals with 47 to 79 columns get shorter sparklines and bars. Rich omits colours if the output is not a terminal or
NO_COLOR is set.
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
_AVERAGES = {
    "averageSeconds": "Average length",
    "averageFirstAnswerSeconds": "First answer",
    "averageEndSeconds": "Time to end",
}
_LEVELS = "▁▂▃▄▅▆▇█"
_SPARKS = 31  # columns per sparkline, enough for the days of a month
_FEWEST_SPARKS = 7
_BARS = 8  # bars per dimension
_VALUE_WIDTH = 18
_COUNT_WIDTH = 7
# Widths in columns: of the totals without sparklines, and of the bar tables without bars.
_TOTALS_WIDTH, _BARS_WIDTH = 49, 44
# Larger numbers are rounded, because a truncated number looks like a smaller one.
_LARGE, _LARGE_PERCENT = 10**8, 10**5


def draw(
    title: str, report: Report, groups: dict[str, list[Report]], zone: tzinfo, width: int = WIDTH
) -> RenderableType:
    """Return a report's totals with their change from the previous period, a sparkline per count, and bars.

    `zone` is the time zone for dates, and `width` is the number of columns. `groups` contains the report's groups by
    dimension. The bars show page loads, or conversations if there are no page loads.
    """
    series, totals = report["series"], report["totals"]
    heading = _text(title, "bold")
    if not any(totals[name] or report["previous"][name] for name in _LABELS):
        return Group(heading, Text("Nothing was counted in this period. A change is counted within seconds."))
    sparks = min(_SPARKS, width - _TOTALS_WIDTH)
    per_mark = -(-len(series) // sparks) if sparks >= _FEWEST_SPARKS else None
    scale = [Text(_scale(series, per_mark, zone), style="dim")] if per_mark else []
    name = "loads" if totals["loads"] else "conversations"
    bars = [
        _bars(dimension, name, reports, width - _BARS_WIDTH) for dimension, reports in groups.items() if totals[name]
    ]
    return Group(heading, _totals(report, per_mark), *scale, *bars)


def width_of_terminal() -> int:
    """Return the number of columns: 80, or fewer in a narrow terminal."""
    return min(WIDTH, Console().width)


def sparkline(values: Sequence[int], per_mark: int = 1) -> str:
    """Return one mark for the sum of every `per_mark` values. Its height is relative to the largest sum."""
    sums = [sum(values[start : start + per_mark]) for start in range(0, len(values), per_mark)]
    largest = max(sums, default=0)
    return "".join(_LEVELS[(value * len(_LEVELS) - 1) // largest] if value else " " for value in sums)


def change(now: float, before: float) -> str:
    """Return the change from `before` to `now` as a rounded percentage, or `new` if `before` is 0."""
    if not before:
        return "new" if now else "–"
    percent = round((now - before) * 100 / before)
    return f"{percent:+.0e}%" if percent >= _LARGE_PERCENT else f"{percent:+}%".replace("+0%", "±0%")


def show(content: RenderableType) -> None:
    """Print a drawing to standard output. Unsupported characters are printed as `?`."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    Console(width=width_of_terminal(), highlight=False).print(content)


def save(content: RenderableType, picture: Path, title: str) -> None:
    """Write an SVG file that shows a drawing in a terminal window with this title."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, highlight=False)
    console.print(content)
    # Omit the fonts, which a viewer would download from another site.
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
    for name, label in _AVERAGES.items():
        now, before = (report[part].get(name) for part in ("totals", "previous"))
        if now is None:
            continue
        marks = sparkline([entry.get(name, 0) for entry in report["series"]]) if per_mark == 1 else ""
        cells = (label, _length(now), _length(before), change(now, before or 0), Text(marks, style="cyan"))
        table.add_row(*cells[: len(table.columns)])
    return table


def _bars(dimension: str, name: str, groups: Sequence[Report], width: int) -> RenderableType:
    counts = sorted(((group["totals"][name], group["value"]) for group in groups), reverse=True)
    largest = [(count, value) for count, value in islice(counts, _BARS) if count]
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(width=_VALUE_WIDTH, no_wrap=True)
    # Align the bars of all dimensions.
    table.add_column(justify="right", min_width=_COUNT_WIDTH, no_wrap=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    if width > 0:
        table.add_column(width=width)
    total = sum(count for count, _ in counts)
    for count, value in largest:
        bar = Bar(largest[0][0], 0, count, width=width, color="cyan")
        table.add_row(*(_text(value), _number(count), f"{round(count * 100 / total)}%", bar)[: len(table.columns)])
    rest = sum(count for count, _ in counts[len(largest) :])
    if rest:
        table.add_row(Text("all others", style="dim"), _number(rest), f"{round(rest * 100 / total)}%")
    return Group("", Text(f"{_LABELS[name]} by {dimension}", style="bold"), table)


def _number(value: int) -> str:
    return f"{value:.3g}" if value >= _LARGE else f"{value:,}"


def _length(seconds: int | None) -> str:
    return "–" if seconds is None else f"{seconds // 60}:{seconds % 60:02}"


def _scale(series: Sequence[Report], per_mark: int, zone: tzinfo) -> str:
    """Return the sentence that explains what each sparkline mark covers."""
    if len(series) == 1:
        return "Each mark covers the whole period."
    is_hourly = series[-1]["from"] - series[-2]["from"] <= 3_600  # a day has 23 to 25 hours
    singular, plural = ("an hour", "hours") if is_hourly else ("a day", "days")
    first, last = (_moment(entry["from"], zone, is_hourly) for entry in (series[0], series[-1]))
    return f"Each mark is {singular if per_mark == 1 else f'{per_mark} {plural}'}, from {first} to {last}."


def _moment(start: int, zone: tzinfo, is_hourly: bool) -> str:
    return f"{datetime.fromtimestamp(start, zone):%Y-%m-%d %H:%M}" if is_hourly else str(day_of(start, zone))


def _text(value: str, style: str = "") -> Text:
    """Return a caller's text without control characters. Rich does not interpret it as markup."""
    return Text("".join(character if character.isprintable() else "?" for character in value), style)
