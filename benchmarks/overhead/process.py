"""The processes that measure the stacks on the recorded engine.

python -m benchmarks.overhead.process count RECORDINGS STACK CASE=LENGTH…      one stack, under callgrind
python -m benchmarks.overhead.process time RECORDINGS ROUNDS CASE… -- STACK…   all stacks, one JSON line per case
"""

import gc
import json
import os
import sys
from pathlib import Path
from typing import TextIO

from benchmarks.measure import cpu, instructions
from benchmarks.overhead import cases, recorded, stacks
from benchmarks.overhead.stacks import FLOOR, OURS, Context

_WARM_UP = 2


class Stack:
    """A stack in a warm process."""

    def __init__(self, engine: recorded.Engine, recordings: Path, name: str) -> None:
        self._recording = recorded.load(recordings / stacks.recording(name))
        self._engine, self._name = engine, name
        self._replies = recorded.playable(self._recording)
        os.environ.update(self._recording.environment)
        self._answer = stacks.handler(name)
        if name == OURS:
            _cache_credentials_longer()

    def checked(self, case: str) -> instructions.Prepare:
        """Warm up with the case, check the answer, and return the case as an operation."""
        event = self._recording.events[case]
        self._engine.replies = self._replies
        for _ in range(1 + _WARM_UP):
            answer = cases.normalize(self._answer(json.loads(event), Context()))
        if answer != self._recording.expected[case]:
            raise ValueError(f"{self._name} gives an unexpected answer: {case}")

        def prepare() -> instructions.Operation:
            self._engine.replies = self._replies
            parsed, context = json.loads(event), Context()  # as the runtime does before the call
            return lambda: self._answer(parsed, context)

        return prepare


def count(recordings: Path, name: str, lengths: dict[str, int]) -> None:
    """Count a stack's instructions for each case; `lengths` are the operations per run."""
    stack = Stack(recorded.Engine(), recordings, name)
    _silence()
    prepared = [(stack.checked(case), length) for case, length in lengths.items()]
    gc.freeze()
    instructions.count(prepared)


def measure_time(recordings: Path, rounds: int, wanted: list[str], names: list[str]) -> None:
    """Print the ratios of each case, as JSON: `{stack: [lower quartile, median, upper quartile]}`."""
    engine = recorded.Engine()
    loaded = {name: Stack(engine, recordings, name) for name in names}
    out = _silence()
    for case in wanted:
        prepared = {name: stack.checked(case) for name, stack in loaded.items()}
        gc.freeze()
        print(json.dumps(cpu.ratios(prepared, FLOOR, rounds)), file=out, flush=True)


def _silence() -> TextIO:
    """Discard the logs of the stacks, and return the original output."""
    out, sys.stdout = sys.stdout, Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
    return out


def _cache_credentials_longer() -> None:
    # A counted process is fifty times as slow, so the 30 seconds would end during the measurement.
    from chalicelib.http import auth

    auth.CACHE_SECONDS = 3_600


if __name__ == "__main__":
    how, where, first, *rest = sys.argv[1:]
    if how == "count":
        count(Path(where), first, {case: int(length) for case, length in (one.split("=") for one in rest)})
    else:
        separator = rest.index("--")
        measure_time(Path(where), int(first), rest[:separator], rest[separator + 1 :])
