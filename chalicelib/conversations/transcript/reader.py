"""Whole conversations, read one after the other for search and export."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.conversations.rendering import render_v3
from chalicelib.conversations.rows import HEAD, ConversationRow
from chalicelib.storage import Document

# Rows in memory at once. A row has up to 400 KB.
_BATCH = 20


class Transcript(NamedTuple):
    """A conversation of an index: its position there, its v3 form, and its turns as JSON text.

    `conversation` is None and `turns` an empty list if it was deleted after it was listed.
    """

    position: str
    conversation: Document | None
    turns: bytes


def read(entries: Iterable[ConversationRow]) -> Iterator[Transcript]:
    """Read the conversations of these entries of an index, in their order.

    One request per 20 conversations, and one for each long one. Eventually consistent, as the index is.
    """
    found = iter(entries)
    while batch := [*islice(found, _BATCH)]:
        keys = [storage.Key(ConversationRow, entry.conversation, HEAD, consistent=False) for entry in batch]
        for entry, row in zip(batch, storage.find_many(keys), strict=True):
            yield _transcript(entry, row)


def _transcript(entry: ConversationRow, row: ConversationRow | None) -> Transcript:
    try:
        return _open(entry, row)
    except storage.ConditionFailed:  # a write has replaced a chunk since
        return storage.retry_on_conflict(
            lambda: _open(entry, storage.find(ConversationRow, entry.conversation, HEAD)),
        )


def _open(entry: ConversationRow, row: ConversationRow | None) -> Transcript:
    row = store.unless_expired(row)
    if row is None or row.created != entry.created:
        return Transcript(entry.created, None, b"[]")
    state = store.read_state(row)
    return Transcript(entry.created, render_v3(row, state.metadata), state.turns)
