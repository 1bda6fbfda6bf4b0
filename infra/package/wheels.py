"""The files of the shipped packages, with the versions and hashes from the lock file.

uv gets the packages from its cache, or from the index in pip's configuration (`infra.uv`), and unpacks them for the
functions' platform or for this machine. The tests use the same versions, because setup installs them from the same lock
file.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from infra import uv
from infra.package import interpreters

# uv's names for the AWS Lambda platforms, keyed by Lambda's architecture name. Lambda's Amazon Linux has a newer C
# library for every Python version.
PLATFORMS = {"x86_64": "x86_64-manylinux2014", "arm64": "aarch64-manylinux2014"}
LAMBDA = PLATFORMS["x86_64"]
# The platform of this machine.
THIS_MACHINE = ""
LOCK = uv.ROOT / "requirements/dev.lock"
# Files that uv adds to the wheels' files, besides the commands in `bin`.
_OF_THE_INSTALLATION = {".lock", "INSTALLER", "RECORD", "REQUESTED", "uv_cache.json"}


class BuildError(Exception):
    """The package cannot be built. The message is one sentence with the reason."""


class File(NamedTuple):
    """A package file and its path in the zip file."""

    path: str
    content: bytes


def unpack_files(
    requirements: Sequence[Path], platform: str, lock: Path = LOCK, python: str = interpreters.VERSION
) -> Iterator[File]:
    """Yield all files of the packages in these requirements files and their dependencies. Raise BuildError."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        _unpack(directory, requirements, platform, lock, python)
        for path in sorted(directory.rglob("*")):
            file = path.relative_to(directory)
            if path.is_file() and file.name not in _OF_THE_INSTALLATION and file.parts[0] != "bin":
                yield File(file.as_posix(), path.read_bytes())


def _unpack(directory: Path, requirements: Sequence[Path], platform: str, lock: Path, python: str) -> None:
    arguments = ["--target", str(directory), "--python", sys.executable, "--python-version", python]
    arguments += ["--require-hashes", "--only-binary", ":all:"]
    arguments += ["--python-platform", platform] if platform else []
    arguments += [argument for path in requirements for argument in ("--requirements", str(path))]
    arguments += ["--constraints", str(lock)]
    # uv tries its cache first, so that tests and repeated builds do not contact an index.
    for options in (["--offline"], []):
        try:
            line, environment = uv.command("pip", "install", *options, *arguments)
        except uv.UvError as error:
            raise BuildError(str(error)) from error
        ran = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
        if not ran.returncode:
            return
    reason = ran.stderr.partition("error: ")[2].partition("\n\nhint: ")[0]
    raise BuildError(
        f"The packages are not available for {platform or 'this machine'} and Python {python} as "
        f"{lock.parent.name}/{lock.name} has them: "
        f"{' '.join(reason.split())[:500]}"
    )
