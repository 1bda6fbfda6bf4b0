"""Finds the members in which two documents differ. The module performs no I/O."""

from collections.abc import Iterator
from typing import Any

from chalicelib.storage import Document, json_equal

# The service sets these members on every change.
_TIMES = frozenset({"lastModified", "updatedAt"})
_MAX_BYTES = 8_000  # bytes per list of paths
_MAX_PATH = 200  # bytes per path


def list_changed(before: Document, after: Document) -> list[str]:
    """Return the sorted paths of the members that differ, such as `nodes.2.instructions`.

    If a list's length differs, return the list's own path instead of paths to its elements. If the paths exceed 8,000
    bytes in total, return only outermost members, and as few as fit.
    """
    paths = sorted({_truncate(path) for path in _differences(before, after) if path not in _TIMES})
    if _size(paths) <= _MAX_BYTES:
        return paths
    outermost = sorted({path.partition(".")[0] for path in paths})
    while _size(outermost) > _MAX_BYTES:
        del outermost[len(outermost) // 2 :]
    return outermost


def _differences(before: Document, after: Document) -> Iterator[str]:
    waiting: list[tuple[str, Any, Any]] = [("", before, after)]
    while waiting:
        path, old, new = waiting.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            names = old.keys() | new.keys()
            waiting += ((_join(path, name), old.get(name, _ABSENT), new.get(name, _ABSENT)) for name in names)
        elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            waiting += ((_join(path, str(index)), *pair) for index, pair in enumerate(zip(old, new, strict=True)))
        elif old is _ABSENT or new is _ABSENT or not json_equal({"": old}, {"": new}):
            yield path


_ABSENT = object()


def _join(path: str, name: str) -> str:
    """Return a member's path.

    Do not extend a path that will be truncated, because a member with a long name may have many members.
    """
    if len(path) >= _MAX_PATH:
        return path
    return f"{path}.{name}" if path else name


def _truncate(path: str) -> str:
    return path.encode()[:_MAX_PATH].decode(errors="ignore")


def _size(paths: list[str]) -> int:
    return sum(len(path.encode()) for path in paths)
