"""The message index, which locates a message by id in a long conversation without reading the transcript.

A transcript's newest messages are stored in the conversation's own item, and are not indexed. When a message moves from
there into a chunk, it gets an index item. An index item's sort key is a digest of the message id, and its attributes
locate the message. Index items are written before the commit that stores the next mark (`turns.Mark`), so every message
before the last mark has an index item. An index item is stale if its commit failed or its message was deleted. In that
case, the whole transcript is read.

Index items of a deleted conversation, even from an append that ran during the deletion, are deleted later
(`leftovers`). A new conversation with the same id ignores them.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, takewhile

from chalicelib import clock, storage
from chalicelib.conversations.rows import ConversationRow, MessageIndexRow
from chalicelib.conversations.state import State
from chalicelib.conversations.transcript import turns
from chalicelib.conversations.transcript.parser import Element, by_mid, elements
from chalicelib.storage import Document

_PREFIX = "mid"  # the sort key prefix
# Maximum index items per call, which take 40 database requests. A chunk has about 300 messages.
_MAX_ITEMS = 1_000
# Seconds after which an index change is certainly committed: a request takes up to 29 s, plus clock skew.
_SETTLED_SECONDS = 90

IndexRows = Mapping[str, MessageIndexRow | None]


def index_keys(conversation: str, mids: Sequence[str]) -> list[storage.Key]:
    """Return the keys of the messages' index items, for `storage.find_many`."""
    return [storage.Key(MessageIndexRow, conversation, _name(mid)) for mid in mids]


def find_stored(row: ConversationRow, state: State, index_rows: IndexRows) -> dict[str, Document]:
    """Return the stored turns of the messages in `index_rows`, by message id. Omit messages that are not stored.

    `state` is the end of the conversation's state. `index_rows` contains the index items that were read with it. This
    costs no request if no index item exists, and an additional request if the index has just changed.
    """
    recent = by_mid(element.turn for element in _open_elements(row, state))
    stored = {mid: recent[mid] for mid in index_rows if mid in recent}
    earlier = {mid: index_row for mid, index_row in index_rows.items() if mid not in stored}
    if not earlier or not turns.last_mark(row).end:
        return stored
    # Just after a change, the items may be older than the conversation's row.
    if row.indexed_at is not None and clock.seconds() < row.indexed_at + _SETTLED_SECONDS:
        earlier = dict(zip(earlier, storage.find_many(index_keys(row.conversation, [*earlier])), strict=True))
    indexed = {mid: index_row for mid, index_row in earlier.items() if index_row}
    return stored | (_read_at(row, indexed) if indexed else {})


def extend_index(row: ConversationRow, state: State) -> None:
    """Write index items for the messages that have moved into chunks, and set a mark after these messages.

    Call this function after staging the state. One call writes at most 1,000 items; the next append continues. Only the
    commit stores the mark, so items whose commit fails are never used.
    """
    last, in_row = turns.last_mark(row), turns.chunked_length(row)
    if last.end >= in_row:
        return
    first = turns.first_byte(row, state)
    moved = [*takewhile(lambda element: first + element.start < in_row, _open_elements(row, state))]
    batch = moved[:_MAX_ITEMS]
    storage.save_many(_index_rows(row, first, batch))
    is_part = len(batch) < len(moved)
    end = first + batch[-1].end if is_part else max(in_row, *(first + element.end for element in moved[-1:]))
    text = state.turns[last.end - first : end - first].decode()
    turns.set_marks(row, [*turns.marks(row), turns.Mark(end, last.escaped + len(json.dumps(text)) - 2)])
    row.indexed_at = clock.seconds()


def _open_elements(row: ConversationRow, state: State) -> list[Element]:
    """Return the turns that are not in the index."""
    return [*elements(state.turns, turns.last_mark(row).end - turns.first_byte(row, state))]


def _name(mid: str) -> str:
    return storage.join_key(_PREFIX, hashlib.blake2b(mid.encode(), digest_size=16).hexdigest())


def _index_rows(row: ConversationRow, first: int, moved: list[Element]) -> list[MessageIndexRow]:
    """Return index items for these turns, whose positions are relative to byte `first`."""
    manifest = turns.chunks(row)
    ends = [*accumulate(chunk.length for chunk in manifest)]
    rows = []
    for element in moved:
        for mid in by_mid([element.turn]):
            index_row = MessageIndexRow(row.conversation, _name(mid))
            index_row.start, index_row.length = first + element.start, element.end - element.start
            index_row.writing = manifest[bisect_right(ends, index_row.start)].write_id
            rows.append(index_row)
    return rows


def _read_at(row: ConversationRow, index_rows: Mapping[str, MessageIndexRow]) -> dict[str, Document]:
    """Return the turns at the positions in these index items. If an item is stale, read the whole transcript."""
    write_ids = {chunk.write_id for chunk in turns.chunks(row)}
    if all(index_row.writing in write_ids for index_row in index_rows.values()):
        texts = turns.read_spans(
            row, [(int(index_row.start), int(index_row.start + index_row.length)) for index_row in index_rows.values()]
        )
        with suppress(ValueError):  # a message may end in a later chunk that has changed
            read = by_mid(map(json.loads, texts))
            if read.keys() == index_rows.keys():
                return read
    stored = by_mid(json.loads(turns.read_state(row).turns))
    return {mid: stored[mid] for mid in index_rows if mid in stored}
