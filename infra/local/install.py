"""Creates a virtual environment from a lock file, once, and shows how far it is.

    python3 -m infra.local.install .venv requirements/run.lock [requirements/dev.lock ...]

The lock names every package with its version and the hashes of its wheels (`make lock` writes it); what has another
hash, or is no wheel and would run code to be built, is not installed. Does nothing when the environment was made by the
same Python from the same lock. The locks that follow contain the first one: an environment that was made from one of
them is kept up to date with that one, so that `make run` removes nothing that `make test` needs.

Runs before anything is installed: standard library only. Where packages come from is pip's own configuration (see
`infra.uv`), never a file of this project.
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
    """Make the environment that the arguments describe, unless it exists."""
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
    # The stamp goes first and comes back last: whatever interrupts this, the next run starts over.
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
    """Run uv and show what it does; exit with its last lines when it fails."""
    line, environment = uv.command(*arguments)
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    last: deque[str] = deque(maxlen=15)
    for text in process.stdout or ():
        last.append(text[:200].rstrip())
        if not text.startswith(" + "):  # a package that is installed, of a list at the end
            _show(f"  {last[-1].strip()}")
    _show("")
    if process.wait():
        sys.exit("\n".join([*last, f"{action} failed; the lines above say why."]))


def _show(text: str) -> None:
    """Replace the line in a terminal. A log gets the first and the last line of a set-up only."""
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text}", end="", flush=True)


if __name__ == "__main__":
    main()
