"""The state directory of a run: its lock, and files that only their owner can read and that are replaced in
one step.

What is in it: `engine.journal` (the data), `demonstration.json` (the workspace's secrets), `credentials.json`
(there while a run is ready, or was when it ended), `environment`, `curlrc`, `positions.json` (how far the worker
has read the streams), `engine.log`, and two lock files.
"""

from __future__ import annotations

import fcntl
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import IO


def lock(directory: Path) -> IO[str] | None:
    """The directory's lock, or None while another run has it. The operating system lets go of it with the process."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = (directory / "lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def write(path: Path, text: str) -> None:
    """Puts a text into a file: the old content or the new one is there, for nobody else."""
    fresh = path.with_name(path.name + ".new")
    fresh.touch(mode=0o600)
    fresh.chmod(0o600)
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def write_environment(directory: Path, variables: Mapping[str, str]) -> None:
    """As NAME=value lines, quoted where a shell needs it: `set -a; . STATE/environment`."""
    lines = (f"{name}={shlex.quote(value)}\n" for name, value in variables.items())
    write(directory / "environment", "".join(lines))


def last_engine_port(directory: Path) -> int:
    """The port that the last run's `environment` names, 0 when there was none."""
    try:
        lines = (directory / "environment").read_text(encoding="utf-8").splitlines()
        url = next(line for line in lines if line.startswith("AWS_ENDPOINT_URL="))
        return int(url.rpartition(":")[2])
    except (OSError, ValueError, StopIteration):
        return 0
