"""Build the Python client: generate it from the OpenAPI document, and build its wheel and source distribution.

    python -m infra.client.build [DIRECTORY]

The build requires Python 3.11, but no network access. `clients/python` contains the hand-written modules. The
synchronous client is derived from the asynchronous client.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from app import app
from chalicelib.openapi import document
from infra.client import records
from infra.client.resources import Resources
from infra.client.schemas import Types
from infra.client.unasync import synchronous

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "clients" / "python"
_PACKAGE = "cams"
_DIRECTORY = ROOT / "build" / "client"
# Records that only the hand-written modules use.
_USED_BY_HAND = {"CurrentConversation", "Issue", "Message", "ReachedLimit"}
_BUILD = "from setuptools import build_meta as backend; backend.build_sdist('dist'); print(backend.build_wheel('dist'))"
_RUFF = ("--isolated", "--no-cache", "--no-respect-gitignore", "--target-version", "py311", "--line-length", "120")
# 1980-01-01, the earliest timestamp that a zip file can store. A fixed timestamp makes builds reproducible.
_MODIFIED_AT = "315619200"


def main() -> None:
    """Build into the directory from the command line, and print the wheel's path and size."""
    if sys.version_info < (3, 11):
        sys.exit("The Python client is generated with Python 3.11 or newer.")
    wheel = build(Path(sys.argv[1]) if len(sys.argv) > 1 else _DIRECTORY)
    print(f"{wheel} ({wheel.stat().st_size:,} bytes)")


def build(directory: Path) -> Path:
    """Replace `directory` with a new build. Return the wheel's path in the `dist` folder."""
    shutil.rmtree(directory, ignore_errors=True)
    package = directory / _PACKAGE
    generate(package)
    _run(directory, "ruff", "check", *_RUFF, "--select", "F401,I", "--fix", _PACKAGE)
    _run(directory, "ruff", "format", *_RUFF, _PACKAGE)
    for file in (SOURCE / "pyproject.toml", ROOT / "LICENSE"):
        shutil.copy(file, directory)
    shutil.copy(ROOT / "docs" / "python-client.md", directory / "README.md")
    name = _run(directory, sys.executable, "-c", _BUILD).split()[-1]
    return directory / "dist" / name


def generate(package: Path) -> None:
    """Write the package to a new folder."""
    described = document.build(app.routes)
    types, resources = Types(described), Resources(described)
    shutil.copytree(SOURCE / _PACKAGE, package)
    texts = {"_async/resources.py": resources.text()}
    texts["models.py"] = records.models(types, resources.records | resources.bodies | _USED_BY_HAND, described)
    texts["params.py"] = records.params(types, resources.bodies)
    texts["events.py"] = records.events(types, described)
    texts["errors.py"] = records.errors(described)
    texts["version.py"] = f'"""The version."""\n\n__version__ = "{described["info"]["version"]}"\n'
    for name, text in texts.items():
        (package / name).write_text(text, encoding="utf-8")
    (package / "_sync").mkdir()
    for file in (package / "_async").glob("*.py"):
        text = synchronous(file.read_text(encoding="utf-8"))
        (package / "_sync" / file.name).write_text(text, encoding="utf-8")


def _run(directory: Path, *command: str) -> str:
    """Run a command in this directory and return its output. Raise ClickException if it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "SOURCE_DATE_EPOCH": _MODIFIED_AT}
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\n{command[0]} failed; see the lines above for the reason.")
    return done.stdout


if __name__ == "__main__":
    main()
