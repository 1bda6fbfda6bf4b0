"""Compile a staged project. The functions' Python version executes this file, because bytecode depends on the version.

    python3.13 -I bytecode.py < JOB

JOB is a JSON object: `replaced` lists directories whose sources are replaced with bytecode; `beside` lists pairs of a
source and its shipped path. This file imports only the standard library.
"""

import compileall
import json
import py_compile
import sys
from importlib.util import cache_from_source
from pathlib import Path

_UNCHECKED, _CHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH, py_compile.PycInvalidationMode.CHECKED_HASH


def main() -> None:
    """Execute the job. If a source does not compile, print the error and exit with status 1."""
    job = json.load(sys.stdin)
    for directory in job["replaced"]:
        _replace(Path(directory))
    for source, shipped_as in job["beside"]:
        _compile(Path(source), Path(shipped_as))


def _replace(directory: Path) -> None:
    # `legacy` writes the bytecode to the source's location, so that Python imports it without the source, at any
    # optimization level. Level 2 removes docstrings and assertions. CAMS's own docstrings are kept, because the OpenAPI
    # document contains them.
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
