"""Unpacks each package only once in the emulator, because all functions in a deployment share a package.

This module runs inside the emulator (`tests.deployment.emulator`) on the interpreter of `.venv-engine`.
"""

import hashlib
import tempfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_lock = threading.Lock()


class Package(zipfile.ZipFile):
    """A package whose files are unpacked into a directory named by the package's hash."""

    def extractall(self, path: Any = None, *_: Any) -> None:
        """Replace the empty directory `path` with a link to the unpacked files."""
        content = Path(str(self.filename)).read_bytes()
        files = Path(tempfile.gettempdir(), hashlib.sha256(content).hexdigest())
        with _lock:
            if not files.exists():
                super().extractall(files)
        Path(path).rmdir()
        Path(path).symlink_to(files)


replacement = SimpleNamespace(**{**vars(zipfile), "ZipFile": Package})
"""A replacement for the module `zipfile` in which `ZipFile` is `Package`."""
