"""Runs tests in copies of the tree without some extensions: `make test-extensions`.

    python -m tests.extension_trees [--only NAME | --without NAME] [--all-tests] [--rehearse] [PYTEST OPTIONS]

It tests these copies, two at a time: one without extensions, which `.ci/run` also tests, and one for each extension. In
each copy, it runs the quick tests that depend on extensions: comparisons of parts of the tree, core's hooks, and the
extension's tests.

`--all-tests` runs all other quick tests in each copy. `--without NAME` removes only one extension and runs all tests;
`--without each` makes such a copy for each extension. `--rehearse` deploys each copy in the emulated account of
`make rehearse`. These options take several minutes per copy. Use them before a release.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from chalicelib.extensions import present

_ROOT = Path(__file__).resolve().parent.parent
_FOLDER = Path("chalicelib/extensions")
_ENVIRONMENTS = (".venv", ".venv-engine", ".uv")
_NONE, _EACH = "none", "each"
# Tests of the operations, the OpenAPI document and the functions.
_PARTS = (
    "tests/openapi/test_document.py",
    "tests/contract/test_operations.py",
    "tests/contract/test_routes.py",
    "tests/deployment/test_extension_parts.py",
    "tests/deployment/test_functions.py",
)
# Tests of members, permissions, the template, imports, tables, rows, deletions, costs and operator checks, to which
# extensions contribute. They take too long for each extension: permissions and the template alone take half of a copy's
# time.
_CORE = (
    *_PARTS,
    "tests/openapi/test_examples.py",
    "tests/contract",
    "tests/deployment/test_monitoring.py",
    "tests/deployment/test_rights.py",
    "tests/deployment/test_template.py",
    "tests/test_structure.py",
    "tests/test_template.py",
    "tests/test_readme_tables.py",
    "tests/test_requests_per_operation.py",
    "tests/deletion",
    "tests/storage/test_stored_rows.py",
    "tests/workspaces/test_rows.py",
    "tests/deployment/test_verify.py",
    "tests/deployment/test_verify_functions.py",
    "tests/deployment/test_verify_resources.py",
)
# Extension -> its test paths: the whole directory, unless it takes longer than half a minute.
_OWN = {
    "console": tuple(
        f"tests/extensions/console/test_{name}.py" for name in ("agents", "conversations", "links", "rights")
    )
}
GATE = (*_CORE, *(path for paths in _OWN.values() for path in paths))
"""The tests that the gate runs in addition to the extensions' directories."""
_AT_A_TIME = 2


class _Tree(NamedTuple):
    """A copy of the tree with its name, its extensions, and the tests that the gate runs in it."""

    name: str
    extensions: frozenset[str]
    tests: tuple[str, ...]


def main() -> None:
    """Run the tests in each copy. Exit with status 1 if a test fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=(_NONE, *present()), help="test one copy with only this extension")
    parser.add_argument("--without", choices=(_EACH, *present()), help="test one copy without this extension")
    parser.add_argument("--all-tests", action="store_true", help="also run all other quick tests")
    parser.add_argument("--rehearse", action="store_true", help="also deploy each copy in an emulated account")
    arguments, options = parser.parse_known_args()
    if arguments.without or arguments.all_tests or arguments.rehearse:
        trees = [*(_without(arguments.without) if arguments.without else _gate(arguments.only))]
        failed = [tree.name for tree in trees if not _passes_all(tree, options, rehearse=arguments.rehearse)]
    else:
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            trees = [*_gate(arguments.only)]
            passed = pool.map(lambda tree: _passes(tree, options), trees)
            failed = [tree.name for tree, has_passed in zip(trees, passed, strict=True) if not has_passed]
    if failed:
        sys.exit(f"Failed in these copies: {', '.join(failed)}.")


def _gate(only: str | None) -> Iterator[_Tree]:
    """Yield the gate's copies, slowest first."""
    for name in [only] if only else [_NONE, *present()]:
        if name == _NONE:
            yield _Tree(name, frozenset(), _CORE)
        else:
            yield _Tree(f"{name} alone", frozenset({name}), (*_PARTS, *_OWN.get(name, (f"tests/extensions/{name}",))))


def _without(chosen: str) -> Iterator[_Tree]:
    for name in present() if chosen == _EACH else [chosen]:
        yield _Tree(f"without {name}", frozenset(present()) - {name}, ())


def _passes(tree: _Tree, options: list[str]) -> bool:
    """Run the gate's tests in one process, so that two copies use two processors. Print the output at the end."""
    with _copied(tree) as directory:
        return _run(f"{tree.name}: tests", directory, "pytest", "-n", "0", *_QUICK, *tree.tests, *options, capture=True)


def _passes_all(tree: _Tree, options: list[str], *, rehearse: bool) -> bool:
    with _copied(tree) as directory:
        tests = ("pytest", "-n", "2", "--dist", "loadscope", *_QUICK)
        passed = _run(f"{tree.name}: tests", directory, *tests, *options)
        return passed and (not rehearse or _run(f"{tree.name}: rehearsal", directory, "tests.deployment.rehearse"))


_QUICK = ("-q", "-m", "not whole and not long")


def _run(what: str, tree: Path, *module: str, capture: bool = False) -> bool:
    started = time.monotonic()
    output = subprocess.PIPE if capture else None
    done = subprocess.run(
        [sys.executable, "-m", *module], cwd=tree, stdout=output, stderr=subprocess.STDOUT, text=True, check=False
    )
    result = f"{what} {'failed' if done.returncode else 'passed'} after {time.monotonic() - started:.0f} s"
    click.echo(f"{done.stdout or ''}{result}")
    return done.returncode == 0


@contextmanager
def _copied(tree: _Tree) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cams-extensions-") as directory:
        _copy(Path(directory), tree.extensions)
        yield Path(directory)


def _copy(tree: Path, extensions: frozenset[str]) -> None:
    """Copy the files that Git tracks, without the directories of other extensions."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, check=True, capture_output=True, text=True).stdout
    for path in map(Path, filter(None, listed.split("\0"))):
        in_folder = path.is_relative_to(_FOLDER) and len(path.relative_to(_FOLDER).parts) > 1
        if (_ROOT / path).exists() and not (in_folder and path.relative_to(_FOLDER).parts[0] not in extensions):
            # Python and pytest use the copied bytecode, because `copy2` keeps the modification times of the sources.
            for file in (path, *_bytecode(path)):
                (tree / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(_ROOT / file, tree / file)
    # Create a Git repository, because some tests list the files that Git tracks. Git need not store their contents.
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    subprocess.run(["git", "add", "--all", "--intent-to-add"], cwd=tree, check=True)
    # The patterns in .gitignore match directories but not symbolic links.
    (tree / ".git" / "info" / "exclude").write_text("\n".join(_ENVIRONMENTS), encoding="utf-8")
    for environment in _ENVIRONMENTS:
        if (_ROOT / environment).exists():
            (tree / environment).symlink_to(_ROOT / environment)


def _bytecode(path: Path) -> Iterator[Path]:
    """Yield the paths of a module's bytecode, which exists if a run in this tree has imported the module."""
    for file in (_ROOT / path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        yield file.relative_to(_ROOT)


if __name__ == "__main__":
    main()
