"""Excludes the tests of extensions that are off from collection."""

from pathlib import Path

from chalicelib import extensions

collect_ignore = [
    path.parent.name for path in Path(__file__).parent.glob("*/__init__.py") if not extensions.has(path.parent.name)
]
