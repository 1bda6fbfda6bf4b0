"""Runs tests in copies of the tree without extension folders: `make test-extensions`.

    python -m tests.extension_trees [--only NAME] [PYTEST OPTIONS]

One copy has no extension and passes the quick tests of core. Each other copy has one extension, whose tests pass there,
as do those that compare the parts of the tree with each other.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from chalicelib.extensions import present

_ROOT = Path(__file__).resolve().parent.parent
_FOLDER = Path("chalicelib/extensions")
_ENVIRONMENTS = (".venv", ".venv-engine")
_NONE = "none"
# Layers, operations, the document, functions with their permissions, and the template.
_WHOLE_TREE = (
    "tests/test_structure.py",
    "tests/test_openapi.py",
    "tests/contract",
    "tests/deployment/test_extension_parts.py",
    "tests/deployment/test_functions.py",
    "tests/deployment/test_monitoring.py",
    "tests/deployment/test_rights.py",
    "tests/deployment/test_template.py",
)


def main() -> None:
    """Run the tests of each copy; exit with 1 if some fail."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=(_NONE, *present()), help="one copy: the extension in it")
    arguments, options = parser.parse_known_args()
    names = [arguments.only] if arguments.only else [_NONE, *present()]
    failed = [name for name in names if not _passes(name, options)]
    if failed:
        sys.exit(f"The tests fail in the tree with {', '.join(failed)}.")


def _passes(name: str, options: list[str]) -> bool:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"cams-{name}-") as directory:
        tree = Path(directory)
        _copy(tree, name)
        tests = [] if name == _NONE else [*_WHOLE_TREE, f"tests/extensions/{name}"]
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadscope"]
        command += ["-m", "not whole and not long", *tests, *options]
        done = subprocess.run(command, cwd=tree, check=False)
    click.echo(f"{name}: {time.monotonic() - started:.0f} s")
    return done.returncode == 0


def _copy(tree: Path, name: str) -> None:
    """Copy the files that Git knows, without the folders of other extensions."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, check=True, capture_output=True, text=True).stdout
    for path in map(Path, filter(None, listed.split("\0"))):
        is_other = path.is_relative_to(_FOLDER) and len(path.relative_to(_FOLDER).parts) > 1
        if (_ROOT / path).exists() and not (is_other and path.relative_to(_FOLDER).parts[0] != name):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(_ROOT / path, tree / path)
            shutil.copymode(_ROOT / path, tree / path)
    for environment in _ENVIRONMENTS:
        if (_ROOT / environment).exists():
            (tree / environment).symlink_to(_ROOT / environment)
    # Some tests read what Git knows.
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tree, check=True)


if __name__ == "__main__":
    main()
