"""Create a virtual environment from a lock file and show the progress.

    python3 -m infra.local.install .venv requirements/run.lock [requirements/dev.lock ...]

The lock, which `make lock` writes, lists every package with its version and the hashes of its wheels. Files with other
hashes are not installed, and neither are source distributions, which would run code during their build. Nothing happens
if the same Python has already created the environment from the same lock. The additional locks contain the first lock.
An environment from one of them is kept up to date with that lock, so that `make run` removes nothing that `make test`
needs.

This module runs before anything is installed, so it imports only the standard library. pip's configuration determines
the package index (see `infra.uv`), never a file of this project.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

from infra import uv

_STAMP = "installed-from"
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def main() -> None:
    """Create the environment that the arguments describe, unless it exists."""
    if len(sys.argv) < 3:
        sys.exit("usage: python3 -m infra.local.install DIRECTORY LOCK [LARGER_LOCK ...]")
    directory, *locks = map(Path, sys.argv[1:])
    try:
        with uv.hold(Path(__file__)):
            _install(directory, locks)
    except uv.UvError as error:
        sys.exit(str(error))


def _install(directory: Path, locks: list[Path]) -> None:
    stamp, python = directory / _STAMP, directory / "bin" / "python"
    current = stamp.read_text() if stamp.exists() and python.exists() else ""
    lock = next((larger for larger in locks[1:] if f" {larger.name} " in current), locks[0])
    target = f"{_PYTHON} {lock.name} {hashlib.sha256(lock.read_bytes()).hexdigest()}"
    if current == target:
        return
    uv.install()
    started = time.monotonic()
    print(f"Setting up {directory} from {lock.name} (Python {_PYTHON})", flush=True)
    # The stamp is removed first and written last, so the next run repeats an interrupted installation.
    stamp.unlink(missing_ok=True)
    if current.partition(" ")[0] != _PYTHON:
        _run(f"Creating {directory}", "venv", "--clear", "--python", sys.executable, str(directory))
    _run(
        f"Installing {lock.name}",
        *("pip", "sync", "--python", str(python), "--require-hashes", "--only-binary", ":all:", str(lock)),
    )
    stamp.write_text(target)
    print(f"{directory} is ready ({time.monotonic() - started:.0f} s).", flush=True)


def _run(action: str, *arguments: str) -> None:
    """Run uv and show its progress. If uv fails, exit with its last output lines."""
    line, environment = uv.command(*arguments)
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    last: deque[str] = deque(maxlen=15)
    for text in process.stdout or ():
        last.append(text[:200].rstrip())
        if not text.startswith(" + "):  # uv prints a line for each installed package at the end
            _show(f"  {last[-1].strip()}")
    _show("")
    if process.wait():
        sys.exit("\n".join([*last, f"{action} failed; see the lines above for the reason."]))


def _show(text: str) -> None:
    """Replace the current line in a terminal. A log contains only the first and last lines of a setup."""
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text}", end="", flush=True)


if __name__ == "__main__":
    main()
