"""The benchmark suite's command line.

    python -m benchmarks [--quick] [QUESTION ...]

After each question, a full run writes results.json and the table in docs/benchmarks.md. A quick run measures fewer
cases and writes nothing. A missed goal is a row with its reason; it does not fail the run.
"""

import argparse
import importlib
import logging

import tests.conftest  # noqa: F401 - sets the environment, and imports moto before the first client exists
from benchmarks import results
from chalicelib import storage
from tests import fast_moto


def main() -> None:
    """Compare CAMS with common alternatives: all questions, or only the given ones."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="fewer cases; write no results")
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=", ".join(results.QUESTIONS))
    options = parser.parse_args()
    logging.disable(logging.INFO)  # the service logs each request
    fast_moto.use(storage.sdk_client("dynamodb"))
    for question in options.questions or results.QUESTIONS:
        module = importlib.import_module(f"benchmarks.{question}")
        print(f"\n{question}", flush=True)
        rows = module.measure(options.quick)
        print(*results.table_lines(question, rows), sep="\n")
        if not options.quick:  # write now, so that a failure of a later question does not lose these rows
            results.write({question: rows})


if __name__ == "__main__":
    main()
