"""Shows where a text matches a search. The module performs no I/O."""

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

_MAX_SNIPPET = 300  # characters
_MAX_BEFORE = 20  # characters before the match, so that the first two short lines of a narrow list contain it


def snippet(text: str, query: str) -> str:
    """Return up to 300 characters of a text on one line, which begin shortly before the first match of the query.

    Without a match, they begin at the text's beginning.
    """
    match = _pattern(query).search(text) if query.strip() else None
    start = max(0, match.start() - _MAX_BEFORE) if match else 0
    if match and start:
        start = text.find(" ", start, match.start()) + 1 or start  # begin with a whole word
    end = start + _MAX_SNIPPET
    words = " ".join(text[start:end].split())
    gap = "" if text[start - 1 : start].strip() else " "  # a part of a word follows on the same line
    return f"{f'…{gap}' if start else ''}{words}{' …' if end < len(text) else ''}"


def matches(text: str, query: str) -> bool:
    """Return whether a text matches the query. An empty query has no matches."""
    return bool(query.strip() and _pattern(query).search(text))


def marked(text: str, query: str, most: int | None = None) -> "Markup":
    """Return a text as HTML, in which the first `most` matches are marked, or all. All characters are escaped."""
    from markupsafe import Markup, escape

    if not query.strip():
        return escape(text)
    parts, start = [], 0
    for match in islice(_pattern(query).finditer(text), most):
        parts += [escape(text[start : match.start()]), "<mark>", escape(match[0]), "</mark>"]
        start = match.end()
    return Markup("".join((*parts, escape(text[start:]))))  # noqa: S704  # every part is escaped


def _pattern(query: str) -> re.Pattern[str]:
    """Return a pattern for the query, ignoring case. A space also matches a line break."""
    return re.compile(r"\s+".join(map(re.escape, query.split())), re.IGNORECASE)
