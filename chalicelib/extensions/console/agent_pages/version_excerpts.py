"""Summarises changes in a list: the first change of up to four members, before and after."""

from collections.abc import Iterable, Mapping
from itertools import groupby, islice, pairwise, takewhile
from typing import Any, NamedTuple

from chalicelib import extensions
from chalicelib.extensions.console.agent_pages import record_differences
from chalicelib.extensions.console.presentation import template_filters
from chalicelib.extensions.console.presentation.differences import Difference
from chalicelib.extensions.console.presentation.member_names import member_name
from chalicelib.extensions.console.presentation.rendering import Texts
from chalicelib.storage import Document

_VERSIONS: Any = extensions.service("versions")
MAX_VERSIONS = 20
"""The maximum number of versions with excerpts on a page. Reading them costs one request per MB."""
MAX_RECORDS, MAX_CHANGES = 10, 5
"""The maximum number of records with excerpts on a page of the audit log, and of such changes to each record."""
_MAX_MEMBERS, _MAX_TEXT = 3, 90
_PROMPT = "vg_systemPrompt"
ChangedPaths = Mapping[int, list[str]]
"""The paths of the members that each version changed, by the version's number."""
_Version = tuple[int, Document]
# The number of equal characters before a change that an excerpt keeps, if the lines begin with more of them.
_KEPT = 24


class Excerpts(NamedTuple):
    """A version's first changes, each with at most one removed and one added line, and the number of other changes."""

    changes: list[Difference]
    others: int


def read(kind: str, record_id: str, changed: ChangedPaths, t: Texts) -> dict[int, Excerpts]:
    """Return the excerpts of listed versions by number. Omit versions whose predecessor is not stored or not listed.

    `changed` contains the listed versions, newest first.
    """
    if not changed:
        return {}
    neighbours = {*pairwise(changed)}
    stored = pairwise(_VERSIONS(kind, record_id, next(iter(changed)), MAX_VERSIONS + 1))
    return _compare(kind, (pair for pair in stored if (pair[0][0], pair[1][0]) in neighbours), changed, t)


def of_changes(changed: Mapping[str, ChangedPaths], t: Texts) -> dict[str, dict[int, Excerpts]]:
    """Return the excerpts of changes to agents and tools, by record and number.

    `changed` contains the changes to each record, such as `agents/support`, newest first. The first 10 records have
    excerpts, each of the newest 5 changes. This costs one request per record and MB.
    """
    excerpts = {}
    for record, listed in islice(changed.items(), MAX_RECORDS):
        kind, record_id = record.split("/", 1)
        # Filters may leave out the change before a listed one, so every stored version has an excerpt.
        stored = _VERSIONS(kind, record_id, next(iter(listed)), MAX_CHANGES + 1)
        excerpts[record] = _compare(kind, pairwise(stored), listed, t)
    return excerpts


def _compare(
    kind: str, pairs: Iterable[tuple[_Version, _Version]], changed: ChangedPaths, t: Texts
) -> dict[int, Excerpts]:
    """Return the excerpts of the newer version of each pair, by number. Omit versions without a change."""
    excerpts = {}
    for (number, after), (_, before) in pairs:
        visible = record_differences.between(kind, before, after, t)
        if changes := record_differences.with_hidden(kind, visible, changed.get(number, ()), t):
            listed = [change._replace(lines=_excerpt(change)) for change in changes]
            listed.sort(key=lambda change: _place(change, t))
            shown = len(listed) if len(listed) == _MAX_MEMBERS + 1 else _MAX_MEMBERS  # a single other takes its line
            excerpts[number] = Excerpts(listed[:shown], max(len(listed) - shown, 0))
    return excerpts


def _place(change: Difference, t: Texts) -> tuple[bool, bool, bool]:
    """Return the place of a change: the prompt first, and members without a label or an excerpt last."""
    return change.path != _PROMPT, not member_name(change.path, t).label, not change.lines


def _excerpt(change: Difference) -> tuple[str, ...]:
    """Return the first changed lines that contain a word, before and after, as one line each around their difference.

    A text may be split into lines without another change, so the lines are joined. An object as JSON has no excerpt.
    """
    if change.is_json:
        return ()
    parts = ([*group] for is_changed, group in groupby(change.lines, lambda line: line[0] in "-+") if is_changed)
    changed = next((part for part in parts if any(map(str.isalnum, "".join(part)))), [])
    first = [" ".join(line[1:].strip() for line in changed if line[0] == sign) for sign in "-+"]
    start = _start(*first) if all(first) else 0
    texts = [template_filters.truncate(f"{'… ' if start else ''}{text[start:]}", _MAX_TEXT) for text in first]
    return tuple(f"{sign}{text}" for sign, text in zip("-+", texts, strict=True) if text)


def _start(before: str, after: str) -> int:
    """Return the position of the word from which two lines are shown: at most 24 characters before they differ."""
    equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    return max(before.find(" ", max(equal - _KEPT, 0), equal) + 1, 0) if equal > _KEPT else 0
