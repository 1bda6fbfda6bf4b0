"""Find an interpreter for another Python version on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
"""The Python version of this process."""
_PRINT_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def find(version: str) -> str | None:
    """Return the interpreter path for a Python version, such as `3.13`, or None if it is not installed."""
    return next((python for python in _candidates(version) if _version(python) == version), None)


def _candidates(version: str) -> Iterator[str]:
    """Yield this interpreter, `python3.13` from the path, and pyenv and uv installations outside the path."""
    yield sys.executable
    if python := shutil.which(f"python{version}"):
        yield python
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or Path.home() / ".local" / "share" / "uv" / "python")
    for path in (*pyenv.glob(f"versions/{version}.*/bin/python"), *uv.glob(f"cpython-{version}*/bin/python")):
        yield str(path)


def _version(python: str) -> str:
    ran = subprocess.run([python, "-I", "-c", _PRINT_VERSION], capture_output=True, text=True, check=False)
    return ran.stdout.strip()
