"""Compiles regular expressions, so that the functions compile none while they start: 12 % of a cold start.

    python3.13 -I expressions.py < LIST > MODULE

LIST is a Python list of patterns with their flags. MODULE adds the compiled expressions to the cache of `re`. The
Python that the functions run on executes this file, because the compiled form has a version. With another version,
MODULE does nothing, and `re` compiles each expression as usual. The file imports the standard library only.
"""

import _sre  # type: ignore[import-not-found]
import ast
import re
import sys
from typing import Any


def main() -> None:
    """Print the module."""
    create = _sre.compile
    arguments: list[Any] = []

    def record(pattern: Any, flags: int, code: list[int], *groups: Any) -> Any:
        arguments[:] = pattern, flags, [int(one) for one in code], *groups
        return create(pattern, flags, code, *groups)

    _sre.compile = record
    print(f"import _sre\nimport re\ntry:\n  if _sre.MAGIC == {_sre.MAGIC} and hasattr(re, '_cache'):")
    for pattern, flags in ast.literal_eval(sys.stdin.read()):
        re.purge()
        re.compile(pattern, flags)
        print(f"    re._cache[{type(pattern).__name__}, {pattern!r}, {flags}] = _sre.compile{(*arguments,)!r}")
    print("except Exception:  # the compiled form has changed without a new version\n  re.purge()")


if __name__ == "__main__":
    main()
