"""The index of messages: finds one by its id in a long conversation, without reading the transcript.

The messages at the end of the transcript, which the conversation's own item holds, are not in the index. When a chunk
takes messages from there, an item is written for each: its sort key is a digest of the message's id, and it says where
the message is. The items are written before the commit that marks them as complete (`turns.Mark`), so a message before
the last mark always has one. It may be wrong: left by a write that failed, or by a message that has been deleted. Then
the whole transcript is read.

The items of a deleted conversation, and those of an append that its deletion has overtaken, are deleted later
(`parts`). A new conversation with its id does not rely on them.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, takewhile

from chalicelib import clock, storage
from chalicelib.conversations.rows import ConversationRow, PlaceRow
from chalicelib.conversations.state import State
from chalicelib.conversations.transcript import turns
from chalicelib.conversations.transcript.append import Element, by_mid, elements
from chalicelib.storage import Document

_PREFIX = "mid"  # begins the sort keys
# Items that one request writes: 40 requests to the database. A chunk has about 300 messages.
_MAX_ITEMS = 1_000
# A request lasts up to 29 s. The rest is for clocks that differ.
_SETTLED_SECONDS = 90

_BEGINNING = turns.Mark(0, 0)

Places = Mapping[str, PlaceRow | None]


def keys(conversation: str, mids: Sequence[str]) -> list[storage.Key]:
    """The keys of the index items of messages, for `storage.find_many`."""
    return [storage.Key(PlaceRow, conversation, _name(mid)) for mid in mids]


def last_mark(row: ConversationRow) -> turns.Mark:
    """The last mark of a conversation; one at the beginning if it has none."""
    return [_BEGINNING, *turns.marks(row)][-1]


def open_elements(row: ConversationRow, state: State) -> list[Element]:
    """The turns that are not in the index; `state` is the end of the conversation's state."""
    return [*elements(state.turns, last_mark(row).end - turns.first_byte(row, state))]


def find_stored(row: ConversationRow, places: Places) -> dict[str, Document]:
    """The turns, by the ids of their messages, of those messages that are before the last mark.

    `places` has the items that were read, together with the conversation, for these ids. No request if there are none;
    one more if the index has just changed.
    """
    if not places or not last_mark(row).end:
        return {}
    if _has_just_changed(row):  # the items may have been read before, and the conversation after a change
        places = dict(zip(places, storage.find_many(keys(row.conversation, [*places])), strict=True))
    found = {mid: place for mid, place in places.items() if place}
    return _read_at(row, found) if found else {}


def extend(row: ConversationRow, state: State) -> None:
    """Write the items of messages that the row itself no longer holds whole, and mark them. After staging the state.

    At most 1,000 items; the next append writes more. Only the commit makes the mark, so an item whose commit fails is
    never relied on.
    """
    last, in_row = last_mark(row), turns.length(row)
    if last.end >= in_row:
        return
    first = turns.first_byte(row, state)
    moved = [*takewhile(lambda one: first + one.start < in_row, open_elements(row, state))]
    taken = moved[:_MAX_ITEMS]
    storage.save_many(_place_rows(row, first, taken))
    end = first + taken[-1].end if len(taken) < len(moved) else max(in_row, *(first + one.end for one in moved[-1:]))
    text = state.turns[last.end - first : end - first].decode()
    added = turns.Mark(end, last.escaped + len(json.dumps(text)) - 2)
    turns.set_marks(row, [*turns.marks(row), added])
    row.indexed_at = clock.seconds()


def _has_just_changed(row: ConversationRow) -> bool:
    return row.indexed_at is not None and clock.seconds() < row.indexed_at + _SETTLED_SECONDS


def _name(mid: str) -> str:
    return storage.key(_PREFIX, hashlib.blake2b(mid.encode(), digest_size=16).hexdigest())


def _place_rows(row: ConversationRow, first: int, moved: list[Element]) -> list[PlaceRow]:
    """The index items of these turns; `first` is added to their positions."""
    manifest = turns.chunks(row)
    ends = [*accumulate(chunk.length for chunk in manifest)]
    rows = []
    for one in moved:
        for mid in by_mid([one.turn]):
            place = PlaceRow(row.conversation, _name(mid))
            place.start, place.length = first + one.start, one.end - one.start
            place.writing = manifest[bisect_right(ends, place.start)].write_id
            rows.append(place)
    return rows


def _read_at(row: ConversationRow, places: Mapping[str, PlaceRow]) -> dict[str, Document]:
    """The turns of these messages, where their items say they are; otherwise from the whole transcript."""
    named = {chunk.write_id for chunk in turns.chunks(row)}
    if all(place.writing in named for place in places.values()):
        texts = turns.read_spans(
            row, [(int(place.start), int(place.start + place.length)) for place in places.values()]
        )
        with suppress(ValueError):  # the end of a message that was only partly in its chunk has changed
            found = by_mid(map(json.loads, texts))
            if found.keys() == places.keys():
                return found
    text, _ = turns.read(row, b"")
    stored = by_mid(one.turn for one in elements(text, 0))
    return {mid: stored[mid] for mid in places if mid in stored}
