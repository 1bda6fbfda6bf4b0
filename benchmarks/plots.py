"""Draw the plots: SVG files next to the results. The same rows produce the same bytes."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "cams", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})

from matplotlib import pyplot  # noqa: E402 - after the choice of the backend
from matplotlib.axes import Axes  # noqa: E402

from benchmarks.results import Question, Row  # noqa: E402

OURS = "CAMS"
Lines = dict[str, list[tuple[float, float]]]


class Plot(NamedTuple):
    """One plot of a question, with a panel for each metric. With one metric, it has a panel for each kind of case.

    A case ends with its position on the x axis, as in "replace, 1,000 messages" or "page 10". A plot without a
    `unit` has bars and no positions.
    """

    name: str
    title: str
    question: Question
    metrics: tuple[str, ...]
    unit: str | None = None
    x: str = ""

    @property
    def has_operations(self) -> bool:
        """Whether each line is an operation of CAMS; otherwise lines are CAMS and its peers."""
        return self.unit is not None and len(self.metrics) > 1


PLOTS = (
    Plot("state", "Capacity units of a conversation's state", "state", ("capacity units",), "messages", "messages"),
    Plot("listing", "Read units of a page of 30,000 conversations", "listing", ("read units",), "", "page"),
    Plot(
        "growth-tenant",
        "Capacity units of each operation as the tenant grows",
        "growth",
        ("read units", "write units"),
        "conversations",
        "conversations of the tenant",
    ),
    Plot(
        "growth-conversation",
        "Capacity units of each operation as a conversation grows",
        "growth",
        ("read units", "write units"),
        "KB",
        "KB of JSON",
    ),
    Plot("overhead", "Instructions of a request, relative to bare botocore", "overhead", ("instructions",)),
    Plot("cold_start", "Instructions of a cold start, relative to bare botocore", "cold_start", ("instructions",)),
    Plot("fanout", "Webhook deliveries per second and process", "fanout", ("rate",)),
)


def draw(rows: Sequence[Row], directory: Path) -> list[Path]:
    """Draw every plot that has rows into `directory`, and return the files."""
    chosen = [(plot, [one for one in rows if _is_shown(one, plot)]) for plot in PLOTS]
    return [_draw(plot, shown, directory / f"{plot.name}.svg") for plot, shown in chosen if shown]


def position(case: str) -> tuple[str, float, str] | None:
    """Split a case into kind, position and unit: ("replace", 1000, "messages"). None for a case without a position."""
    found = re.fullmatch(r"(page) ([\d,]+)() of .+", case) or re.fullmatch(r"(.+?),? ([\d,]+) ?([A-Za-z]*)", case)
    return (found[1], float(found[2].replace(",", "")), found[3]) if found else None


def _is_shown(one: Row, plot: Plot) -> bool:
    if one["question"] != plot.question or one["metric"] not in plot.metrics:
        return False
    at = position(one["case"])
    # A sum over all operations, each of which has its own line.
    is_sum = one["question"] == "growth" and one["goal"] is not None
    return plot.unit is None or (at is not None and at[2] == plot.unit and not is_sum)


def _draw(plot: Plot, rows: list[Row], file: Path) -> Path:
    panels = dict(_panels(plot, rows))
    figure, axes = pyplot.subplots(1, len(panels), figsize=(4.2 * max(len(panels), 2), 3.6), squeeze=False)
    colors = _colors(plot, rows)
    for axis, (name, shown) in zip(axes[0], panels.items(), strict=True):
        _bars(axis, shown, colors) if plot.unit is None else _lines(axis, shown, plot, colors)
        axis.set_title(name, fontsize=9)
    figure.suptitle(plot.title, fontsize=11)
    names = {label: line for axis in axes[0] for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(names.values(), names.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.set_layout_engine("constrained")
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
    return file


def _colors(plot: Plot, rows: list[Row]) -> dict[str, str]:
    """CAMS is black; every other name has the same colour in all panels."""
    own = [at[0] for one in rows if (at := position(one["case"]))] if plot.has_operations else []
    names = dict.fromkeys([*own, *(name for one in rows for name in one["peers"])])
    return {OURS: "black"} | {name: f"C{number}" for number, name in enumerate(names)}


def _panels(plot: Plot, rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    if plot.unit is None or len(plot.metrics) > 1:
        yield from ((metric, [one for one in rows if one["metric"] == metric]) for metric in plot.metrics)
        return
    kinds = dict.fromkeys(at[0] for one in rows if (at := position(one["case"])))
    for kind in kinds:
        yield kind, [one for one in rows if (at := position(one["case"])) and at[0] == kind]


def _lines(axis: Axes, rows: list[Row], plot: Plot, colors: dict[str, str]) -> None:
    lines: Lines = {}
    for one in rows:
        kind, x, _ = position(one["case"]) or ("", 0.0, "")
        ours = kind if plot.has_operations else OURS
        for name, value in {ours: one["ours"], **one["peers"]}.items():
            if value is not None:
                lines.setdefault(name, []).append((x, value))
    for name, points in lines.items():
        axis.plot(*zip(*sorted(points), strict=True), marker="o", markersize=3, label=name, color=colors[name])
    axis.set_xscale("log")
    axis.set_yscale("symlog", linthresh=1)
    axis.set_ylim(0, axis.get_ylim()[1] * 2)
    axis.set_xlabel(plot.x)
    axis.grid(alpha=0.3)


def _bars(axis: Axes, rows: list[Row], colors: dict[str, str]) -> None:
    """Draw a group of bars for each case, relative to the floor if every case has one."""
    relative = all(one["floor"] for one in rows)
    names = list(dict.fromkeys(name for one in rows for name in (OURS, *one["peers"])))
    for number, name in enumerate(names):
        measured = [({OURS: one["ours"], **one["peers"]}.get(name) or 0) for one in rows]
        if relative:
            measured = [value / (one["floor"] or 1) for value, one in zip(measured, rows, strict=True)]
        tops = [top + 0.8 * number / len(names) for top in range(len(rows))]
        axis.barh(tops, measured, 0.8 / len(names), label=name, color=colors[name], align="edge")
    axis.set_yticks([top + 0.4 for top in range(len(rows))], [one["case"] for one in rows])
    axis.invert_yaxis()
    axis.set_xlabel("relative to the floor" if relative else rows[0]["unit"])
    axis.grid(axis="x", alpha=0.3)
