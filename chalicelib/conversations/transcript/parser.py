"""The turns and messages in the JSON text of a transcript. Pure: no clock and no database."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chalicelib.storage import Document

# Patterns for reversed text. Outside strings every quote ends a string. Before the quote that begins a string, there is
# an even number of backslashes, or none. Neither pattern matches until the byte that decides it has been read.
_OUTSIDE = re.compile(rb'["\[\]{}]')
_INSIDE = re.compile(rb'"(?=(?:\\\\)*[^\\])')
_DECODER = json.JSONDecoder()
# The cursor of a list of messages: the number of a message, counted from the first message as 1.
POSITION = re.compile(r"[1-9][0-9]{0,8}")


class Element(NamedTuple):
    """A turn in the JSON text of a list: the positions of its first byte and of the byte after it, and its content."""

    start: int
    end: int
    turn: Document


def elements(text: bytes, start: int) -> Iterator[Element]:
    """Yield the turns in the JSON text of a list from position `start` on, which is not inside a turn.

    The text is as `state.to_text` writes it.
    """
    rest = text[start:].decode()
    at, position = 0, start  # in characters, and in bytes
    while True:
        if rest[at] in "[,":
            at, position = at + 1, position + 1
        if rest[at] == "]":
            return
        turn, end = _DECODER.raw_decode(rest, at)
        after = position + (end - at if rest.isascii() else len(rest[at:end].encode()))
        yield Element(position, after, turn)
        at, position = end, after


def by_mid(turns: Iterable[Document]) -> dict[str, Document]:
    """Return the turns that have a message, by its id."""
    return {turn["messages"]["mid"]: turn for turn in turns if "messages" in turn}


def all_messages(turns: bytes) -> list[Document]:
    """Return the messages of the JSON text of all turns, oldest first, in the form of `message_of_turn`."""
    return [message_of_turn(turn) for turn in json.loads(turns) if "messages" in turn]


def message_of_turn(turn: Document) -> Document:
    """Return the message of a turn in a flat list. `from` and `ts` are those of its turn, unless it has its own."""
    message: Document = turn["messages"]
    of_turn = {name: turn.get(name) for name in ("from", "ts") if message.get(name) is None}
    return {**message, **{name: value for name, value in of_turn.items() if value is not None}}


def newest_messages(parts: Iterable[bytes]) -> Iterator[Document]:
    """Yield messages in the form of `message_of_turn`, newest first. `parts` are the turns' JSON text, last part first.

    Read each part only when it is needed. A message that begins in a missing part is omitted.
    """
    return (message_of_turn(turn) for turn in _newest_turns(parts) if "messages" in turn)


def _newest_turns(parts: Iterable[bytes]) -> Iterator[Document]:
    """Yield the turns, last turn first. Look at each byte once, so a turn may have any number of parts."""
    text = b""  # reversed, from the end of the last turn that is not complete yet
    position = depth = 0
    is_inside = False
    for number, part in enumerate(filter(None, parts)):
        text += (part if number else part.removesuffix(b"]"))[::-1]
        end = 0
        while token := (_INSIDE if is_inside else _OUTSIDE).search(text, position):
            position = token.end()
            if token[0] == b'"':
                is_inside = not is_inside
                continue
            depth += 1 if token[0] in b"]}" else -1
            if depth == 0:
                yield json.loads(text[end:position][::-1].rstrip(b","))
                end = position
        position = max(position, _undecided(text)) - end
        text = text[end:]


def _undecided(text: bytes) -> int:
    """Return the position of a last quote before trailing backslashes, whose meaning the next part decides.

    Return the end of the text if it does not end with such a quote.
    """
    rest = text.rstrip(b"\\")
    return len(rest) - 1 if rest.endswith(b'"') else len(text)
