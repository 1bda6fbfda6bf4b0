"""CPU instructions of an operation, counted by callgrind: the same number in every run, whatever else the machine does.

A process that is counted starts, warms up, and then calls `count` with its cases. Each is run in two lengths, with a
mark before and after: a mark is a call of the C library that nothing else makes, and callgrind writes down what it has
counted at each. An operation is the difference of the two lengths, so that the marks themselves are not in it. Equal
for all who are counted: strings hash alike in every run, and no garbage is collected.
"""

import gc
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

_MARK = "getppid"
Operation = Callable[[], object]
Prepare = Callable[[], Operation]
"""Makes an operation that runs once; what it makes beforehand, such as an event, is not counted."""
_MARKS = 3  # of a case: before the short run, between, after the long one


def is_there() -> bool:
    """Whether this machine can count."""
    return shutil.which("valgrind") is not None


def start(command: Sequence[str], environment: dict[str, str], directory: Path) -> "subprocess.Popen[bytes]":
    """Start a process that is counted; `directory` is its own, for `read`."""
    tool = [
        "valgrind",
        "--tool=callgrind",
        "--instr-atstart=no",
        f"--dump-before={_MARK}",
        f"--callgrind-out-file={directory / 'counted'}",
    ]
    return subprocess.Popen([*tool, "--quiet", *command], env={**environment, "PYTHONHASHSEED": "0"})


def read(directory: Path, lengths: Sequence[int]) -> list[float]:
    """Instructions of an operation for each case of a process that has ended; `lengths` as its cases were given."""
    marked = sorted((path for path in directory.glob("counted.*")), key=lambda path: int(path.suffix[1:]))
    totals = [int(re.findall(rb"^(?:summary|totals): (\d+)", path.read_bytes(), re.MULTILINE)[-1]) for path in marked]
    if len(totals) != _MARKS * len(lengths):
        raise ValueError(f"{len(lengths)} cases have left {len(totals)} marks")
    cases = zip(totals[1::_MARKS], totals[2::_MARKS], lengths, strict=True)
    return [(long - short) / length for short, long, length in cases]


def count(cases: Sequence[tuple[Prepare, int]]) -> None:
    """Count, in the process that is counted: each case in runs of so many operations, and of twice as many."""
    prepared = [([prepare() for _ in range(3 * length)], length) for prepare, length in cases]
    gc.collect()
    gc.disable()
    _begin()
    for operations, length in prepared:
        os.getppid()
        for operation in operations[:length]:
            operation()
        os.getppid()
        for operation in operations[length:]:
            operation()
        os.getppid()
    gc.enable()


def _begin() -> None:
    """Only from here on instructions are counted: until then the process is five times as fast."""
    command = ["callgrind_control", "--instr=on", str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as control:
        while control.poll() is None:  # valgrind takes orders while code runs
            pass
