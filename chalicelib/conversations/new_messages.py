"""Finds the messages that a conversation receives for the first time, so that each is counted and reported only once.

A message is new if the conversation has never received its id. To recognize old messages, a conversation stores the
digests of received messages that were deleted or replaced, and two counts of all messages received so far. Each write
also stores the content of the user's new messages. Fan-out reads that content from the stream record, so it never needs
the transcript.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

from chalicelib import storage
from chalicelib.storage import Document

HUMAN = "human"
# Type of the message that a widget sends when a visitor opens the widget (§2.7). The visitor does not write it.
_LAUNCH = "launch"
# Channels that a `message_received` event may contain: all channels in the specification (§6).
Channel = Literal["chatapp", "photoapp", "socialnet", "cloudchat", "webchat"]
_CHANNELS: tuple[str, ...] = get_args(Channel)
# Digests have 48 bits. At the maximum number of digests, one new message in 9 billion is mistaken for an old message.
_DIGEST_BYTES = 6
# The conversation's own item contains the digests, and DynamoDB limits items to 400 KB.
_MAX_DIGESTS = 30_000
_COUNTS = struct.Struct(">II")
# Maximum messages per item, which limits the fan-out time per stream record. It is a multiple of 40, because a queue
# message contains up to 40 events.
MAX_MESSAGES = 480
# Maximum characters of a message's content, and of its id, type and sender. A truncated message always fits into an
# item.
CONTENT_LIMIT = 100_000
_LABEL_LIMIT = 1_000
# Maximum characters of `lastMessage`, and of its author, so that most metadata fits into the index.
_LAST_MESSAGE, _MAX_AUTHOR = 200, 40
# Members of a message's `item` that usually contain its text.
_TEXTS = ("message", "text", "content", "payload", "parts")


class Totals(NamedTuple):
    """The number of user messages and the number of all messages that a conversation has ever received.

    `removed_digests` contains up to 30,000 digests of received messages that are no longer stored. `replies` is the
    number of new messages from other senders in the last change. It is not stored.
    """

    interactions: int = 0
    messages: int = 0
    removed_digests: bytes = b""
    replies: int = 0

    def pack(self) -> bytes:
        """Return the totals as bytes to store, or no bytes if no message was ever received."""
        return _COUNTS.pack(self.interactions, self.messages) + self.removed_digests if self.messages else b""


def unpack(packed: bytes) -> Totals:
    """Return the totals from the bytes that `Totals.pack` returned."""
    if not packed:
        return Totals()
    interactions, messages = _COUNTS.unpack_from(packed)
    return Totals(interactions, messages, packed[_COUNTS.size :])


def find_new_messages(
    turns: Iterable[Document], before: Iterable[Document], totals: Totals
) -> tuple[tuple[Document, ...], Totals]:
    """Return the user's new messages among `turns` as `{mid, content, type?, from?, channel?}`, and the new totals.

    `turns` replace `before`. A message is new if it was not stored before and has no digest in `totals`.
    """
    stored, current = _senders(before), dict[str, bool]()
    removed_before = {digest for (digest,) in struct.iter_unpack(f"{_DIGEST_BYTES}s", totals.removed_digests)}
    new, count, replies = [], 0, 0
    for turn in turns:
        if "messages" not in turn:
            continue
        mid, from_user = turn["messages"]["mid"], is_of_user(turn)
        current[mid] = from_user
        if stored.get(mid) is from_user:
            continue
        was_of_user = bool(removed_before) and _digest(mid, from_user=True) in removed_before
        is_removed = was_of_user or (removed_before and _digest(mid, from_user=False) in removed_before)
        if mid not in stored and not is_removed:
            count += 1
            replies += not from_user and turn["messages"].get("type") != _LAUNCH
        if from_user and not was_of_user:
            new.append(_webhook_message(turn))
    removed = (_digest(mid, from_user) for mid, from_user in stored.items() if current.get(mid) is not from_user)
    digests = totals.removed_digests + b"".join(digest for digest in removed if digest not in removed_before)
    digests = digests[-_MAX_DIGESTS * _DIGEST_BYTES :]
    return tuple(new), Totals(totals.interactions + len(new), totals.messages + count, digests, replies)


def is_of_user(turn: Document) -> bool:
    """Return whether the user wrote a turn's message. A launch message without text is not written by the user.

    A message without `from` inherits the `from` of its turn.
    """
    message = turn.get("messages")
    # A launch message with text counts as a user message. Otherwise, a visitor could evade the message limits by
    # choosing this type.
    if message is None or (message.get("type") == _LAUNCH and not any(texts(message.get("item")))):
        return False
    return (message.get("from") or turn.get("from")) == HUMAN


def preview(turn: Document) -> dict[str, str | None]:
    """Return the metadata members that describe a turn's message: the beginning of its text, and its author."""
    message, item = turn["messages"], turn["messages"].get("item")
    sender = item.get("sender") if isinstance(item, dict) else None
    return {
        "lastMessage": text_of(item)[:_LAST_MESSAGE],
        "lastMessageFrom": (message.get("from") or turn.get("from") or "")[:_MAX_AUTHOR] or None,
        "lastMessageSender": sender[:_MAX_AUTHOR] or None if isinstance(sender, str) else None,
    }


def text_of(item: Any) -> str:
    """Return the text of a message's item, or the item as JSON if it has no text. An empty item's text is empty."""
    text = next(texts(item), None)
    if text is None:
        return storage.encode_json(item).decode() if item else ""
    return text


def text_of_parts(parts: list[Any]) -> str:
    """Return the texts in a list of content parts, one per line, without reasoning.

    OpenAI, Claude, Strands and the AI SDK store a message's text in such parts.
    """
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") != "reasoning")
    return "\n".join(text for text in texts if isinstance(text, str))


def split(messages: Sequence[Document], max_bytes: int) -> Iterator[list[Document]]:
    """Yield the messages, in order, in parts of at most `MAX_MESSAGES` messages and `max_bytes` of JSON.

    A message that exceeds `max_bytes` forms its own part.
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
    """Truncate an id, type or sender to 1,000 characters."""
    return text and text[:_LABEL_LIMIT]


def _senders(turns: Iterable[Document]) -> dict[str, bool]:
    """Map each message id to whether the user wrote the message."""
    return {turn["messages"]["mid"]: is_of_user(turn) for turn in turns if "messages" in turn}


def _digest(mid: str, from_user: bool) -> bytes:
    # Because of the prefix, a user message and another sender's message with the same id have different digests.
    return hashlib.blake2b((f"u{mid}" if from_user else f"o{mid}").encode(), digest_size=_DIGEST_BYTES).digest()


def _webhook_message(turn: Document) -> Document:
    message = turn["messages"]
    channel = message.get("channel")
    members = {
        "mid": _label(message["mid"]),
        "content": text_of(message.get("item"))[:CONTENT_LIMIT],
        "type": _label(message.get("type")),
        "from": _label(message.get("from") or turn.get("from")),
        "channel": channel if channel in _CHANNELS else None,
    }
    return {name: value for name, value in members.items() if value is not None}


def texts(item: Any) -> Iterator[str]:
    """Yield the texts of a message's item, from the members that usually contain text."""
    if isinstance(item, str):
        yield item
    elif isinstance(item, list) and (text := text_of_parts(item)):
        yield text
    elif isinstance(item, dict):
        for name in _TEXTS:
            if name in item:
                yield from texts(item[name])
