"""The packages for the cold start question. Each has its own directory, and a process imports only from there.

The packages of the peers and of the bare SDK equal a compiled `pip install --target` of their requirements, in the
versions of `requirements/bench.lock`. They stay in `build/` for the next run. The package of CAMS is the package that a
deployment uses. It is built in each run.
"""

import compileall
import contextlib
import hashlib
import importlib.metadata
import io
import py_compile
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from infra.package import build, trim, wheels
from infra.package.__main__ import build_zip
from infra.package.wheels import File

_CACHE = build.ROOT / "build" / "benchmarks"
_PEERS = Path(__file__).parent / "peers"
# As in the deployed package, Python does not compare the bytecode with the source.
_UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH


class Package(NamedTuple):
    """The directory of a package, and the size of its zip file in bytes."""

    directory: Path
    size: int


def ours(directory: Path, extensions: Collection[str] | None = None) -> Package:
    """Build the deployed package with these extensions in `directory`. The default is all available extensions."""
    build.stage(directory / "staged", wheels.THIS_MACHINE, extensions=extensions)
    with contextlib.redirect_stdout(io.StringIO()):  # Chalice prints its progress
        package = build_zip(directory / "staged")
    with zipfile.ZipFile(package) as archive:
        archive.extractall(directory / "unzipped")
    return Package(directory / "unzipped", package.stat().st_size)


def peer(module: str, names: Sequence[str]) -> Package:
    """Return the package of a module in `benchmarks/peers`, including its requirements."""
    package = installed(names)
    py_compile.compile(
        str(shutil.copy(_PEERS / f"{module}.py", package.directory)), doraise=True, invalidation_mode=_UNCHECKED
    )
    return package


def installed(names: Sequence[str], select: Callable[[Iterator[File]], Iterator[File]] = iter) -> Package:
    """Return the installed packages with their requirements, built once for this environment's versions.

    `select` chooses the files of the packages.
    """
    versions = sorted(f"{package.name} {package.version}" for package in importlib.metadata.distributions())
    source = Path(trim.__file__).read_text("utf-8")
    text = "\n".join([sys.version, *names, select.__name__, source, *versions])
    place = _CACHE / hashlib.sha256(text.encode()).hexdigest()[:16]
    if not place.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as name:
            _install(names, Path(name) / "new", select)
            (Path(name) / "new").rename(place)
    return Package(place / "package", (place / "package.zip").stat().st_size)


def _install(names: Sequence[str], place: Path, select: Callable[[Iterator[File]], Iterator[File]]) -> None:
    place.mkdir()
    requirements = place / "requirements.txt"
    requirements.write_text("\n".join(f"{name}=={importlib.metadata.version(name)}" for name in names), "utf-8")
    for file in select(
        wheels.unpack_files([requirements], wheels.THIS_MACHINE, build.ROOT / "requirements/bench.lock")
    ):
        (place / "package" / file.path).parent.mkdir(parents=True, exist_ok=True)
        (place / "package" / file.path).write_bytes(file.content)
    shutil.make_archive(str(place / "package"), "zip", place / "package")
    compileall.compile_dir(place / "package", quiet=2, workers=0, invalidation_mode=_UNCHECKED)
