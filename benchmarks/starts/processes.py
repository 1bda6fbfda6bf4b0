"""Processes that start where there is nothing but a package and the standard library: counted, and timed."""

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

_VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
# Bytecode that ships is read; none is written, as a function's file system is read-only.
_ALWAYS = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


class Start(NamedTuple):
    """A process: what it is called, the package that it has, what it runs, and its whole environment."""

    name: str
    package: Path
    code: str
    environment: dict[str, str]


def instructions(
    starts: Sequence[Start], each: Callable[[Sequence[str]], Iterable[str]] = lambda names: names
) -> list[float]:
    """Millions of instructions that each start takes to its end. Two are counted at a time: a count is no time.

    `each` goes over the names, and may show how far it is.
    """
    with ThreadPoolExecutor(2) as pool:
        counted = pool.map(_instructions, starts)
        return [count for _, count in zip(each([start.name for start in starts]), counted, strict=True)]


def cpu_seconds(starts: Sequence[Start], rounds: Iterable[int]) -> list[list[float]]:
    """CPU seconds of each start in each round; a round has all of them, one after the other in an order of its own."""
    measured: list[list[float]] = [[] for _ in starts]
    for _ in rounds:
        for number in random.sample(range(len(starts)), len(starts)):
            measured[number].append(_cpu_seconds(starts[number]))
    return measured


def _command(start: Start) -> list[str]:
    # Ends at once: a function answers here, and does not take itself apart.
    code = f"import os, sys; sys.path.insert(0, {str(start.package)!r}); {start.code}; os._exit(0)"
    return [sys.executable, "-s", "-S", "-c", code]


def _instructions(start: Start) -> float:
    environment = {**start.environment, **_ALWAYS}
    command = [*_VALGRIND, *_command(start)]
    ran = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)
    found = re.search(r"I\s+refs:\s+([0-9,]+)", ran.stderr)
    if ran.returncode or found is None:
        raise ValueError(f"{start.name} was not counted: {ran.stderr[-2000:]}")
    return int(found[1].replace(",", "")) / 1e6


def _cpu_seconds(start: Start) -> float:
    environment = {**start.environment, **_ALWAYS}
    process = subprocess.Popen(_command(start), cwd="/", env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ValueError(f"{start.name} has failed")
    return usage.ru_utime + usage.ru_stime
