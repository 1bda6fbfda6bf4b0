"""Which of a user's messages a write brings for the first time, and what they say. Pure.

A message is received once: a mark of its id stays with the conversation, whatever is replaced or deleted
later. What was received travels with the write that brought it, so that whoever hears of the change needs
no transcript.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from chalicelib import storage
from chalicelib.storage import Document

# 48 bits: among the most that are remembered, a new message is taken for a known one once in 9,000 million.
_MARK = 6
_UNWRITTEN = hashlib.blake2b(digest_size=_MARK)  # a copy takes half of what making one does
# They stand in the conversation's own item, which ends at 400 KB.
_MOST_SEEN = 30_000
# Characters of a message and of a type or name beside it. A message, alone with these, fits one item.
CONTENT_LIMIT = 100_000
_LABEL_LIMIT = 1_000
# Where the members of a message's `item` usually have what it says.
_TEXTS = ("message", "text", "content", "payload")


def may_forget(seen: bytes) -> bool:
    """Whether these marks are as many as are kept: messages that are still there may have lost theirs."""
    return len(seen) >= _MOST_SEEN * _MARK


def find_new_messages(
    turns: Sequence[Document], seen: bytes, before: Sequence[Document] = ()
) -> tuple[tuple[Document, ...], bytes]:
    """Of these turns of the user those that are neither marked in `seen` nor in the turns `before`, as `{mid, content,
    type?, from?}`; and the marks of all that are seen now, the last of them."""
    marks = {mark for (mark,) in struct.iter_unpack(f"{_MARK}s", seen)}
    marks.update(map(_mark, before))
    new = [(mark, turn) for turn in turns if (mark := _mark(turn)) not in marks]
    return tuple(_webhook_message(turn) for _, turn in new), (seen + b"".join(mark for mark, _ in new))[
        -_MOST_SEEN * _MARK :
    ]


def packed(messages: Sequence[Document], most: int) -> Iterator[list[Document]]:
    """The messages in their order, in parts of at most `most` bytes of JSON each; a longer one is a part of its own."""
    part: list[Document] = []
    size = 0
    for message in messages:
        own = len(storage.encode_json(message))
        if part and size + own > most:
            yield part
            part, size = [], 0
        part.append(message)
        size += own
    if part:
        yield part


def _label(text: str | None) -> str | None:
    """A name or type as it may stand beside a message."""
    return text and text[:_LABEL_LIMIT]


def _mark(turn: Document) -> bytes:
    mark = _UNWRITTEN.copy()
    mark.update(turn["messages"]["mid"].encode())
    return mark.digest()


def _webhook_message(turn: Document) -> Document:
    message = turn["messages"]
    metadata = {
        "mid": _label(message["mid"]),
        "content": _content(message.get("item")),
        "type": _label(message.get("type")),
        "from": _label(message.get("from") or turn.get("from")),
    }
    return {name: value for name, value in metadata.items() if value is not None}


def _content(item: Any) -> str:
    """The text where one of the usual members has it, else the whole item as JSON; empty where there is none."""
    text = _text(item)
    if text is None:
        text = storage.encode_json(item).decode() if item else ""
    return text[:CONTENT_LIMIT]


def _text(item: Any) -> str | None:
    if isinstance(item, str):
        return item
    inner = (item.get(name) for name in _TEXTS) if isinstance(item, dict) else ()
    return next((text for one in inner if (text := _text(one)) is not None), None)
