"""Reading transcripts: the newest messages of a conversation, and whole conversations one after the other."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from chalicelib import storage
from chalicelib.conversations.rows import CONVERSATION_ITEM, ConversationRow, unless_expired
from chalicelib.conversations.state import NO_TURNS, State
from chalicelib.conversations.transcript import parser, turns
from chalicelib.storage import Document

# Rows in memory at once. A row has up to 400 KB.
_BATCH = 20


class Transcript(NamedTuple):
    """A conversation of an index: its position there, its row, and its state.

    If it was deleted after it was listed, the row is None and the state is empty.
    """

    position: str
    row: ConversationRow | None
    state: State


def newest_messages(row: ConversationRow) -> Iterator[Document]:
    """Yield all messages, newest first. One request for each chunk. Raise ConditionFailed as `turns.read_state`."""
    return parser.newest_messages(turns.read_backwards(row))


def last_messages(row: ConversationRow) -> Iterator[Document]:
    """Yield the messages that the row itself holds, newest first. No request."""
    return parser.newest_messages([turns.read_last(row)])


def read_transcripts(entries: Iterable[ConversationRow]) -> Iterator[Transcript]:
    """Read the conversations of these entries of an index, in their order.

    One request per 20 conversations, and one for each long conversation. Eventually consistent, as the index is.
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
    except storage.ConditionFailed:  # a write has replaced a chunk since
        return storage.retry_on_conflict(
            lambda: _open(entry, storage.find(ConversationRow, entry.conversation, CONVERSATION_ITEM)),
        )


def _open(entry: ConversationRow, row: ConversationRow | None) -> Transcript:
    row = unless_expired(row)
    if row is None or row.created != entry.created:
        return Transcript(entry.created, None, State({}, NO_TURNS))
    return Transcript(entry.created, row, turns.read_state(row))
