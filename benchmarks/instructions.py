"""The CPU instructions of an operation, counted by callgrind. The count is the same in every run, under any load.

The counted process starts, warms up and calls `count` with its cases. Each case runs in two lengths, with marks before
and after each run. A mark is a C library call that no other code makes; callgrind writes its counters at each mark. The
difference between the two runs is the operation's count, so the marks cancel out. Hashing is deterministic, and garbage
collection is off.
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
"""Prepares an operation that runs once. Preparation, such as building an event, is not counted."""
_MARKS = 3  # marks per case: before the short run, between the runs, after the long run


def is_available() -> bool:
    """Return whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def start(command: Sequence[str], environment: dict[str, str], directory: Path) -> "subprocess.Popen[bytes]":
    """Start a counted process. It writes its counts to `directory`, where `read` finds them."""
    tool = [
        "valgrind",
        "--tool=callgrind",
        "--instr-atstart=no",
        f"--dump-before={_MARK}",
        f"--callgrind-out-file={directory / 'counted'}",
    ]
    return subprocess.Popen([*tool, "--quiet", *command], env={**environment, "PYTHONHASHSEED": "0"})


def read(directory: Path, lengths: Sequence[int]) -> list[float]:
    """Return the instructions of each case's operation after the process has ended. `count` used the same `lengths`."""
    marked = sorted((path for path in directory.glob("counted.*")), key=lambda path: int(path.suffix[1:]))
    totals = [int(re.findall(rb"^(?:summary|totals): (\d+)", path.read_bytes(), re.MULTILINE)[-1]) for path in marked]
    if len(totals) != _MARKS * len(lengths):
        raise ValueError(f"{len(totals)} marks for {len(lengths)} cases")
    cases = zip(totals[1::_MARKS], totals[2::_MARKS], lengths, strict=True)
    return [(long - short) / length for short, long, length in cases]


def count(cases: Sequence[tuple[Prepare, int]]) -> None:
    """Count the cases inside the counted process. Run `length` operations of each case, and then twice as many."""
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
    """Start counting. Without counting, the process runs five times as fast."""
    command = ["callgrind_control", "--instr=on", str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as control:
        while control.poll() is None:  # valgrind handles the command only while the process runs code
            pass
