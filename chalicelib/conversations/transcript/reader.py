"""Reads transcripts: a conversation's newest messages, or whole conversations, one at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from chalicelib import storage
from chalicelib.conversations.rows import CONVERSATION_ITEM, ConversationRow, unless_expired
from chalicelib.conversations.state import NO_TURNS, State
from chalicelib.conversations.transcript import parser, turns
from chalicelib.storage import Document

# Maximum rows in memory at the same time. A row takes up to 400 KB.
_BATCH = 20


class Transcript(NamedTuple):
    """An index entry's conversation: the entry's position, the conversation's row, and its state.

    If the conversation has been deleted, the row is None and the state is empty.
    """

    position: str
    row: ConversationRow | None
    state: State


def newest_messages(row: ConversationRow) -> Iterator[Document]:
    """Yield all messages, newest first. This costs one request per chunk. Raise ConditionFailed like `read_state`."""
    return parser.newest_messages(turns.read_backwards(row))


def last_messages(row: ConversationRow) -> Iterator[Document]:
    """Yield the messages in the row itself, newest first. This costs no request."""
    return parser.newest_messages([turns.read_last(row)])


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
