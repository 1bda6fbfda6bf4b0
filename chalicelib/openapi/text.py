"""Words of the code in the words of the document: its readers have neither the specification nor our code."""

import inspect
import re
from typing import Any

_SECTION = re.compile(r"\s*\(§[^)]*\)")
_STOP = re.compile(r"[.:;] ")
_NAME_ALONE = re.compile(r"`[\w.]+`\.?")


def without_sections(docstring: str) -> str:
    """A docstring without section numbers; nothing of one that only repeats a name."""
    words = _SECTION.sub("", inspect.cleandoc(docstring))
    return "" if _NAME_ALONE.fullmatch(words) else words


def summary_and_description(view: Any) -> tuple[str, str]:
    """What a view does, as plain text, and what else its docstring says, as Markdown.

    The summary is the first line up to its first stop, colon or semicolon.
    """
    first, _, rest = without_sections(view.__doc__ or "").partition("\n")
    summary, _, clause = _STOP.sub("\n", first, count=1).partition("\n")
    paragraphs = (clause[:1].upper() + clause[1:], rest.strip())
    return summary.rstrip(".").replace("`", ""), "\n\n".join(one for one in paragraphs if one)
