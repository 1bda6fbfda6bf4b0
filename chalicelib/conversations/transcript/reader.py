"""Reads transcripts: a conversation's newest messages, or those after a position.

A position is the length of a transcript's text up to there, and a digest of that text. Added messages only extend the
text, so positions stay valid. They become invalid if earlier text changes, or moves into a chunk. Everything after a
valid position is in the conversation's own item.
"""

import hashlib
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from chalicelib.conversations.rows import ConversationRow, read_metadata
from chalicelib.conversations.state import State
from chalicelib.conversations.transcript import parser, turns
from chalicelib.storage import Document

_NEWEST = 50  # the number of messages after a reset


class Delta(NamedTuple):
    """Messages, oldest first, whether they replace all messages that the caller has, and the position after them."""

    messages: list[Document]
    reset: bool
    after: str


def newest_messages(row: ConversationRow, end: State | None = None) -> Iterator[Document]:
    """Yield all messages, newest first. This costs one request per chunk. Raise ConditionFailed like `read_state`.

    `end` is the end of the row's state, if the caller has read it. Its chunks are not read again.
    """
    return parser.newest_messages(turns.read_backwards(row, end))


def last_messages(row: ConversationRow) -> Iterator[Document]:
    """Yield the messages in the row itself, newest first. This costs no request."""
    return parser.newest_messages([turns.read_last(row)])


def messages_from(row: ConversationRow, start: int, count: int) -> list[Document]:
    """Return up to `count` messages after the first `start` messages, oldest first.

    This costs a request if some of these messages are in chunks. In rare cases, it costs two requests. Raise
    ConditionFailed as `turns.read_state` does.
    """
    last, total = [*last_messages(row)][::-1], read_metadata(row)["messagesNum"]
    in_chunks = total - len(last) if turns.chunks(row) else 0
    if start >= in_chunks:
        return last[start - in_chunks :][:count]
    needed = min(start + count, total)
    size = turns.chunked_length(row) + len(turns.read_last(row))
    for length in (size * needed // total + size // 8, size):  # an estimate, and all bytes
        (beginning,) = turns.read_spans(row, [(0, length)])
        messages = parser.first_messages(beginning)
        if len(messages) >= needed:
            break
    return messages[start:needed]


def read_delta(row: ConversationRow, after: str, end: State | None = None) -> Delta:
    """Return the messages after the position `after`, or the newest 50 messages if the position is not valid.

    `end` is the end of a state that is staged for the row. Only a reset may cost requests, one for each chunk that it
    reads. Raise ConditionFailed as `turns.read_state` does.
    """
    tail, digests, _ = turns.unseal_tail(row)
    current = _position(row, digests, tail[:-1])  # without the list's last bracket
    length = int(after.partition("-")[0] or 0) - turns.chunked_length(row)
    if length >= 0 and after == _position(row, digests, tail[:length]):
        added = parser.messages_after(tail, length)
        if added is not None:
            return Delta(added, reset=False, after=current)
    newest = islice(newest_messages(row, end), _NEWEST)
    return Delta([*newest][::-1], reset=True, after=current)


def end_position(row: ConversationRow) -> str:
    """Return the position after all messages. This costs no request."""
    tail, digests, _ = turns.unseal_tail(row)
    return _position(row, digests, tail[:-1])


def _position(row: ConversationRow, digests: list[bytes], text: bytes) -> str:
    """Return the position after `text`, which is the beginning of the last turns. `digests` are those of the chunks."""
    digest = hashlib.blake2b(b"".join((*digests, text)), digest_size=8).hexdigest()
    return f"{turns.chunked_length(row) + len(text)}-{digest}"
