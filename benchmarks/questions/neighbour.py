"""Neighbour: how late the webhooks of a quiet workspace are while another workspace misbehaves.

Each case has a local run of its own, with real receivers. The quiet workspace causes five events per second, first
alone and then beside the other workspace. A wait is the time from the commit of an event to the arrival of its POST.
"""

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.results import Goal, Row, row
from benchmarks.run import Run
from tests.reliability import neighbours

TITLE = "Neighbour: wait of a quiet workspace's webhooks while another workspace misbehaves"
CASES = {
    neighbours.NOTHING: "another workspace does nothing",
    "flood": f"a write of {neighbours.MESSAGES:,} messages for {neighbours.ENDPOINTS} endpoints",
    "hanging": f"{neighbours.ENDPOINTS} endpoints that never answer, deleted and created again",
    "creations": f"{neighbours.CREATED} conversations of one agent created at once, repeatedly",
    "one endpoint": f"a flood of one endpoint, {neighbours.MESSAGES:,} deliveries every five seconds",
}
_QUICK_CASES = ("hanging",)
_SECONDS, _QUICK_SECONDS = 30.0, 8.0
_MOST_LATER = 1


def measure(run: Run) -> list[Row]:
    """Return the rows: how much later the median and the 99th percentile are than alone."""
    cases = _QUICK_CASES if run.quick else [*CASES]
    seconds = _QUICK_SECONDS if run.quick else _SECONDS
    return [one for case in run.each(cases, "waiting beside", str) for one in _rows(case, seconds)]


def _rows(case: str, seconds: float) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as directory:
        waits = neighbours.measure(case, seconds, Path(directory) / "run")
    for metric, measure_of in (("median", statistics.median), ("99th percentile", neighbours.percentile)):
        found = {"alone": measure_of(waits.quiet), "disturbed": measure_of(waits.disturbed)}
        later = found["disturbed"] - found["alone"]
        goals = [Goal("<=", _MOST_LATER)]
        yield row("neighbour", CASES[case], f"wait longer than alone, {metric}", "s", later, peers=found, goals=goals)
