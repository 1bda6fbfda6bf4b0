"""The packages whose starts are measured, each in a directory of its own: all that a process of it can import.

Those of the peers and of the bare SDK are what `pip install --target` makes of their requirements, in the versions of
`requirements-bench.lock`; they are kept in `build/` for the next run. Ours is the real one, and is made anew each time.
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
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import chalice

from infra.package import build, wheels
from infra.package.__main__ import zipped

KEPT = build.ROOT / "build" / "benchmarks"
# As our own package is compiled: Python trusts it without a look at the source.
_UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH
_PEERS = Path(__file__).parents[1] / "peers"


class Package(NamedTuple):
    """A directory that has the package in two forms, and what the zip of it weighs, in bytes."""

    directory: Path
    size: int

    @property
    def compiled(self) -> Path:
        """Where Python finds the bytecode of every module."""
        return self.directory / "compiled"

    @property
    def sources(self) -> Path:
        """Where it finds none."""
        return self.directory / "sources"


def ours(directory: Path, *, sources: bool) -> Package:
    """The package that is deployed, made in `directory`; if asked for, what Chalice would upload by itself, too."""
    build.stage(directory / "staged", wheels.HERE)
    with contextlib.redirect_stdout(io.StringIO()):  # Chalice says there that it works
        package = zipped(directory / "staged")
    made = Package(directory, package.stat().st_size)
    with zipfile.ZipFile(package) as archive:
        archive.extractall(made.compiled)
    if sources:
        made.sources.symlink_to(_as_published())
    return made


def _as_published() -> Path:
    """The requirements whole, the two modules of Chalice, and our sources of now."""
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
    """A module of `benchmarks/peers` with the packages that it requires."""
    package = _installed(_pinned(names))
    for directory in (package.sources, package.compiled):
        shutil.copyfile(_PEERS / f"{module}.py", directory / f"{module}.py")
    py_compile.compile(str(package.compiled / f"{module}.py"), doraise=True, invalidation_mode=_UNCHECKED)
    return package


def bare() -> Package:
    """Nothing but the SDK's core."""
    return _installed(_pinned(["botocore"]))


def _pinned(names: Sequence[str]) -> list[str]:
    return [f"{name}=={importlib.metadata.version(name)}" for name in names]


def _installed(requirements: Sequence[str]) -> Package:
    """The requirements as files; made once for the versions that this environment has."""
    installed = sorted(f"{one.name} {one.version}" for one in importlib.metadata.distributions())
    text = "\n".join([sys.version, *requirements, *installed])
    place = KEPT / hashlib.sha256(text.encode()).hexdigest()[:16]
    if not place.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as name:
            _install(requirements, Path(name) / "made")
            (Path(name) / "made").rename(place)
    return Package(place, (place / "package.zip").stat().st_size)


def _install(requirements: Sequence[str], place: Path) -> None:
    made = Package(place, 0)
    place.mkdir()
    (place / "requirements.txt").write_text("\n".join(requirements), encoding="utf-8")
    for file in wheels.of(place / "requirements.txt", wheels.HERE, build.ROOT / "requirements-bench.lock"):
        (made.sources / file.path).parent.mkdir(parents=True, exist_ok=True)
        (made.sources / file.path).write_bytes(file.content)
    shutil.make_archive(str(place / "package"), "zip", made.sources)
    shutil.copytree(made.sources, made.compiled)
    compileall.compile_dir(made.compiled, quiet=2, workers=0, invalidation_mode=_UNCHECKED)
