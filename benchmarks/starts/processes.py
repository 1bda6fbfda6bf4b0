"""Count and time processes that start with only a package and the standard library."""

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
# A function's file system is read-only, so Python writes no bytecode.
_ALWAYS = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


class Start(NamedTuple):
    """A process: name, package, code and complete environment."""

    name: str
    package: Path
    code: str
    environment: dict[str, str]


def instructions(
    starts: Sequence[Start], each: Callable[[Sequence[str]], Iterable[str]] = lambda names: names
) -> list[float]:
    """Return the millions of instructions of each start. Two run in parallel, as load does not change a count.

    `each` iterates over the names and may show progress.
    """
    with ThreadPoolExecutor(2) as pool:
        counted = pool.map(_instructions, starts)
        return [count for _, count in zip(each([start.name for start in starts]), counted, strict=True)]


def cpu_seconds(starts: Sequence[Start], rounds: Iterable[int]) -> list[list[float]]:
    """Return the CPU seconds of each start in each round. A round runs all starts in random order."""
    measured: list[list[float]] = [[] for _ in starts]
    for _ in rounds:
        for number in random.sample(range(len(starts)), len(starts)):
            measured[number].append(_cpu_seconds(starts[number]))
    return measured


def _command(start: Start) -> list[str]:
    # Exit without clean-up: a function answers here and stays alive.
    code = f"import os, sys; sys.path.insert(0, {str(start.package)!r}); {start.code}; os._exit(0)"
    return [sys.executable, "-s", "-S", "-c", code]


def _instructions(start: Start) -> float:
    environment = {**start.environment, **_ALWAYS}
    command = [*_VALGRIND, *_command(start)]
    ran = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)
    found = re.search(r"I\s+refs:\s+([0-9,]+)", ran.stderr)
    if ran.returncode or found is None:
        raise ValueError(f"{start.name} cannot be counted: {ran.stderr[-2000:]}")
    return int(found[1].replace(",", "")) / 1e6


def _cpu_seconds(start: Start) -> float:
    environment = {**start.environment, **_ALWAYS}
    process = subprocess.Popen(_command(start), cwd="/", env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise ValueError(f"{start.name} failed")
    return usage.ru_utime + usage.ru_stime
