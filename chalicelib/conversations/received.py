"""New messages: which of a user's messages a write contains for the first time, and their content. Pure.

A message is received once. The conversation keeps a digest of its id, even after the message is replaced or deleted.
The new messages are stored with the write, so that fan-out can read them from the stream without the transcript.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from chalicelib import storage
from chalicelib.storage import Document

# 48 bits: with the maximum of digests, one new message in 9 billion is mistaken for a known one.
_DIGEST_BYTES = 6
_EMPTY_DIGEST = hashlib.blake2b(digest_size=_DIGEST_BYTES)  # copying it takes half the time of making a new one
# The digests are part of the conversation's own item, which DynamoDB limits to 400 KB.
_MAX_SEEN = 30_000
# Of one item, because fan-out has a bounded time for a stream record. A multiple of the 40 events of a queue message.
MAX_MESSAGES = 480
# Characters of a message, and of its id, type and sender. One message with these always fits one item.
CONTENT_LIMIT = 100_000
_LABEL_LIMIT = 1_000
# The members of a message's `item` that usually hold its text.
_TEXTS = ("message", "text", "content", "payload")


def is_full(seen: bytes) -> bool:
    """Whether `seen` holds the maximum of digests, so that those of stored messages may have been dropped."""
    return len(seen) >= _MAX_SEEN * _DIGEST_BYTES


def find_new_messages(
    turns: Sequence[Document], seen: bytes, before: Sequence[Document] = ()
) -> tuple[tuple[Document, ...], bytes]:
    """Return the new messages among a user's turns as `{mid, content, type?, from?}`, and the updated digests.

    A message is new if its digest is not in `seen` and its turn is not in `before`. Only the last 30,000 digests are
    kept.
    """
    known = {digest for (digest,) in struct.iter_unpack(f"{_DIGEST_BYTES}s", seen)}
    known.update(map(_digest, before))
    new = [(digest, turn) for turn in turns if (digest := _digest(turn)) not in known]
    digests = seen + b"".join(digest for digest, _ in new)
    return tuple(_webhook_message(turn) for _, turn in new), digests[-_MAX_SEEN * _DIGEST_BYTES :]


def split(messages: Sequence[Document], max_bytes: int) -> Iterator[list[Document]]:
    """Split messages, in order, into parts of up to `MAX_MESSAGES` and up to `max_bytes` of JSON.

    A longer message is a part of its own.
    """
    part: list[Document] = []
    size = 0
    for message in messages:
        length = len(storage.encode_json(message))
        if part and (len(part) == MAX_MESSAGES or size + length > max_bytes):
            yield part
            part, size = [], 0
        part.append(message)
        size += length
    if part:
        yield part


def _label(text: str | None) -> str | None:
    """Return an id, type or sender, truncated to its limit."""
    return text and text[:_LABEL_LIMIT]


def _digest(turn: Document) -> bytes:
    digest = _EMPTY_DIGEST.copy()
    digest.update(turn["messages"]["mid"].encode())
    return digest.digest()


def _webhook_message(turn: Document) -> Document:
    message = turn["messages"]
    members = {
        "mid": _label(message["mid"]),
        "content": _content(message.get("item")),
        "type": _label(message.get("type")),
        "from": _label(message.get("from") or turn.get("from")),
    }
    return {name: value for name, value in members.items() if value is not None}


def _content(item: Any) -> str:
    """Return the text of an item, or the item as JSON if it has no text; empty for an empty item."""
    text = _text(item)
    if text is None:
        text = storage.encode_json(item).decode() if item else ""
    return text[:CONTENT_LIMIT]


def _text(item: Any) -> str | None:
    if isinstance(item, str):
        return item
    inner = (item.get(name) for name in _TEXTS) if isinstance(item, dict) else ()
    return next((text for one in inner if (text := _text(one)) is not None), None)
