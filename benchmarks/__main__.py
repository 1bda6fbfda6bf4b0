"""The benchmark suite's command line.

    python -m benchmarks [--quick] [QUESTION ...]

Prints a table for each question. The whole suite writes results/latest.json, from which `python -m benchmarks.report`
makes the README's table and the plots; the quick one writes results/quick.json, and is what gates a commit: it fails
where a count or a number of instructions misses its goal. Times never fail it.
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

# Characters of a line where nobody says how many there are: the tables have up to eleven columns.
_WIDTH = 190


@click.command()
@click.option("--quick", is_flag=True, help="Fewer cases and rounds, for a glance and for each commit.")
@click.argument("questions", nargs=-1, type=click.Choice(get_args(Question)))
def main(quick: bool, questions: tuple[Question, ...]) -> None:
    """Measure CAMS beside what people would use instead: all QUESTIONs, or those that are named."""
    console = Console()
    if not console.is_terminal:
        console.width = _WIDTH
    rows: list[Row] = []
    started = time.monotonic()
    with Run(console, quick=quick) as run:
        for question in questions or get_args(Question):
            rows += _asked(question, run, console)
    results.write(results.HERE / "results" / "quick.json" if quick else results.LATEST, rows)
    missed = [one for one in rows if one["holds"] is False]
    console.print(f"{len(rows)} rows in {time.monotonic() - started:.0f} s; {len(missed)} goals are missed.")
    for one in missed:
        console.print(f"  {report.missed(one)}", highlight=False)
    if quick and any(results.is_exact(one) and not report.reason(one) for one in missed):
        sys.exit(1)
    if not quick:
        report.generate()


def _asked(question: Question, run: Run, console: Console) -> list[Row]:
    module = importlib.import_module(f"benchmarks.questions.{question}")
    run.title = question
    rows: list[Row] = module.measure(run)
    console.print(report.table(module.TITLE, rows))
    return rows


if __name__ == "__main__":
    main()
