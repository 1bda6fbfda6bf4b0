"""The benchmark suite's command line.

    python -m benchmarks [--quick] [--pairs N] [QUESTION ...]

The suite prints a table for each question. A full run writes results/latest.json after each question and, in the end,
the table in docs/benchmarks.md and the plots from it. A quick run writes results/quick.json. It fails if a count or a
number of instructions misses its goal without a known reason. Times never fail a run.
"""

import importlib
import sys
import time
from typing import get_args

import click
from rich.console import Console

from benchmarks import report, results
from benchmarks.results import Question, Row
from benchmarks.run import Run

# Line width without a terminal: the tables have up to eleven columns.
_WIDTH = 190


@click.command()
@click.option("--quick", is_flag=True, help="Fewer cases and rounds, for each commit.")
@click.option("--pairs", type=click.IntRange(40, 750_000), help="poison: the deliveries to make, by default 75,000.")
@click.argument("questions", nargs=-1, type=click.Choice(get_args(Question)))
def main(quick: bool, pairs: int | None, questions: tuple[Question, ...]) -> None:
    """Compare CAMS with common alternatives: every QUESTION, or only the given ones."""
    console = Console()
    if not console.is_terminal:
        console.width = _WIDTH
    rows: list[Row] = []
    started = time.monotonic()
    with Run(console, quick=quick, pairs=pairs) as run:
        for question in questions or get_args(Question):
            found = _measure(question, run, console)
            # At once: a later question that fails does not lose them.
            results.write(results.HERE / "results" / "quick.json" if quick else results.LATEST, found)
            rows += found
    missed = [one for one in rows if one["holds"] is False]
    console.print(f"{len(rows)} rows in {time.monotonic() - started:.0f} s; {len(missed)} missed goals.")
    for one in missed:
        console.print(f"  {report.missed(one)}", highlight=False)
    if quick and any(results.is_exact(one) and not report.reason(one) for one in missed):
        sys.exit(1)
    if not quick:
        report.generate()


def _measure(question: Question, run: Run, console: Console) -> list[Row]:
    module = importlib.import_module(f"benchmarks.questions.{question}")
    run.title = question
    rows: list[Row] = module.measure(run)
    console.print(report.table(module.TITLE, rows))
    return rows


if __name__ == "__main__":
    main()
