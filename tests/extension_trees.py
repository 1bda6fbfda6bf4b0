"""Runs tests in copies of the tree without extension folders: `make test-extensions`.

    python -m tests.extension_trees [--only NAME | --without NAME] [--rehearse] [PYTEST OPTIONS]

The gate runs five copies. One has no extension and passes the quick tests of core. Each other one has one extension,
whose tests pass there, as do those that compare the parts of the tree with each other.

`--without NAME` removes one folder only, and `--without each` makes such a copy for each extension: all remaining quick
tests pass in it. With `--rehearse`, each copy is also deployed in the emulated account of `make rehearse`.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from chalicelib.extensions import present

_ROOT = Path(__file__).resolve().parent.parent
_FOLDER = Path("chalicelib/extensions")
_ENVIRONMENTS = (".venv", ".venv-engine", ".uv")
_NONE, _EACH = "none", "each"
# Layers, operations, the document, functions with their permissions, and the template.
_WHOLE_TREE = (
    "tests/test_structure.py",
    "tests/openapi/test_document.py",
    "tests/contract",
    "tests/deployment/test_extension_parts.py",
    "tests/deployment/test_functions.py",
    "tests/deployment/test_monitoring.py",
    "tests/deployment/test_rights.py",
    "tests/deployment/test_template.py",
)


class _Tree(NamedTuple):
    """A copy of the tree: its name, its extensions, and the tests to run in it, by default all quick ones."""

    name: str
    extensions: frozenset[str]
    tests: tuple[str, ...] = ()


def main() -> None:
    """Run the tests of each copy; exit with 1 if some fail."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=(_NONE, *present()), help="one copy: the extension in it")
    parser.add_argument("--without", choices=(_EACH, *present()), help="one copy: the only extension that it lacks")
    parser.add_argument("--rehearse", action="store_true", help="also deploy each copy in an emulated account")
    arguments, options = parser.parse_known_args()
    trees = list(_without(arguments.without) if arguments.without else _gate(arguments.only))
    failed = [tree.name for tree in trees if not _passes(tree, options, rehearse=arguments.rehearse)]
    if failed:
        sys.exit(f"Failed in these copies: {', '.join(failed)}.")


def _gate(only: str | None) -> Iterator[_Tree]:
    for name in [only] if only else [_NONE, *present()]:
        if name == _NONE:
            yield _Tree(name, frozenset())
        else:
            yield _Tree(f"{name} alone", frozenset({name}), (*_WHOLE_TREE, f"tests/extensions/{name}"))


def _without(chosen: str) -> Iterator[_Tree]:
    for name in present() if chosen == _EACH else [chosen]:
        yield _Tree(f"without {name}", frozenset(present()) - {name})


def _passes(tree: _Tree, options: list[str], *, rehearse: bool) -> bool:
    with tempfile.TemporaryDirectory(prefix="cams-extensions-") as directory:
        _copy(Path(directory), tree.extensions)
        tests = ["pytest", "-q", "-n", "2", "--dist", "loadscope", "-m", "not whole and not long", *tree.tests]
        passed = _run(f"{tree.name}: tests", Path(directory), *tests, *options)
        return passed and (not rehearse or _run(f"{tree.name}: rehearsal", Path(directory), _REHEARSAL))


_REHEARSAL = "tests.deployment.rehearse"


def _run(what: str, tree: Path, *module: str) -> bool:
    started = time.monotonic()
    code = subprocess.run([sys.executable, "-m", *module], cwd=tree, check=False).returncode
    click.echo(f"{what} {'failed' if code else 'passed'} after {time.monotonic() - started:.0f} s")
    return code == 0


def _copy(tree: Path, extensions: frozenset[str]) -> None:
    """Copy the files that Git knows, without the folders of other extensions."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, check=True, capture_output=True, text=True).stdout
    for path in map(Path, filter(None, listed.split("\0"))):
        in_folder = path.is_relative_to(_FOLDER) and len(path.relative_to(_FOLDER).parts) > 1
        if (_ROOT / path).exists() and not (in_folder and path.relative_to(_FOLDER).parts[0] not in extensions):
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(_ROOT / path, tree / path)
            shutil.copymode(_ROOT / path, tree / path)
    # Some tests read what Git knows.
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tree, check=True)
    for environment in _ENVIRONMENTS:
        if (_ROOT / environment).exists():
            (tree / environment).symlink_to(_ROOT / environment)


if __name__ == "__main__":
    main()
