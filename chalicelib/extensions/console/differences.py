"""What distinguishes two documents, member by member. Pure."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from chalicelib import storage
from chalicelib.extensions.console import template_filters

_MISSING = object()
# What is below the deepest level is compared as one value.
_MAX_LEVELS = 8
# Of a path and of each text, and together, escaped. So a page has few hundred KB, whatever it compares.
_MAX_PATH, _MAX_TEXT, _MAX_BYTES = 500, 10_000, 150_000
_ROW_BYTES = 200  # the tags around it


class Difference(NamedTuple):
    """A member by its dotted path, and its text in both documents, None where it is missing."""

    path: str
    before: str | None
    after: str | None


class Differences(list[Difference]):
    """Members that differ; `has_more` if these are only the first."""

    has_more = False


def between(before: Any, after: Any, ignored: frozenset[str] = frozenset()) -> Differences:
    """The members that differ, ordered by path, without the top-level members in `ignored`: up to 150 KB of them."""
    old = {name: value for name, value in before.items() if name not in ignored}
    new = {name: value for name, value in after.items() if name not in ignored}
    found, left = Differences(), _MAX_BYTES
    for path, one, other in _compare("", old, new, _MAX_LEVELS):
        entry = Difference(template_filters.cut(path, _MAX_PATH), _text(one), _text(other))
        left -= _ROW_BYTES + sum(template_filters.size(text or "") for text in entry)
        if found and left < 0:
            found.has_more = True
            break
        found.append(entry)
    return found


def _compare(path: str, one: Any, other: Any, levels: int) -> Iterator[tuple[str, Any, Any]]:
    # The members of an object that is only on one side are compared, too.
    one, other = (
        {} if this is _MISSING and that and isinstance(that, dict) else this for this, that in _both(one, other)
    )
    if levels and isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            below = f"{path}.{name}" if path else name
            yield from _compare(below, one.get(name, _MISSING), other.get(name, _MISSING), levels - 1)
    elif levels and isinstance(one, list) and isinstance(other, list) and (named := _by_id(one, other)):
        yield from _compare(path, *named, levels)
    elif not storage.json_equal(_known(one), _known(other)):
        yield path, one, other


def _by_id(one: list[Any], other: list[Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Both lists by the ids of their entries; None if not all entries have an id of their own."""
    found = tuple({entry["id"]: entry for entry in entries if _has_id(entry)} for entries in (one, other))
    return (found[0], found[1]) if len(found[0]) == len(one) and len(found[1]) == len(other) else None


def _has_id(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("id"), str)


def _both(one: Any, other: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    return (one, other), (other, one)


def _known(value: Any) -> dict[str, Any]:
    return {} if value is _MISSING else {"value": value}


def _text(value: Any) -> str | None:
    if value is _MISSING:
        return None
    if isinstance(value, str):
        return template_filters.cut(value, _MAX_TEXT)
    return template_filters.folded(value, _MAX_TEXT)
