"""Reads transcripts: a conversation's newest messages, those after a position, or whole conversations, one at a time.

A position is the length of a transcript's text up to there, and a digest of that text. Added messages only extend the
text, so positions stay valid. They become invalid if earlier text changes, or moves into a chunk. Everything after a
valid position is in the conversation's own item.
"""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from chalicelib import storage
from chalicelib.conversations.rows import CONVERSATION_ITEM, ConversationRow, read_metadata, unless_expired
from chalicelib.conversations.state import NO_TURNS, State
from chalicelib.conversations.transcript import parser, turns
from chalicelib.storage import Document

# Maximum rows in memory at the same time. A row takes up to 400 KB.
_BATCH = 20
_NEWEST = 50  # the number of messages after a reset


class Transcript(NamedTuple):
    """An index entry's conversation: the entry's position, the conversation's row, and its state.

    If the conversation has been deleted, the row is None and the state is empty.
    """

    position: str
    row: ConversationRow | None
    state: State


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


def read_transcripts(entries: Iterable[ConversationRow]) -> Iterator[Transcript]:
    """Yield the conversations for these index entries, in order. The reads are eventually consistent, like the index.

    This costs one request per 20 conversations, plus one for each long conversation.
    """
    remaining = iter(entries)
    while batch := [*islice(remaining, _BATCH)]:
        keys = [
            storage.Key(ConversationRow, entry.conversation, CONVERSATION_ITEM, consistent=False) for entry in batch
        ]
        for entry, row in zip(batch, storage.find_many(keys), strict=True):
            yield _transcript(entry, row)


def _position(row: ConversationRow, digests: list[bytes], text: bytes) -> str:
    """Return the position after `text`, which is the beginning of the last turns. `digests` are those of the chunks."""
    digest = hashlib.blake2b(b"".join((*digests, text)), digest_size=8).hexdigest()
    return f"{turns.chunked_length(row) + len(text)}-{digest}"


def _transcript(entry: ConversationRow, row: ConversationRow | None) -> Transcript:
    try:
        return _open(entry, row)
    except storage.ConditionFailed:  # a write has replaced a chunk since the row was read
        return storage.retry_on_conflict(
            lambda: _open(entry, storage.find(ConversationRow, entry.conversation, CONVERSATION_ITEM)),
        )


def _open(entry: ConversationRow, row: ConversationRow | None) -> Transcript:
    row = unless_expired(row)
    if row is None or row.created != entry.created:
        return Transcript(entry.created, None, State({}, NO_TURNS))
    return Transcript(entry.created, row, turns.read_state(row))
