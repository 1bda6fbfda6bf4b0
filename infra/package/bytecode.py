"""Compiles a staged project. The Python that the functions run on executes this file, because bytecode has its version.

    python3.13 -I bytecode.py < JOB

JOB is a JSON object: `replaced` lists directories whose sources bytecode replaces, `beside` lists pairs of a source and
the path at which it ships. The file imports the standard library only.
"""

import compileall
import json
import py_compile
import sys
from importlib.util import cache_from_source
from pathlib import Path

_UNCHECKED, _CHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH, py_compile.PycInvalidationMode.CHECKED_HASH


def main() -> None:
    """Do the job. If a source does not compile, print its error and exit with 1."""
    job = json.load(sys.stdin)
    for directory in job["replaced"]:
        _replace(Path(directory))
    for source, shipped_as in job["beside"]:
        _compile(Path(source), Path(shipped_as))


def _replace(directory: Path) -> None:
    # `legacy` puts the bytecode where the source was, so that Python imports it without a source, at any optimization.
    # Level 2 leaves out docstrings and assertions. Ours stay: the OpenAPI document has them.
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
        sys.exit(1)
    for source in list(directory.rglob("*.py")):
        source.unlink()


def _compile(source: Path, shipped_as: Path) -> None:
    """Compile a source that ships as `shipped_as`. Python compares the source's hash, so bytecode is never stale."""
    compiled = cache_from_source(str(shipped_as), optimization="")
    name = str(Path(*shipped_as.parts[-2:]))
    py_compile.compile(str(source), compiled, name, doraise=True, invalidation_mode=_CHECKED, optimize=0)


if __name__ == "__main__":
    main()
