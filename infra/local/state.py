"""A local run's state directory: its lock, and files that only their owner can read and are replaced atomically.

The directory contains `engine.sqlite` (the data), `demonstration.json` (the workspace's secrets), `environment`,
`curlrc`, `positions.json` (the worker's position in each stream), `requests.log` (a line for each request, for
`infra.cams usage`), `mail` (a file for each email), `engine.credentials`, `engine.log` and two lock files.
`credentials.json` is written when a run is ready and removed when the next run starts.
"""

from __future__ import annotations

import fcntl
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO


def lock(directory: Path, name: str = "lock", seconds: float = 0.0) -> IO[str] | None:
    """Lock the directory until the process exits; return None if another process holds the lock for `seconds`."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = (directory / name).open("a")
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() >= deadline:
                file.close()
                return None
            time.sleep(0.05)


def write(path: Path, text: str) -> None:
    """Replace a file's content atomically, with mode 0600."""
    new = path.with_name(path.name + ".new")
    new.touch(mode=0o600)
    new.chmod(0o600)
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def write_environment(directory: Path, variables: Mapping[str, str]) -> None:
    """Write NAME=value lines, quoted for a shell: `set -a; . STATE/environment`."""
    lines = (f"{name}={shlex.quote(value)}\n" for name, value in variables.items())
    write(directory / "environment", "".join(lines))


def last_engine_port(directory: Path) -> int:
    """Return the engine's port in the last run, from the file `environment`, or 0 if there is no port."""
    try:
        lines = (directory / "environment").read_text(encoding="utf-8").splitlines()
        url = next(line for line in lines if line.startswith("AWS_ENDPOINT_URL="))
        return int(url.rpartition(":")[2])
    except (OSError, ValueError, StopIteration):
        return 0
