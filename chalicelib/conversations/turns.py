"""The turns of a conversation as they are stored: the end in its own item, what stands before in chunk items.

A transcript grows at its end, so that a write costs what has changed and not what there is. A chunk is any piece of the
turns' JSON text, sealed, with the mark of its writing; the conversation's item names the mark of each, so that a reader
never puts two writings together, and may read chunks at the price of an eventually consistent read. It keeps their
digests, too: who replaces turns by the same and more does not read what stays.
"""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from chalicelib import ids, storage
from chalicelib.conversations.rows import ChunkRow, ConversationRow
from chalicelib.conversations.state import State
from chalicelib.storage import compression, encryption

# Bytes of JSON that become a chunk as soon as there is this much behind them: the last turns are those that change. So
# a conversation of some 300 messages is one item, and one of 5.5 MB, the most that can be answered, has 63 chunks: a
# transaction has 100 items.
_CHUNK = 88_000
_TAIL = 8_000
# Between turns, and the digests of their chunks with the marks of what was seen: no JSON text has this byte.
_BETWEEN = b"\x00"
_DIGEST = 16


class Chunk(NamedTuple):
    """What a conversation knows of one of its chunks: the mark of its writing, and its bytes of JSON."""

    writing: str
    length: int


def read(row: ConversationRow, expected: bytes) -> tuple[bytes, bytes]:
    """The turns of a row, and the marks of the messages that were seen; one more request where there are chunks which
    `expected`, text of any turns, does not have in the same place.

    Raises ConditionFailed when a writer was in between.
    """
    known = chunks(row)
    end, _, rest = encryption.unseal(row.workspace_id, row.associated_data("turns"), row.turns).partition(_BETWEEN)
    digests, seen = rest[: _DIGEST * len(known)], rest[_DIGEST * len(known) :]
    pieces = {
        index: piece
        for index, piece in enumerate(_cut(expected, known))
        if _digest(piece) == digests[_DIGEST * index : _DIGEST * (index + 1)]
    }
    pieces |= _read_chunks(row, {index: chunk for index, chunk in enumerate(known) if index not in pieces})
    return b"".join([*(pieces[index] for index in range(len(known))), end]), seen


def chunk_rows(row: ConversationRow) -> list[ChunkRow]:
    """The keys of a row's chunks, to delete them."""
    return [_chunk_row(row, index) for index in range(len(chunks(row)))]


def stage(row: ConversationRow, before: bytes, after: State) -> None:
    """Put the end of the turns into the row; stage the chunks that are new, and the deletion of those that are over."""
    old = chunks(row)
    kept, start = _unchanged(old, before, after.turns)
    while len(after.turns) - start > _CHUNK + _TAIL:
        chunk = Chunk(ids.new_id(), _CHUNK)
        storage.put(_new_chunk(row, len(kept), chunk.writing, after.turns[start : start + _CHUNK]))
        kept.append(chunk)
        start += _CHUNK
    row.chunks = " ".join(f"{one.writing}:{one.length}" for one in kept) or None
    row.turns = _seal_end(row, before[sum(chunk.length for chunk in old) :], after, start)
    for index in range(len(kept), len(old)):
        storage.delete(_chunk_row(row, index))


def _unchanged(old: list[Chunk], before: bytes, after: bytes) -> tuple[list[Chunk], int]:
    """The first chunks that hold what they have to hold now, too, and where they end."""
    kept: list[Chunk] = []
    start = 0
    for chunk in old:
        end = start + chunk.length
        if before[start:end] != after[start:end]:
            break
        kept.append(chunk)
        start = end
    return kept, start


def _seal_end(row: ConversationRow, before: bytes, state: State, start: int) -> bytes:
    """The end of the turns, sealed; `before` is the end that the row has until now."""
    rest = b"".join(map(_digest, _cut(state.turns, chunks(row)))) + state.seen
    end = b"".join((state.turns[start:], _BETWEEN, rest)) if rest else state.turns[start:]
    if row.turns is None:
        return encryption.seal(row.workspace_id, row.associated_data("turns"), end)
    return encryption.reseal(row.workspace_id, row.associated_data("turns"), end, before, row.turns)


def _cut(text: bytes, known: list[Chunk]) -> Iterator[bytes]:
    start = 0
    for chunk in known:
        yield text[start : start + chunk.length]
        start += chunk.length


def _digest(piece: bytes) -> bytes:
    return hashlib.blake2b(piece, digest_size=_DIGEST).digest()


def chunks(row: ConversationRow) -> list[Chunk]:
    """What a row knows of its chunks, in their order."""
    named = (name.partition(":") for name in (row.chunks or "").split())
    return [Chunk(writing, int(length)) for writing, _, length in named]


def _read_chunks(row: ConversationRow, wanted: dict[int, Chunk]) -> dict[int, bytes]:
    """The texts of chunks by their places: what a glance does not show as it was written is read strongly."""
    found: dict[int, bytes] = {}
    for consistent in (False, True):
        left = [index for index in wanted if index not in found]
        stored: list[ChunkRow | None] = storage.find_many(
            [storage.Key(ChunkRow, *_chunk_row(row, index).keys) for index in left], consistent=consistent
        )
        for index, one in zip(left, stored, strict=True):
            if one and one.writing == wanted[index].writing:
                found[index] = encryption.unseal(row.workspace_id, one.associated_data("part"), one.part)
    if len(found) < len(wanted):
        raise storage.ConditionFailed()
    return found


def _new_chunk(row: ConversationRow, index: int, writing: str, text: bytes) -> ChunkRow:
    chunk = _chunk_row(row, index)
    chunk.writing, chunk.part = (
        writing,
        encryption.seal(row.workspace_id, chunk.associated_data("part"), text, compression.DENSE),
    )
    return chunk


def _chunk_row(row: ConversationRow, index: int) -> ChunkRow:
    return ChunkRow(row.conversation, f"turns#{index:02}")
