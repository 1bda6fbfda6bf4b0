"""Stage the project for deployment in a directory for `chalice deploy --project-dir`.

Chalice copies `app.py`, `chalicelib/` and the contents of `vendor/` into the zip file, and adds two modules. The staged
requirements.txt is empty, so that Chalice installs nothing; the packages are in `vendor/`. They are trimmed (`trim`)
and compiled (`bytecode`), because Lambda's file system is read-only and Python would compile them on every cold start.
Packages ship as bytecode only. The application also ships its sources, for tracebacks.
"""

import hashlib
import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from types import ModuleType

import chalice.app

from infra import extension_parts
from infra.package import bytecode, expressions, interpreters, trim, wheels
from infra.package.wheels import BuildError as BuildError

ROOT = Path(__file__).parents[2]
# The `chalice` command imports the guard together with the app. The other files are packaged.
_GUARD = "chalice_guard.py"
_VENDOR = "vendor"
# Digest of the inputs for `vendor`, so that a later build can keep its packages.
_VENDOR_KEY = "vendor.sha256"
# `chalicelib` imports this module.
_EXPRESSIONS = "compiled_expressions.py"
_LIST_EXPRESSIONS = (
    "import re, sys; sys.path += sys.argv[1:]; import app; print(sorted((key[1:] for key in re._cache), key=repr))"
)
_STAGED = ("app.py", _GUARD, "chalicelib", "requirements.txt")
# 1980-01-01, the earliest timestamp that a zip file can store. A fixed timestamp makes builds reproducible.
_MODIFIED_AT = 315_619_200


def stage(
    directory: Path,
    platform: str = wheels.LAMBDA,
    python: str = interpreters.VERSION,
    extensions: Collection[str] | None = None,
) -> bool:
    """Stage the project in `directory` for a platform and a Python version. Return whether it contains bytecode.

    The staged project contains these extensions, by default all that are present, and the packages that they need.

    If this machine does not have that Python version, the project contains only sources. An earlier build is replaced,
    except Chalice's state in `.chalice` and unchanged packages. Raise BuildError and leave no partial build.
    """
    directory.mkdir(parents=True, exist_ok=True)
    interpreter = interpreters.find(python)
    try:
        _clear(directory, _STAGED)
        _add_packages(directory, platform, python, interpreter, extensions)
        replaced = _add_application(directory, extensions)
        if interpreter:
            _compile_application(directory, interpreter, replaced)
    except BaseException:
        _clear(directory, (_VENDOR_KEY, _VENDOR, *_STAGED))
        raise
    (directory / "requirements.txt").touch()
    for name in (_VENDOR_KEY, _VENDOR, *_STAGED):
        _normalize(directory / name)
    return interpreter is not None


def _clear(directory: Path, names: tuple[str, ...]) -> None:
    for path in (directory / name for name in names):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _add_packages(
    directory: Path, platform: str, python: str, interpreter: str | None, extensions: Collection[str] | None
) -> None:
    """Add the packages, unless an earlier build has the same: unpacking and compiling take several seconds."""
    vendor, path = directory / _VENDOR, directory / _VENDOR_KEY
    requirements, services = extension_parts.requirements(extensions), trim.services(extensions)
    patterns = _list_expressions()
    key = _vendor_key(requirements, platform, python, str(interpreter), repr(services), patterns)
    if path.exists() and path.read_text(encoding="utf-8") == key:
        return
    _clear(directory, (_VENDOR_KEY, _VENDOR))
    for file in trim.trim_files(wheels.unpack_files(requirements, platform, python=python), services):
        target = vendor / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
    if interpreter:
        (vendor / _EXPRESSIONS).write_text(_run(interpreter, expressions, patterns), "utf-8")
        _compile(interpreter, replaced=[vendor], beside=[])
    path.write_text(key, encoding="utf-8")


def _list_expressions() -> str:
    """Return the patterns and flags of the regular expressions that the application compiles during its import."""
    line = [sys.executable, "-I", "-S", "-c", _LIST_EXPRESSIONS, str(ROOT), *sys.path]
    # The deployer's credentials and profile must not affect the list.
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    ran = subprocess.run(line, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        raise BuildError("The application cannot be imported; see the lines above.")
    return ran.stdout


def _vendor_key(requirements: list[Path], *parts: str) -> str:
    """Return a digest of everything that determines the contents of the packages."""
    sources = (*requirements, wheels.LOCK, *sorted(Path(__file__).parent.glob("*.py")))
    digest = hashlib.sha256("\n".join(parts).encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _add_application(directory: Path, extensions: Collection[str] | None) -> list[Path]:
    """Copy the application without disabled extensions. Return the folders that ship as bytecode only."""
    shutil.copyfile(ROOT / "app.py", directory / "app.py")
    shutil.copyfile(ROOT / _GUARD, directory / _GUARD)
    shutil.copytree(ROOT / "chalicelib", directory / "chalicelib", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (directory / "chalicelib" / "extensions").glob("*/"):
        is_on = extensions is None or folder.name in extensions
        shutil.rmtree(folder / "deploy" if is_on else folder, ignore_errors=True)
    modules = [one for one in extension_parts.modules("package", extensions) if hasattr(one, "prepare")]
    return [folder for module in modules for folder in module.prepare(directory)]


def _compile_application(directory: Path, interpreter: str, replaced: list[Path]) -> None:
    """Compile the application and the two modules that Chalice adds to the zip file."""
    vendor, modules = directory / _VENDOR, (directory / "chalicelib").rglob("*.py")
    shipped = [(Path(inspect.getfile(one)), vendor / "chalice") for one in (chalice, chalice.app)]
    beside = [(source, target / source.name) for source, target in shipped]
    beside += [(directory / "app.py", vendor / "app.py")]
    beside += [(module, module) for module in modules if not {*replaced} & {*module.parents}]
    _compile(interpreter, replaced=replaced, beside=beside)


def _compile(interpreter: str, replaced: list[Path], beside: list[tuple[Path, Path]]) -> None:
    job = {"replaced": [str(one) for one in replaced], "beside": [(str(one), str(path)) for one, path in beside]}
    _run(interpreter, bytecode, json.dumps(job))


def _run(interpreter: str, module: ModuleType, text: str) -> str:
    """Run a module as a program that reads this text. Return what it prints."""
    # Column numbers would make the bytecode larger. Tracebacks have line numbers without them.
    line = [interpreter, "-I", "-X", "no_debug_ranges", inspect.getfile(module)]
    ran = subprocess.run(line, input=text, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=False)
    if ran.returncode:
        raise BuildError("A module does not compile; see the lines above.")
    return ran.stdout


def _normalize(path: Path) -> None:
    """Set fixed modification times and modes, so that equal contents produce an equal zip."""
    for one in [path, *path.rglob("*")]:
        one.chmod(0o755 if one.is_dir() else 0o644)
        os.utime(one, (_MODIFIED_AT, _MODIFIED_AT))
