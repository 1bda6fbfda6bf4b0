"""Converts docstrings into texts for readers who have neither the specification nor the code."""

import inspect
import re
from typing import Any

_SECTION = re.compile(r"\s*\(§[^)]*\)")
_STOP = re.compile(r"[.:;] ")


def without_sections(docstring: str) -> str:
    """Return a docstring without section numbers (`§`)."""
    return _SECTION.sub("", inspect.cleandoc(docstring))


def summary_and_description(view: Any) -> tuple[str, str]:
    """Return a view's summary as plain text, and the rest of its docstring as Markdown.

    The summary is the first line up to the first full stop, colon or semicolon.
    """
    first, _, rest = without_sections(view.__doc__ or "").partition("\n")
    summary, _, clause = _STOP.sub("\n", first, count=1).partition("\n")
    paragraphs = (clause[:1].upper() + clause[1:], rest.strip())
    return summary.rstrip(".").replace("`", ""), "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
