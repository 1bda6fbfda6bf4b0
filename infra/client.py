"""Build the Python client: generate it from the OpenAPI document, and build its wheel and source distribution.

    python -m infra.client [DIRECTORY]

The build requires Python 3.11, but no network access. `clients/python` contains the hand-written modules and the
generator's templates.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from app import app
from chalicelib.openapi import document

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "clients" / "python"
_PACKAGE = "cams_client"
_DIRECTORY = ROOT / "build" / "client"
_BUILD = "from setuptools import build_meta as backend; backend.build_sdist('dist'); print(backend.build_wheel('dist'))"
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
    directory.mkdir(parents=True)
    described = document.build(app.routes)
    _generate(described, directory)
    # These files replace the generated client and errors.
    shutil.copytree(SOURCE / _PACKAGE, directory / _PACKAGE, dirs_exist_ok=True)
    _write_generated_modules(described, directory / _PACKAGE)
    for file in (SOURCE / "pyproject.toml", ROOT / "LICENSE"):
        shutil.copy(file, directory)
    shutil.copy(ROOT / "docs" / "python-client.md", directory / "README.md")
    name = _run(directory, sys.executable, "-c", _BUILD).split()[-1]
    return directory / "dist" / name


def _generate(described: dict[str, Any], directory: Path) -> None:
    """Generate operations that return only successful responses; the client raises errors for all others."""
    successes = json.loads(json.dumps(described))
    for path in successes["paths"].values():
        for operation in path.values():
            answers = operation["responses"]
            operation["responses"] = {status: answers[status] for status in answers if status.startswith("2")}
    file = directory / "openapi.json"
    file.write_text(json.dumps(successes), encoding="utf-8")
    _run(
        directory,
        *("openapi-python-client", "generate", "--fail-on-warning", "--meta", "none", "--path", str(file)),
        *("--output-path", _PACKAGE, "--config", str(SOURCE / "generator.yaml")),
        *("--custom-template-path", str(SOURCE / "templates")),
    )
    file.unlink()


def _write_generated_modules(described: dict[str, Any], package: Path) -> None:
    """Write the version, and an exception class for each error code."""
    version = described["info"]["version"]
    (package / "version.py").write_text(f'"""The version."""\n\n__version__ = "{version}"\n', encoding="utf-8")
    codes = described["components"]["schemas"]["Error"]["properties"]["code"]["examples"]
    names = {code: "".join(word.capitalize() for word in code.split("_")) for code in codes}
    lines = ['"""The service errors, keyed by the `code` in their envelope."""', "", "from .api_error import ApiError"]
    for code, name in names.items():
        lines += ["", "", f"class {name}(ApiError):", f'    """The error with the code `{code}`."""']
    lines += ["", "", "BY_CODE: dict[str, type[ApiError]] = {"]
    lines += [*(f'    "{code}": {name},' for code, name in names.items()), "}", ""]
    (package / "errors.py").write_text("\n".join(lines), encoding="utf-8")


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
