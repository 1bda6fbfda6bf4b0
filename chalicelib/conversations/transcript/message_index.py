"""The index of messages: finds a message by its id in a long conversation, without reading the transcript.

The messages at the end of the transcript, which the conversation's own item holds, are not in the index. When a chunk
takes messages from there, an item is written for each: its sort key is a digest of the message's id, and it has the
position of the message. The items are written before the commit that marks them as complete (`turns.Mark`), so a
message before the last mark always has one. An item may be stale, because its write failed or its message was
deleted. Then the whole transcript is read.

The items of a deleted conversation, and those of an append that ran during the deletion, are deleted later
(`leftovers`). A new conversation with its id does not rely on them.
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

_PREFIX = "mid"  # begins the sort keys
# Items that one request writes: 40 requests to the database. A chunk has about 300 messages.
_MAX_ITEMS = 1_000
# A request lasts up to 29 s; the other seconds allow for different clocks.
_SETTLED_SECONDS = 90

IndexRows = Mapping[str, MessageIndexRow | None]


def index_keys(conversation: str, mids: Sequence[str]) -> list[storage.Key]:
    """Return the keys of the index items of messages, for `storage.find_many`."""
    return [storage.Key(MessageIndexRow, conversation, _name(mid)) for mid in mids]


def find_stored(row: ConversationRow, state: State, index_rows: IndexRows) -> dict[str, Document]:
    """Return the turns, by the ids of their messages, of the messages in `index_rows` that the conversation has.

    `state` is the end of the conversation's state. `index_rows` has the index items that were read together with it. No
    request if no item exists; one more if the index has just changed.
    """
    recent = by_mid(element.turn for element in _open_elements(row, state))
    stored = {mid: recent[mid] for mid in index_rows if mid in recent}
    earlier = {mid: index_row for mid, index_row in index_rows.items() if mid not in stored}
    if not earlier or not turns.last_mark(row).end:
        return stored
    if _has_just_changed(row):  # the items may have been read before a change, and the conversation after it
        earlier = dict(zip(earlier, storage.find_many(index_keys(row.conversation, [*earlier])), strict=True))
    indexed = {mid: index_row for mid, index_row in earlier.items() if index_row}
    return stored | (_read_at(row, indexed) if indexed else {})


def extend_index(row: ConversationRow, state: State) -> None:
    """Write the items of messages that the row itself no longer holds whole, and mark them.

    Call this after staging the state. One call writes at most 1,000 items; the next append writes more. Only the commit
    stores the mark, so an item whose commit fails is never used.
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


def _has_just_changed(row: ConversationRow) -> bool:
    return row.indexed_at is not None and clock.seconds() < row.indexed_at + _SETTLED_SECONDS


def _name(mid: str) -> str:
    return storage.join_key(_PREFIX, hashlib.blake2b(mid.encode(), digest_size=16).hexdigest())


def _index_rows(row: ConversationRow, first: int, moved: list[Element]) -> list[MessageIndexRow]:
    """Return the index items of these turns; `first` is added to their positions."""
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
    """Return the turns of these messages from the positions in their items; otherwise from the whole transcript."""
    write_ids = {chunk.write_id for chunk in turns.chunks(row)}
    if all(index_row.writing in write_ids for index_row in index_rows.values()):
        texts = turns.read_spans(
            row, [(int(index_row.start), int(index_row.start + index_row.length)) for index_row in index_rows.values()]
        )
        with suppress(ValueError):  # the end of a message, outside its chunk, has changed
            read = by_mid(map(json.loads, texts))
            if read.keys() == index_rows.keys():
                return read
    stored = by_mid(json.loads(turns.read_state(row).turns))
    return {mid: stored[mid] for mid in index_rows if mid in stored}
