"""Stages the project for deployment, in a directory for `chalice deploy --project-dir`.

Chalice copies `app.py`, `chalicelib/` and the contents of `vendor/` into the zip, and adds two modules of its own. The
staged requirements.txt is empty, so that Chalice installs nothing; the packages are in `vendor/`. They are trimmed
(`trim`) and compiled, because Lambda's file system is read-only: Python would compile them at every cold start.
Packages ship as bytecode only. The application also ships its sources, for tracebacks.
"""

import compileall
import inspect
import os
import py_compile
import shutil
from importlib.util import cache_from_source
from pathlib import Path

import chalice.app
from jinja2 import FileSystemLoader

from chalicelib.console import rendering
from infra.package import trim, wheels
from infra.package.wheels import BuildError as BuildError

ROOT = Path(__file__).parents[2]
# Chalice's command imports the guard with the app, and packages the rest.
_GUARD = "chalice_guard.py"
_STAGED = ("app.py", _GUARD, "chalicelib", "vendor", "requirements.txt")
# 1980-01-01, the earliest time in a zip. A fixed modification time makes builds reproducible.
_MODIFIED_AT = 315_619_200
_UNCHECKED, _CHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH, py_compile.PycInvalidationMode.CHECKED_HASH


def stage(directory: Path, platform: str = wheels.LAMBDA) -> None:
    """Stage the project in `directory`, for `platform`.

    Replaces an earlier build, but keeps `.chalice`, which `infra.deploy.stage` writes. Raises BuildError and leaves no
    partial build.
    """
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
    for name in _STAGED:
        _normalize(directory / name)


def _clear(directory: Path) -> None:
    for path in (directory / name for name in _STAGED):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _add_packages(vendor: Path, platform: str) -> None:
    for file in trim.trim_files(wheels.of(ROOT / "requirements.txt", platform)):
        path = vendor / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
    # `legacy` puts the bytecode where the source was, so that Python imports it without a source, at any optimization.
    # Level 2 leaves out docstrings and assertions. Ours stay: the OpenAPI document has them.
    _replace_by_bytecode(vendor)


def _replace_by_bytecode(directory: Path) -> None:
    if not compileall.compile_dir(
        directory,
        quiet=1,
        force=True,
        legacy=True,
        stripdir=directory,
        workers=0,
        invalidation_mode=_UNCHECKED,
        optimize=2,
    ):
        raise BuildError("A package module does not compile; see the lines above.")
    for source in list(directory.rglob("*.py")):
        source.unlink()


def _add_chalice(vendor: Path) -> None:
    """Add the bytecode of the two modules that Chalice puts into the zip."""
    (vendor / "chalice").mkdir()
    for module in (chalice, chalice.app):
        source = Path(inspect.getfile(module))
        _compile(source, vendor / "chalice" / source.name)


def _add_application(directory: Path) -> None:
    shutil.copyfile(ROOT / "app.py", directory / "app.py")
    shutil.copyfile(ROOT / _GUARD, directory / _GUARD)
    _compile(directory / "app.py", directory / "vendor" / "app.py")
    shutil.copytree(ROOT / "chalicelib", directory / "chalicelib", ignore=shutil.ignore_patterns("__pycache__"))
    _compile_templates(directory / "chalicelib" / "console")
    for source in (directory / "chalicelib").rglob("*.py"):
        _compile(source, source)


def _compile_templates(console: Path) -> None:
    """Ship the templates of the console as modules: compiling them would slow the first page of each process down."""
    sources = rendering.environment().overlay(loader=FileSystemLoader(console / rendering.SOURCES))
    sources.compile_templates(console / rendering.COMPILED, zip=None, ignore_errors=False)
    _replace_by_bytecode(console / rendering.COMPILED)
    shutil.rmtree(console / rendering.SOURCES)


def _compile(source: Path, shipped_as: Path) -> None:
    """Compile a source that also ships, at `shipped_as`. Python compares its hash, so it never uses stale bytecode."""
    compiled = cache_from_source(str(shipped_as), optimization="")
    name = str(Path(*shipped_as.parts[-2:]))
    py_compile.compile(str(source), compiled, name, doraise=True, invalidation_mode=_CHECKED, optimize=0)


def _normalize(path: Path) -> None:
    """Set fixed modification times and modes, so that equal content makes an equal zip."""
    for one in [path, *path.rglob("*")]:
        one.chmod(0o755 if one.is_dir() else 0o644)
        os.utime(one, (_MODIFIED_AT, _MODIFIED_AT))
