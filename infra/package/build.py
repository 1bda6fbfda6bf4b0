"""Stages the project for deployment, in a directory for `chalice deploy --project-dir`.

Chalice copies `app.py`, `chalicelib/` and the contents of `vendor/` into the zip, and adds two modules of its own. The
staged requirements.txt is empty, so that Chalice installs nothing; the packages are in `vendor/`. They are trimmed
(`trim`) and compiled (`bytecode`), because Lambda's file system is read-only: Python would compile them at every cold
start.
Packages ship as bytecode only. The application also ships its sources, for tracebacks.
"""

import inspect
import json
import os
import shutil
import subprocess
from pathlib import Path

import chalice.app
from jinja2 import FileSystemLoader

from chalicelib.console import rendering
from infra.package import bytecode, interpreters, trim, wheels
from infra.package.wheels import BuildError as BuildError

ROOT = Path(__file__).parents[2]
# Chalice's command imports the guard with the app, and packages the rest.
_GUARD = "chalice_guard.py"
_STAGED = ("app.py", _GUARD, "chalicelib", "vendor", "requirements.txt")
# 1980-01-01, the earliest time in a zip. A fixed modification time makes builds reproducible.
_MODIFIED_AT = 315_619_200


def stage(directory: Path, platform: str = wheels.LAMBDA, python: str = interpreters.HERE) -> bool:
    """Stage the project in `directory` for a platform and a Python version. Return whether it has bytecode.

    Without a Python of that version on this machine, it has the sources only. Replaces an earlier build, but keeps
    Chalice's state in `.chalice`. Raises BuildError and leaves no partial build.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _clear(directory)
    interpreter = interpreters.find(python)
    try:
        _add_packages(directory / "vendor", platform, python)
        _add_application(directory)
        if interpreter:
            _compile(directory, interpreter)
    except BaseException:
        _clear(directory)
        raise
    (directory / "requirements.txt").touch()
    for name in _STAGED:
        _normalize(directory / name)
    return interpreter is not None


def _clear(directory: Path) -> None:
    for path in (directory / name for name in _STAGED):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _add_packages(vendor: Path, platform: str, python: str) -> None:
    for file in trim.trim_files(wheels.of(ROOT / "requirements.txt", platform, python=python)):
        path = vendor / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)


def _add_application(directory: Path) -> None:
    shutil.copyfile(ROOT / "app.py", directory / "app.py")
    shutil.copyfile(ROOT / _GUARD, directory / _GUARD)
    shutil.copytree(ROOT / "chalicelib", directory / "chalicelib", ignore=shutil.ignore_patterns("__pycache__"))
    # The templates of the console ship as modules: compiling them would slow the first page of each process down.
    console = directory / "chalicelib" / "console"
    sources = rendering.environment().overlay(loader=FileSystemLoader(console / rendering.SOURCES))
    sources.compile_templates(console / rendering.COMPILED, zip=None, ignore_errors=False)
    shutil.rmtree(console / rendering.SOURCES)


def _compile(directory: Path, interpreter: str) -> None:
    """Compile everything that ships, also the two modules that Chalice puts into the zip."""
    vendor, templates = directory / "vendor", directory / "chalicelib" / "console" / rendering.COMPILED
    beside = [(Path(inspect.getfile(one)), vendor / "chalice") for one in (chalice, chalice.app)]
    shipped = [(source, target / source.name) for source, target in beside]
    shipped += [(directory / "app.py", vendor / "app.py")]
    shipped += [(one, one) for one in (directory / "chalicelib").rglob("*.py") if templates not in one.parents]
    job = {
        "replaced": [str(vendor), str(templates)],
        "beside": [(str(source), str(path)) for source, path in shipped],
    }
    line = [interpreter, "-I", inspect.getfile(bytecode)]
    if subprocess.run(line, input=json.dumps(job), text=True, check=False).returncode:
        raise BuildError("A module does not compile; see the lines above.")


def _normalize(path: Path) -> None:
    """Set fixed modification times and modes, so that equal content makes an equal zip."""
    for one in [path, *path.rglob("*")]:
        one.chmod(0o755 if one.is_dir() else 0o644)
        os.utime(one, (_MODIFIED_AT, _MODIFIED_AT))
