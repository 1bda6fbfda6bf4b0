"""The placeholders in saved replies, such as `{visitor}`. The module performs no I/O."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

NAMES = ("visitor", "agent", "me")
"""The placeholders: the visitor's name, the agent's title and the name of the person who replies."""
_NAME = "|".join(NAMES)
_FILLED = re.compile(rf"\{{({_NAME})\}}")
# A placeholder without a value at the beginning of a line, with the following comma and letter, and elsewhere.
_LEADING = r"^[ \t]*\{{{name}\}}[,:;]?[ \t]*(\w?)"
_INNER = r"(?<![ \t])[ \t]*\{{{name}\}}"  # a match begins before all spaces, so that each space is examined once
_WORD = re.compile(r"\{\w[\w .-]{0,29}\}")
_MAX_UNKNOWN = 3


def fill(text: str, values: dict[str, str]) -> str:
    """Return a text with the values of its placeholders, by name. Other words in braces are kept.

    A placeholder without a value is left out, with the space before it. "Hello {visitor}," becomes "Hello,".
    """
    for name in NAMES:
        if not values[name]:
            text = re.sub(_LEADING.format(name=name), lambda match: match[1].upper(), text, flags=re.MULTILINE)
            text = re.sub(_INNER.format(name=name), "", text)
    return _FILLED.sub(lambda match: values[match[1]], text)


def unknown(texts: Iterable[str]) -> list[str]:
    """Return the first different words in braces that are no placeholders, at most three."""
    return [*islice(dict.fromkeys(_unknown(texts)), _MAX_UNKNOWN)]


def _unknown(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (word for word in _WORD.findall(text) if not _FILLED.fullmatch(word))
