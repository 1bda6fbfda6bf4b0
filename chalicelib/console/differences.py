"""What distinguishes two documents, member by member. Pure."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from chalicelib.console import shown

_MISSING = object()


class Difference(NamedTuple):
    """A member by its dotted path, and its text in both documents, None where it is missing."""

    path: str
    before: str | None
    after: str | None


def between(before: Any, after: Any, ignored: frozenset[str] = frozenset()) -> list[Difference]:
    """The members that differ, ordered by path, without the top-level members in `ignored`."""
    old = {name: value for name, value in before.items() if name not in ignored}
    new = {name: value for name, value in after.items() if name not in ignored}
    return [Difference(path, _text(one), _text(other)) for path, one, other in _compare("", old, new)]


def _compare(path: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    # The members of an object that is only on one side are compared, too.
    one, other = (
        {} if this is _MISSING and that and isinstance(that, dict) else this for this, that in _both(one, other)
    )
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            below = f"{path}.{name}" if path else name
            yield from _compare(below, one.get(name, _MISSING), other.get(name, _MISSING))
    elif isinstance(one, list) and isinstance(other, list) and (named := _by_id(one, other)):
        yield from _compare(path, *named)
    elif shown.folded(_known(one)) != shown.folded(_known(other)):
        yield path, one, other


def _by_id(one: list[Any], other: list[Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Both lists by the ids of their entries; None if not all entries have an id of their own."""
    found = tuple({entry["id"]: entry for entry in entries if _has_id(entry)} for entries in (one, other))
    return (found[0], found[1]) if len(found[0]) == len(one) and len(found[1]) == len(other) else None


def _has_id(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("id"), str)


def _both(one: Any, other: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    return (one, other), (other, one)


def _known(value: Any) -> Any:
    return ["missing"] if value is _MISSING else value


def _text(value: Any) -> str | None:
    if value is _MISSING:
        return None
    return value if isinstance(value, str) else shown.folded(value)
