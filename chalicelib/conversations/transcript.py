"""The messages of a transcript, newest first, read from the end of its JSON text. Pure."""

import json
import re
from collections.abc import Iterable, Iterator

from chalicelib.storage import Document

# In reversed text, an escaped quote is followed by an odd number of backslashes.
_ESCAPED = rb'"\\(?:\\\\)*(?!\\)'
# A string, the quote of a string that begins in text not read yet, or a bracket outside strings.
_TOKEN = re.compile(rb'"[^"]*(?:' + _ESCAPED + rb'[^"]*)*(?!' + _ESCAPED + rb')"|["\[\]{}]')


def newest_messages(parts: Iterable[bytes]) -> Iterator[Document]:
    """Yield messages, newest first. `parts` are those of the JSON text of the turns, last one first.

    `from` and `ts` are those of the turn where the message has none. Takes no part before it is needed. A message that
    begins in a part that is missing is left out.
    """
    for turn in _newest_turns(parts):
        if "messages" in turn:
            yield flat(turn)


def flat(turn: Document) -> Document:
    """Return the message of a turn in a flat list. `from` and `ts` are those of its turn, unless it has its own."""
    message: Document = turn["messages"]
    of_turn = {name: turn.get(name) for name in ("from", "ts") if message.get(name) is None}
    return {**message, **{name: value for name, value in of_turn.items() if value is not None}}


def _newest_turns(parts: Iterable[bytes]) -> Iterator[Document]:
    text = b""
    for number, part in enumerate(filter(None, parts)):
        text = part + text if number else part.removesuffix(b"]")
        end = len(text)
        for start in _starts(text):
            yield json.loads(text[start:end].rstrip(b","))
            end = start
        text = text[:end]


def _starts(text: bytes) -> Iterator[int]:
    """Yield where the whole turns of a text begin, last one first. The text ends after a turn, or after its comma."""
    depth = 0
    for token in _TOKEN.finditer(text[::-1]):
        found = token[0]
        if found == b'"':
            return
        if found in b"]}":
            depth += 1
        elif found in b"[{":
            depth -= 1
            if depth == 0:
                yield len(text) - token.end()
