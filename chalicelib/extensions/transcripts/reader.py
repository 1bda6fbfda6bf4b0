"""Reads whole conversations, one at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from chalicelib import storage
from chalicelib.conversations import transcript
from chalicelib.conversations.rows import CONVERSATION_ITEM, ConversationRow, unless_expired
from chalicelib.conversations.state import NO_TURNS, State

# Maximum rows in memory at the same time. A row takes up to 400 KB.
_BATCH = 20


class Transcript(NamedTuple):
    """An index entry's conversation: the entry's position, the conversation's row, and its state.

    If the conversation has been deleted, the row is None and the state is empty.
    """

    position: str
    row: ConversationRow | None
    state: State


def read_transcripts(entries: Iterable[ConversationRow]) -> Iterator[Transcript]:
    """Yield the conversations for these index entries, in order. The reads are eventually consistent, like the index.

    An entry without a creation time refers to the conversation by its id, and its position is the id.

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
    position = entry.created or storage.split_key(entry.conversation)[-1]
    if row is None or entry.created not in (None, row.created):
        return Transcript(position, None, State({}, NO_TURNS))
    return Transcript(position, row, transcript.read_state(row))
