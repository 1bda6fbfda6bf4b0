"""Overhead: the instructions of a request, from gateway event to gateway response, compared with the bare SDK.

All stacks receive the same requests and return the same responses. They store the same encrypted documents
(`benchmarks.peers.sealed_store`), so only the framework differs. The engine's responses are recorded. The requests read
an agent, list a page of 20 conversations, and replace states of 4, 100 and 300 messages with two new messages. The
module `benchmarks.peers.bare_api` describes the minimum, the bare SDK.

CAMS and the bare SDK copy an agent's stored JSON text into the response. The other stacks, as their frameworks do,
parse it and encode it again. `PARSED` shows what that costs on the bare SDK. The cost of one more message is derived
from the states of 300 and 100 messages.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks import instructions
from benchmarks.results import OURS, Goal, Row, row
from benchmarks.stack_process import LIST, READ, STATES

FLOOR, PARSED = "bare SDK", "bare SDK that parses"
STACKS = {
    OURS: "app:app",
    FLOOR: "benchmarks.peers.bare_api:handler",
    PARSED: "benchmarks.peers.bare_api:parsing_handler",
    "FastAPI + Mangum with our encoding": "benchmarks.peers.fastapi_api:handler",
    "Powertools with our encoding": "benchmarks.peers.powertools_api:handler",
}
SMALL, LONG, LONGER = STATES
# The number of operations in the shorter run: one gives an exact count, more average out occasional work.
_LENGTHS = {READ: 3, LIST: 2, SMALL: 2, LONG: 1, LONGER: 1}
_PARSED_LENGTHS = {READ: 3}
_GOALS = {READ: 1.2, LIST: 1.15, SMALL: 1.15, LONG: 0.7}
_MESSAGE = "one more message of a state"
_MILLION = 1_000_000
_METRIC = "M instructions"

Counts = dict[str, dict[str, float]]
"""Stack -> case -> instructions."""


def measure(quick: bool) -> list[Row]:
    """Return the rows. A quick run measures CAMS and the minimum."""
    counted: Counts = {}
    with tempfile.TemporaryDirectory() as name:
        for stacks in ((OURS, FLOOR),) if quick else ((OURS, FLOOR, PARSED), [*STACKS][3:]):
            counted |= count(Path(name), {stack: _PARSED_LENGTHS if stack == PARSED else _LENGTHS for stack in stacks})
    for cases in counted.values():
        if LONGER in cases:
            cases[_MESSAGE] = per_message(cases)
    goals = {case: Goal("<=", limit, FLOOR) for case, limit in _GOALS.items()} | {_MESSAGE: Goal("<=", 0.07)}
    return [
        row(case, _METRIC, {name: cases[case] / _MILLION for name, cases in counted.items() if case in cases}, goal)
        for case, goal in goals.items()
    ]


def per_message(cases: Mapping[str, float]) -> float:
    """Return the instructions that one more message of a state costs."""
    return (cases[LONGER] - cases[LONG]) / (STATES[LONGER] - STATES[LONG])


def count(directory: Path, lengths: dict[str, dict[str, int]]) -> Counts:
    """Return the instructions of each stack's cases. The stacks run in parallel; `lengths` are operations per run."""
    processes: dict[str, subprocess.Popen[bytes]] = {}
    for stack, cases in lengths.items():
        (directory / stack).mkdir()
        arguments = [f"{case}={length}" for case, length in cases.items()]
        command = [sys.executable, "-m", "benchmarks.stack_process", STACKS[stack], *arguments]
        processes[stack] = instructions.start(command, dict(os.environ), directory / stack)
    for stack, process in processes.items():
        if process.wait():
            raise ValueError(f"counting {stack} failed")
    return {
        stack: dict(zip(cases, instructions.read(directory / stack, list(cases.values())), strict=True))
        for stack, cases in lengths.items()
    }
