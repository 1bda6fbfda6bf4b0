"""Creates a virtual environment from a lock file, once, and shows how far it is.

    python3 infra/local/install.py .venv requirements-dev.lock

The lock names every package with its version and the hashes of its wheels (`make lock` writes it); what has another
hash, or is no wheel and would run code to be built, is not installed. Runs before anything is installed: plain Python,
no import of ours. Does nothing when the environment was made by the same Python from the same lock. Where packages come
from is pip's own configuration, never a file of this project.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

_STAMP = "installed-from"
_LONGEST_LINE = 200  # pip lists every version there ever was when it finds none that fits


def main() -> None:
    """Makes the environment that the two arguments describe, unless it is there."""
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} DIRECTORY LOCK")
    directory, lock = Path(sys.argv[1]), Path(sys.argv[2])
    # Two terminals on a fresh clone must not fill the same directory at the same time.
    with lock.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        _install(directory, lock)


def _install(directory: Path, lock: Path) -> None:
    stamp, content = directory / _STAMP, lock.read_bytes()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    wanted = f"{python} {hashlib.sha256(content).hexdigest()}"
    packages = content.count(b"==")
    found = stamp.read_text() if stamp.exists() else ""
    if found == wanted:
        return
    started = time.monotonic()
    print(f"Setting up {directory} from {lock} ({packages} packages, Python {python})", flush=True)
    if found.split(" ")[0] != python:
        _create(directory)
    # The stamp goes first and comes back last: whatever interrupts this, the next run starts over.
    stamp.unlink(missing_ok=True)
    _fill(directory, lock, packages)
    stamp.write_text(wanted)
    print(f"{directory} is ready ({time.monotonic() - started:.0f} s).", flush=True)


def _create(directory: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(directory)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        detail = (made.stdout + made.stderr).strip()
        sys.exit(
            f"{detail}\nPython could not create {directory}; some systems ship the venv module as a package of its own."
        )


def _fill(directory: Path, lock: Path, total: int) -> None:
    pip = subprocess.Popen(
        [
            str(directory / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "--progress-bar",
            "off",
            "--no-deps",  # the lock has them all
            "--require-hashes",
            "--only-binary=:all:",
            "-r",
            str(lock),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INPUT": "1",
        },
    )
    last: deque[str] = deque(maxlen=15)
    fetched = 0
    for line in pip.stdout or ():
        last.append(line[:_LONGEST_LINE].rstrip() + "\n")
        if line.startswith("Collecting "):
            fetched += 1
            _show(f"  {min(fetched, total)}/{total} {line.split()[1]}")
        elif line.startswith("Installing "):
            _show("  unpacking ...")
    _show("")
    if pip.wait():
        sys.exit("".join(last) + f"Installing {lock} failed; the last lines above say why.")


def _show(text: str) -> None:
    """One line that replaces itself; only where somebody watches, a log gets the first and the last line."""
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text}", end="", flush=True)


if __name__ == "__main__":
    main()
