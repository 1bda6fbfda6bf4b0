"""Present the results: a table for each question on the terminal, the table in docs/benchmarks.md, and the plots.

python -m benchmarks.report      # from results/latest.json, without measuring
"""

import math
import re
from collections.abc import Mapping, Sequence

from rich.table import Table

from benchmarks import results
from benchmarks.reasons import REASONS
from benchmarks.results import Row

PAGE = results.HERE.parent / "docs" / "benchmarks.md"
# The floor of the other questions is the bare SDK.
_FLOORS = {"fanout": "sockets"}
START, END = "<!-- benchmarks -->\n", "<!-- end of benchmarks -->"


def generate() -> None:
    """Write the page's table and the plots from the latest results."""
    from benchmarks import plots

    rows: list[Row] = results.read(results.LATEST)["rows"]
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")
    plots.draw(rows, results.HERE / "results")


def with_table(page: str, rows: Sequence[Row]) -> str:
    """Return the page with the table of these rows. Raises ValueError if the markers are missing."""
    before, found, rest = page.partition(START)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise ValueError(f"{PAGE.name} has no markers for the benchmarks' table.")
    return f"{before}{START}{markdown(rows)}{END}{after}"


def markdown(rows: Sequence[Row]) -> str:
    """Return the rows that have a goal as a Markdown table; the results file has them all."""
    lines = ["| Case | CAMS | Compared with | Dollars per million | Goal | Result |", "|---|---|---|---|---|---|"]
    units = {(one["case"], one["metric"]): one for one in rows if one["question"] == "state"}
    for one in rows:
        if one["goal"]:
            why = reason(one)
            verdict = "met" if one["holds"] else f"missed: {why}" if why else "missed"
            case = f"{one['question'].replace('_', ' ')}: {one['case']}, {one['metric']}"
            values = _number(one["ours"], one["unit"]), _compared(one), _dollars(one, units)
            lines.append(f"| {case} | {' | '.join(values)} | {one['goal']} | {verdict} |")
    return "\n".join(lines) + "\n"


def table(title: str, rows: Sequence[Row]) -> Table:
    """Return a table of one question's rows for the terminal."""
    peers = list(dict.fromkeys(name for one in rows for name in one["peers"]))
    made = Table(title=title, title_justify="left")
    for name in ("case", "metric"):
        made.add_column(name, overflow="fold")
    for name in ("CAMS", "floor", *peers, "goal", ""):
        made.add_column(name, justify="right", overflow="fold")
    case = ""
    for one in rows:
        values = [one["ours"], one["floor"], *(one["peers"].get(name) for name in peers)]
        missing = ["" if name not in one["peers"] else "n/a" for name in ("", "", *peers)]
        shown = [_number(value, one["unit"]) or no for value, no in zip(values, missing, strict=True)]
        is_next, case = one["case"] != case, one["case"]
        made.add_row(case if is_next else "", one["metric"], *shown, one["goal"] or "", _verdict(one))
    return made


def missed(one: Row) -> str:
    """Return one line about a missed goal."""
    where = f"{one['question']}, {one['case']}, {one['metric']}"
    return f"{where}: {_number(one['ours'], one['unit'])}, goal {one['goal']}. {reason(one)}".rstrip()


def reason(one: Row) -> str:
    """Return the known reason for a missed goal, or an empty string."""
    return REASONS.get((one["question"], one["case"], one["metric"]), "")


def _verdict(one: Row) -> str:
    return "" if one["holds"] is None else "[green]met[/]" if one["holds"] else "[red]missed[/]"


def _compared(one: Row) -> str:
    named = {name: value for name, value in _figures(one).items() if name != "CAMS"}
    return ", ".join(f"{name} {_number(value, one['unit']) or 'n/a'}" for name, value in named.items())


def _dollars(one: Row, units: Mapping[tuple[str, str], Row]) -> str:
    """Return what a million operations cost, CAMS first. A sum of units hides that a write costs five times a read."""
    if one["question"] != "state" or not one["metric"].endswith(" units"):
        return ""
    dollars: dict[str, float] = {}
    for metric, price in results.PRICES.items():
        for name, count in _figures(units[one["case"], metric]).items():
            dollars[name] = dollars.get(name, 0) + (math.nan if count is None else count * price)
    shown = (f"{name} {'n/a' if math.isnan(value) else format(value, '.2f')}" for name, value in dollars.items())
    return ", ".join(shown).removeprefix("CAMS ")


def _figures(one: Row) -> dict[str, float | None]:
    floor = {} if one["floor"] is None else {_FLOORS.get(one["question"], "floor"): one["floor"]}
    return {"CAMS": one["ours"], **floor, **one["peers"]}


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "bytes" or abs(value) >= 1000:
        shown = f"{value:,.0f}"
    elif float(value).is_integer():
        shown = f"{value:.0f}"
    else:
        shown = f"{value:.3g}"
    return f"{shown} {unit}" if re.search(r"^(ms|s|MB|KB|M|x|/s)$", unit) else shown


def _main() -> None:
    generate()
    print(f"Wrote the table in {PAGE.name} and the plots from {results.LATEST.name}.")


if __name__ == "__main__":
    _main()
