"""Compares two documents member by member. The module performs no I/O."""

import difflib
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from chalicelib import storage
from chalicelib.extensions.console.presentation import template_filters

_MISSING = object()
# The deepest level at which members are compared individually. Deeper objects are compared as a whole.
_MAX_LEVELS = 8
# The maximum characters in a path and in each text, and the maximum size of all differences as HTML, in bytes.
_MAX_PATH, _MAX_TEXT, _MAX_BYTES = 500, 10_000, 150_000
_ROW_BYTES, _LINE_BYTES = 200, 15  # the HTML tags around a difference and a line
# The maximum lines of texts that are compared by lines, and the number of unchanged lines around a change.
_MAX_LINES, _CONTEXT = 200, 2

# The lines of an object or list as JSON that contain no value.
_BRACKETS = frozenset(("[", "{", "]", "}", "],", "},"))
_FROM_START = ("@@ -0", "@@ -1,", "@@ -1 ")  # the headers of changes before which no lines are left out


class Difference(NamedTuple):
    """A member's dotted path, and its changed lines with their surroundings.

    Each line begins with `-`, `+` or a space. The line `…` replaces unchanged lines. The values of a flag are true,
    false or missing. `is_json` is true if the lines contain an object or a list as JSON.
    """

    path: str
    lines: tuple[str, ...]
    is_flag: bool
    is_json: bool


class Differences(list[Difference]):
    """The members that differ. `has_more` is true if further members differ."""

    has_more = False

    def without(self, path: str) -> "Differences":
        """Return these differences without a member."""
        others = Differences(one for one in self if one.path != path)
        others.has_more = self.has_more
        return others


def between(before: Any, after: Any, ignored: frozenset[str] = frozenset()) -> Differences:
    """Return up to 150 KB of differing members, sorted by path, without the top-level members in `ignored`."""
    old = {name: value for name, value in before.items() if name not in ignored}
    new = {name: value for name, value in after.items() if name not in ignored}
    differences, left = Differences(), _MAX_BYTES
    for path, *values in _compare("", old, new, _MAX_LEVELS):
        entry = _difference(path, values)
        left -= _ROW_BYTES + len(entry.lines) * _LINE_BYTES
        left -= sum(map(template_filters.size, (entry.path, *entry.lines)))
        if differences and left < 0:
            differences.has_more = True
            break
        differences.append(entry)
    return differences


def _difference(path: str, values: list[Any]) -> Difference:
    lines = _changed_lines(*map(_text, values))
    is_flag = all(value is _MISSING or isinstance(value, bool) for value in values)
    is_json = any(map(_is_json, values)) and any(line[1:].strip() in _BRACKETS for line in lines)
    return Difference(template_filters.truncate(path, _MAX_PATH), lines, is_flag, is_json)


def _compare(path: str, before: Any, after: Any, levels: int) -> Iterator[tuple[str, Any, Any]]:
    # If only one document has an object, its members are compared individually, too.
    if before is _MISSING and after and isinstance(after, dict):
        before = {}
    elif after is _MISSING and before and isinstance(before, dict):
        after = {}
    if levels and isinstance(before, list) and isinstance(after, list):
        by_ids = _by_id(before), _by_id(after)
        yield from _order(path, *by_ids)
        before, after = (before, after) if None in by_ids else by_ids
    if levels and isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            below = f"{path}.{name}" if path else name
            yield from _compare(below, before.get(name, _MISSING), after.get(name, _MISSING), levels - 1)
    elif not storage.json_equal(_known(before), _known(after)):
        yield path, before, after


def common_order(before: Collection[str], after: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the names that both contain, in the order of each."""
    return [name for name in before if name in after], [name for name in after if name in before]


def _order(path: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> Iterator[tuple[str, Any, Any]]:
    """Yield the ids that two lists have in common if their order differs."""
    old, new = common_order(before or {}, after or {})
    if old != new:
        yield path, old, new


def _changed_lines(before: str, after: str) -> tuple[str, ...]:
    """Return the lines that differ in two texts. If either is very long, return all its lines."""
    old, new = (text.split("\n") if text else [] for text in (before, after))
    if max(len(old), len(new)) > _MAX_LINES:
        return (*(f"-{line}" for line in old), *(f"+{line}" for line in new))
    lines = [*difflib.unified_diff(old, new, n=_CONTEXT, lineterm="")][2:]  # without the names of the texts
    if lines and lines[0].startswith(_FROM_START):
        del lines[0]
    return tuple("…" if line.startswith("@@") else line for line in lines)


def _by_id(entries: list[Any]) -> dict[str, Any] | None:
    """Return list entries by id, or None unless every entry has a unique id."""
    by_id = {entry["id"]: entry for entry in entries if _has_id(entry)}
    return by_id if len(by_id) == len(entries) else None


def _has_id(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("id"), str)


def _known(value: Any) -> dict[str, Any]:
    return {} if value is _MISSING else {"value": value}


def _is_json(value: Any) -> bool:
    """Return whether the lines of a value are JSON, and not a text or a list of texts."""
    if isinstance(value, list):
        return not all(isinstance(text, str) and "\n" not in text for text in value)
    return isinstance(value, dict)


def _text(value: Any) -> str:
    if value is _MISSING:
        return ""
    if isinstance(value, list) and not _is_json(value):
        value = "\n".join(value)
    if isinstance(value, str):
        return template_filters.truncate(value, _MAX_TEXT)
    return template_filters.indented_json(value, _MAX_TEXT)
