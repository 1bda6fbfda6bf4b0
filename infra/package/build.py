"""Stages the project that is deployed: a directory on which any `chalice deploy --project-dir` works.

Chalice copies `app.py`, `chalicelib/` and the contents of `vendor/` to the zip as they are, and adds its own two
modules. So that it adds nothing else, the staged requirements are empty, and the packages stand in `vendor/`:
cut to what is used (`trim`), and compiled, as a function's file system is read-only and Python would compile all of
them again at every cold start. Of the packages only the bytecode ships; our own sources do, too, for tracebacks.
"""

import compileall
import inspect
import os
import py_compile
import shutil
from importlib.util import cache_from_source
from pathlib import Path

import chalice.app

from infra.package import trim, wheels
from infra.package.wheels import BuildError as BuildError

ROOT = Path(__file__).parents[2]
_OURS = ("app.py", "chalicelib", "vendor", "requirements.txt")
# The first moment that a zip can name: the same content is the same package, whenever it was staged.
_MOMENT = 315_619_200
_UNCHECKED, _CHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH, py_compile.PycInvalidationMode.CHECKED_HASH


def stage(directory: Path, platform: str = wheels.LAMBDA) -> None:
    """Fill `directory`, anew if need be; what Chalice keeps there stays. Raises BuildError, and leaves nothing then."""
    directory.mkdir(parents=True, exist_ok=True)
    _clear(directory)
    try:
        _add_packages(directory / "vendor", platform)
        _add_chalice(directory / "vendor")
        _add_application(directory)
    except BaseException:
        _clear(directory)
        raise
    (directory / "requirements.txt").touch()
    for name in _OURS:
        _settle(directory / name)
    _add_configuration(directory)


def _clear(directory: Path) -> None:
    for path in (directory / name for name in _OURS):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _add_packages(vendor: Path, platform: str) -> None:
    for file in trim.trimmed(wheels.of(ROOT / "requirements.txt", platform)):
        path = vendor / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
    # At the place of the source, where Python takes it for the module; and never with -OO, with which the standard
    # library would be compiled again.
    if not compileall.compile_dir(
        vendor, quiet=1, force=True, legacy=True, stripdir=vendor, workers=0, invalidation_mode=_UNCHECKED, optimize=0
    ):
        raise BuildError("A module of a package cannot be compiled; the lines above say which.")
    for source in list(vendor.rglob("*.py")):
        source.unlink()


def _add_chalice(vendor: Path) -> None:
    """The bytecode of the two modules that Chalice adds."""
    (vendor / "chalice").mkdir()
    for module in (chalice, chalice.app):
        source = Path(inspect.getfile(module))
        _compile(source, vendor / "chalice" / source.name)


def _add_application(directory: Path) -> None:
    shutil.copyfile(ROOT / "app.py", directory / "app.py")
    _compile(directory / "app.py", directory / "vendor" / "app.py")
    shutil.copytree(ROOT / "chalicelib", directory / "chalicelib", ignore=shutil.ignore_patterns("__pycache__"))
    for source in (directory / "chalicelib").rglob("*.py"):
        _compile(source, source)


def _compile(source: Path, place: Path) -> None:
    """Compile a source that ships, too, at `place`; the hash decides, so that no other source goes with it."""
    compiled = cache_from_source(str(place), optimization="")
    name = str(Path(*place.parts[-2:]))
    py_compile.compile(str(source), compiled, name, doraise=True, invalidation_mode=_CHECKED, optimize=0)


def _settle(path: Path) -> None:
    """The same times and permissions for every build."""
    for one in [path, *path.rglob("*")]:
        one.chmod(0o755 if one.is_dir() else 0o644)
        os.utime(one, (_MOMENT, _MOMENT))


def _add_configuration(directory: Path) -> None:
    (directory / ".chalice").mkdir(exist_ok=True)
    for source in sorted((ROOT / ".chalice").glob("*.json")):
        shutil.copyfile(source, directory / ".chalice" / source.name)
