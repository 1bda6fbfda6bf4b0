"""The measured packages. Each has its own directory, and a process imports only from there.

The packages of the peers and of the bare SDK equal a `pip install --target` of their requirements, in the versions of
`requirements/bench.lock`. They stay in `build/` for the next run. The CAMS package is the deployed one, built in each
run.
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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import chalice

from infra.package import build, trim, wheels
from infra.package.__main__ import zipped
from infra.package.wheels import File

CACHE = build.ROOT / "build" / "benchmarks"
# As in the deployed package: Python does not compare the bytecode with the source.
_UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH
_PEERS = Path(__file__).parents[1] / "peers"


class Package(NamedTuple):
    """A directory with the package in two forms, and the size of its zip file in bytes."""

    directory: Path
    size: int

    @property
    def compiled(self) -> Path:
        """The form with bytecode for every module."""
        return self.directory / "compiled"

    @property
    def sources(self) -> Path:
        """The form without bytecode."""
        return self.directory / "sources"


def ours(directory: Path, *, sources: bool) -> Package:
    """Build the deployed package in `directory`, optionally with the package that plain Chalice would upload."""
    build.stage(directory / "staged", wheels.HERE)
    with contextlib.redirect_stdout(io.StringIO()):  # Chalice prints its progress
        package = zipped(directory / "staged")
    made = Package(directory, package.stat().st_size)
    with zipfile.ZipFile(package) as archive:
        archive.extractall(made.compiled)
    if sources:
        made.sources.symlink_to(_as_published())
    return made


def _as_published() -> Path:
    """Return the complete requirements, the two modules of Chalice, and the current sources."""
    lines = (build.ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    sources = _installed([line for line in lines if not line.startswith("#")]).sources
    (sources / "chalice").mkdir(exist_ok=True)
    for module in ("__init__.py", "app.py"):
        shutil.copyfile(Path(chalice.__file__).with_name(module), sources / "chalice" / module)
    shutil.copyfile(build.ROOT / "app.py", sources / "app.py")
    shutil.rmtree(sources / "chalicelib", ignore_errors=True)
    shutil.copytree(build.ROOT / "chalicelib", sources / "chalicelib", ignore=shutil.ignore_patterns("__pycache__"))
    return sources


def peer(module: str, names: Sequence[str]) -> Package:
    """Return a module of `benchmarks/peers` with the packages that it requires."""
    package = _installed(_pinned(names))
    for directory in (package.sources, package.compiled):
        shutil.copyfile(_PEERS / f"{module}.py", directory / f"{module}.py")
    py_compile.compile(str(package.compiled / f"{module}.py"), doraise=True, invalidation_mode=_UNCHECKED)
    return package


def bare() -> Package:
    """Return the SDK's core alone."""
    return _installed(_pinned(["botocore"]))


def trimmed(directory: Path) -> Package:
    """Build the SDK's core in `directory`, without the files and data that the deployed package omits."""
    _install(_pinned(["botocore"]), directory / "trimmed", trim.trim_files)
    return Package(directory / "trimmed", (directory / "trimmed" / "package.zip").stat().st_size)


def _pinned(names: Sequence[str]) -> list[str]:
    return [f"{name}=={importlib.metadata.version(name)}" for name in names]


def _installed(requirements: Sequence[str]) -> Package:
    """Return the installed requirements, built once for this environment's versions."""
    installed = sorted(f"{one.name} {one.version}" for one in importlib.metadata.distributions())
    text = "\n".join([sys.version, *requirements, *installed])
    place = CACHE / hashlib.sha256(text.encode()).hexdigest()[:16]
    if not place.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as name:
            _install(requirements, Path(name) / "made")
            (Path(name) / "made").rename(place)
    return Package(place, (place / "package.zip").stat().st_size)


def _install(
    requirements: Sequence[str], place: Path, select: Callable[[Iterator[File]], Iterator[File]] = iter
) -> None:
    made = Package(place, 0)
    place.mkdir()
    (place / "requirements.txt").write_text("\n".join(requirements), encoding="utf-8")
    for file in select(wheels.of(place / "requirements.txt", wheels.HERE, build.ROOT / "requirements/bench.lock")):
        (made.sources / file.path).parent.mkdir(parents=True, exist_ok=True)
        (made.sources / file.path).write_bytes(file.content)
    shutil.make_archive(str(place / "package"), "zip", made.sources)
    shutil.copytree(made.sources, made.compiled)
    compileall.compile_dir(made.compiled, quiet=2, workers=0, invalidation_mode=_UNCHECKED)
