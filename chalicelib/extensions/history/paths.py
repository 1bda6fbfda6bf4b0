"""The members in which two documents differ. Pure."""

from collections.abc import Iterator
from typing import Any

from chalicelib.storage import Document, json_equal

# The service sets these with each change.
_TIMES = frozenset({"lastModified", "updatedAt"})
_MAX_BYTES = 8_000  # the bytes of a list of paths
_MAX_PATH = 200  # the bytes of a path


def list_changed(before: Document, after: Document) -> list[str]:
    """Return the sorted paths of the members that differ, such as `nodes.2.instructions`.

    A list with another length is one member. If all paths have more than 8,000 bytes, return only the outermost
    members, as many as fit.
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
    """Return the path of a member. A path that will be cut does not grow, since a long name may have many members."""
    if len(path) >= _MAX_PATH:
        return path
    return f"{path}.{name}" if path else name


def _truncate(path: str) -> str:
    return path.encode()[:_MAX_PATH].decode(errors="ignore")


def _size(paths: list[str]) -> int:
    return sum(len(path.encode()) for path in paths)
