"""Splits JSON into the parts that a page colours: names, strings and other values."""

import re
from collections.abc import Iterator
from typing import NamedTuple

# A string may end with the text, so that a truncated one is matched once and not again from each quote in it.
_STRING = r'"(?:[^"\\]|\\.)*'
_PART = re.compile(
    rf'(?P<name>{_STRING}"(?=:))|(?P<string>{_STRING}(?:"|\\?$))|(?P<value>\b(?:true|false|null)\b|-?\d[\d.eE+-]*)'
)


class JsonPart(NamedTuple):
    """A part of a JSON text. Its kind is `name`, `string` or `value`, or empty for the text between these."""

    kind: str
    text: str


def json_parts(text: str) -> Iterator[JsonPart]:
    """Yield the parts of indented JSON, which may be truncated."""
    end = 0
    for match in _PART.finditer(text):
        yield JsonPart("", text[end : match.start()])
        yield JsonPart(match.lastgroup or "", match[0])
        end = match.end()
    yield JsonPart("", text[end:])


FILTERS = {json_parts.__name__: json_parts}
