"""The messages of a transcript as a flat list; newest first from the end of its JSON text, or all of them. Pure."""

import json
import re
from collections.abc import Iterable, Iterator

from chalicelib.storage import Document

# Both read reversed text. Outside strings every quote ends one; the quote that begins it has no backslash, or an even
# number of them, before it. Neither matches until the byte that decides it has been read.
_OUTSIDE = re.compile(rb'["\[\]{}]')
_INSIDE = re.compile(rb'"(?=(?:\\\\)*[^\\])')
# The cursor of a list of messages: the number of a message, counted from the first one as 1.
POSITION = re.compile(r"[1-9][0-9]{0,8}")


def all_messages(turns: bytes) -> list[Document]:
    """Return the messages of the JSON text of whole turns, oldest first, in the form of `flat`."""
    return [flat(turn) for turn in json.loads(turns) if "messages" in turn]


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
    """Yield the turns, last one first. Looks at each byte once, so a turn may have any number of parts."""
    text = b""  # reversed, from the end of the last turn that is not whole yet
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
    """The position of the quote, with backslashes up to the end, whose meaning the next part decides; else the end."""
    rest = text.rstrip(b"\\")
    return len(rest) - 1 if rest.endswith(b'"') else len(text)
