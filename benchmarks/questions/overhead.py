"""Overhead: the cost of a request compared with the bare SDK, from gateway event to gateway answer.

All stacks get the same requests on the same replayed engine (`benchmarks.overhead.recorded`) and must give the same
answers. The requests read an agent, list a page of 20 conversations, and replace states of 4, 100 and 300 messages,
two of them new. `benchmarks.peers.bare_api` describes the floor. A stack with "our encoding" stores the same sealed
document as CAMS, so only the framework differs. The cost of one more message is the difference of two lengths: 300 and
100 messages for CAMS and the floor, 100 and 4 for the others, because long native maps take a minute to count.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import instructions
from benchmarks.measure.cpu import AGAIN, Ratio
from benchmarks.overhead.cases import FURTHER, LONG, SMALL
from benchmarks.overhead.stacks import FASTAPI, FASTAPI_ENCODED, FLOOR, OURS, PEERS, RECORDED
from benchmarks.results import Goal, Row, row
from benchmarks.run import Run

TITLE = "Overhead: cost of a request compared with the bare SDK"

_READ, _LIST, _STATE, _LONG, _FURTHER = "agent read", "list page", "small state", "state of 100", "state of 300"
# Operations of the shorter run: one is exact, more average out occasional work.
_LENGTHS = {_READ: 3, _LIST: 2, _STATE: 2, _LONG: 1}
_GOALS = {_READ: 0.8, _LIST: 1.3, _STATE: 1.3, _LONG: 0.7}
_MILLION = 1_000_000
_MESSAGE = "one more message of a state"

Counts = dict[str, dict[str, float]]
"""Stack -> case -> instructions."""


def measure(run: Run) -> list[Row]:
    """Return the rows. The quick run has CAMS and the floor, and FastAPI's time of an agent read."""
    peers = [FASTAPI, FASTAPI_ENCODED] if run.quick else PEERS
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        record(directory, FURTHER, [*RECORDED])
        own = {**(dict.fromkeys(_LENGTHS, 1) if run.quick else _LENGTHS), _FURTHER: 1}
        lengths = {OURS: own, FLOOR: own, **({} if run.quick else dict.fromkeys(peers, _LENGTHS))}
        stacks = list(lengths)
        pairs = [stacks[start : start + 2] for start in range(0, len(stacks), 2)]
        counted: Counts = {}
        for pair in run.each(pairs, "counting instructions", " and ".join):
            counted |= count(directory, {stack: lengths[stack] for stack in pair})
        timed = _timed(run, directory, [OURS, FLOOR, *peers], [_READ] if run.quick else list(_LENGTHS))
    return [*_instructions(counted), _per_message(counted), *_times(timed)]


def record(directory: Path, longest: int, stores: Sequence[str]) -> None:
    """Record the engine's answers for these stores, for states of up to `longest` messages."""
    with _child("benchmarks.overhead.record", str(directory), str(longest), *stores) as process:
        process.communicate()
    if process.returncode:
        raise ValueError("recording the engine's answers failed")


def count(directory: Path, lengths: dict[str, dict[str, int]]) -> Counts:
    """Return the instructions of each stack's cases. The stacks run in parallel; `lengths` are operations per run."""
    started: dict[str, subprocess.Popen[bytes]] = {}
    for stack, cases in lengths.items():
        own = directory / f"counted {stack}"
        own.mkdir()
        arguments = [f"{case}={length}" for case, length in cases.items()]
        command = [sys.executable, "-m", "benchmarks.overhead.process", "count", str(directory), stack, *arguments]
        started[stack] = instructions.start(command, dict(os.environ), own)
    for stack, process in started.items():
        if process.wait():
            raise ValueError(f"counting {stack} failed")
    return {
        stack: dict(zip(cases, instructions.read(directory / f"counted {stack}", list(cases.values())), strict=True))
        for stack, cases in lengths.items()
    }


def _instructions(counted: Counts) -> list[Row]:
    rows = []
    for case, limit in _GOALS.items():
        found = {stack: cases[case] / _MILLION for stack, cases in counted.items() if case in cases}
        ours, floor = found.pop(OURS), found.pop(FLOOR)
        goals = [Goal("<=", limit, "floor")]
        rows.append(row("overhead", case, "instructions", "M", ours, peers=found, floor=floor, goals=goals))
    return rows


def _per_message(counted: Counts) -> Row:
    def cost(cases: dict[str, float]) -> float:
        if _FURTHER in cases:
            return (cases[_FURTHER] - cases[_LONG]) / (FURTHER - LONG) / _MILLION
        return (cases[_LONG] - cases[_STATE]) / (LONG - SMALL) / _MILLION

    costs = {stack: cost(cases) for stack, cases in counted.items() if _LONG in cases}
    ours, floor = costs.pop(OURS), costs.pop(FLOOR)
    return row("overhead", _MESSAGE, "instructions", "M", ours, peers=costs, floor=floor, goals=[Goal("<=", 0.07)])


def _timed(run: Run, directory: Path, stacks: Sequence[str], cases: Sequence[str]) -> dict[str, dict[str, Ratio]]:
    rounds = 15 if run.quick else 21
    arguments = ["time", str(directory), str(rounds), *cases, "--", *stacks]
    timed = {}
    with _child("benchmarks.overhead.process", *arguments) as process:
        for case in run.each(cases, "measuring CPU time", str):
            line = process.stdout.readline() if process.stdout else b""
            timed[case] = {stack: Ratio(*found) for stack, found in json.loads(line).items()}
    return timed


def _times(timed: dict[str, dict[str, Ratio]]) -> list[Row]:
    rows = []
    for case, found in timed.items():
        again, floor = found.pop(AGAIN), found.pop(FLOOR)
        goals = [Goal("<=", 0.12, FASTAPI), Goal("<=", 0.45, FASTAPI_ENCODED)] if case == _READ else []
        for metric, quartile in (("CPU", "median"), ("CPU, lower quartile", "lower"), ("CPU, upper quartile", "upper")):
            ratios = {stack: getattr(one, quartile) for stack, one in found.items()}
            checked = goals if metric == "CPU" else []
            rows.append(
                row("overhead", case, metric, "x", ratios.pop(OURS), peers=ratios, floor=floor.median, goals=checked)
            )
        rows.append(row("overhead", case, "CPU, A/A", "x", again.median, floor=floor.median))
    return rows


def _child(module: str, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE)
