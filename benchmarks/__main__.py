"""The benchmark suite's command line.

    python -m benchmarks [--quick] [QUESTION ...]

After each question, a full run writes results.json and the table in docs/benchmarks.md. A quick run measures fewer
cases and writes nothing. The exit status is 1 if an exact figure, such as a count of requests, misses its goal without
a known reason. Times never fail a run.
"""

import argparse
import importlib
import logging
import sys

import tests.conftest  # noqa: F401 - sets the environment, and imports moto before the first client exists
from benchmarks import results
from chalicelib import storage
from tests import fast_moto


def main() -> int:
    """Compare CAMS with common alternatives: all questions, or only the given ones. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--quick", action="store_true", help="fewer cases; write no results")
    parser.add_argument("questions", nargs="*", metavar="QUESTION", help=", ".join(results.QUESTIONS))
    options = parser.parse_args()
    logging.disable(logging.INFO)  # the service logs each request
    fast_moto.use(storage.sdk_client("dynamodb"))
    failures = 0
    for question in options.questions or results.QUESTIONS:
        module = importlib.import_module(f"benchmarks.{question}")
        print(f"\n{question}", flush=True)
        rows = module.measure(options.quick)
        for measured in rows:
            print(results.line(question, measured))
        failures += sum(results.is_failure(question, measured) for measured in rows)
        if not options.quick:  # write now, so that a failure of a later question does not lose these rows
            results.write({question: rows})
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
