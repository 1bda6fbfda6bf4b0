"""Parses turns and messages from a transcript's JSON text, without I/O."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from chalicelib.storage import Document

# Patterns for scanning JSON text backwards. Outside a string, the next quote is the end of a string. Inside a string, a
# quote is the beginning of the string if an even number of backslashes precedes it. A pattern does not match until the
# deciding byte has been read.
_OUTSIDE = re.compile(rb'["\[\]{}]')
_INSIDE = re.compile(rb'"(?=(?:\\\\)*[^\\])')
_DECODER = json.JSONDecoder()
# A message list's cursor is a message number. The oldest message is number 1.
POSITION = re.compile(r"[1-9][0-9]{0,8}")


class Element(NamedTuple):
    """A turn in a JSON list: its content, the position of its first byte, and the position after its last byte."""

    start: int
    end: int
    turn: Document


def elements(text: bytes, start: int) -> Iterator[Element]:
    """Yield the turns in the JSON text of a list, beginning at `start`. That position must not be inside a turn.

    The text must be in the format that `state.to_text` returns.
    """
    rest = text[start:].decode()
    at, position = 0, start  # `at` is in characters, and `position` in bytes
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
    """Return the turns that contain a message, keyed by message id."""
    return {turn["messages"]["mid"]: turn for turn in turns if "messages" in turn}


def all_messages(turns: bytes) -> list[Document]:
    """Return all messages in the turns' JSON text, oldest first, as `message_of_turn` returns them."""
    return [message_of_turn(turn) for turn in json.loads(turns) if "messages" in turn]


def first_messages(beginning: bytes) -> list[Document]:
    """Return the messages in the beginning of the turns' JSON text, oldest first. Omit an incomplete last message."""
    turns = list[Document]()
    complete = beginning[: beginning.rfind(b"}") + 1]  # a turn ends with a brace
    with suppress(ValueError, IndexError):  # the text ends in a turn, or after a turn
        for element in elements(complete, 0):
            turns.append(element.turn)
    return [message_of_turn(turn) for turn in turns if "messages" in turn]


def message_of_turn(turn: Document) -> Document:
    """Return a turn's message for a flat list. `item` defaults to `{}`, `from` and `ts` to the turn's values."""
    message: Document = turn["messages"]
    defaults: Document = {"from": turn.get("from"), "item": {}, "ts": turn.get("ts")}
    missing = {name: value for name, value in defaults.items() if message.get(name) is None and value is not None}
    return {**message, **missing}


def newest_messages(parts: Iterable[bytes]) -> Iterator[Document]:
    """Yield messages like `message_of_turn`, newest first.

    `parts` are the turns' JSON text, last part first. Each part is read only when it is needed. A message that begins
    in a missing part is omitted.
    """
    return (message_of_turn(turn) for _, turn in _newest_turns(parts) if "messages" in turn)


def messages_after(text: bytes, position: int) -> list[Document] | None:
    """Return the messages after a byte of the turns' JSON text, oldest first, as `message_of_turn` returns them.

    Return None if the position is inside a turn. The text may begin in the middle of a list.
    """
    start, turns = len(text) - 1, list[Document]()
    for length, turn in _newest_turns([text]):
        if start <= position + 1:  # a comma may precede the turn
            break
        start -= length
        turns.append(turn)
    if not position <= start <= position + 1:
        return None
    return [message_of_turn(turn) for turn in reversed(turns) if "messages" in turn]


def _newest_turns(parts: Iterable[bytes]) -> Iterator[tuple[int, Document]]:
    """Yield the turns, last turn first, and the number of bytes of each turn and the comma after it.

    Each byte is scanned once, even if a turn spans many parts.
    """
    text = b""  # reversed text, from the end of the last turn that is still incomplete
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
                yield position - end, json.loads(text[end:position][::-1].rstrip(b","))
                end = position
        position = max(position, _undecided(text)) - end
        text = text[end:]


def _undecided(text: bytes) -> int:
    """Return the position of a final quote that only backslashes follow, or the length of the reversed text.

    Whether such a quote begins or ends a string depends on the next part.
    """
    rest = text.rstrip(b"\\")
    return len(rest) - 1 if rest.endswith(b'"') else len(text)
