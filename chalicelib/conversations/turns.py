"""The turns of a conversation as they are stored: the end in its own item, what stands before in chunk items.

A transcript grows at its end, so that a write costs what has changed and not what there is. A chunk is any piece of the
turns' JSON text, sealed, with the mark of its writing; the conversation's item names the mark of each, so that a reader
never puts two writings together.
"""

from typing import NamedTuple

from chalicelib import clock, sealing, storage
from chalicelib.conversations.rows import ChunkRow, ConversationRow
from chalicelib.conversations.state import State

# Bytes of JSON that stay in the conversation's own item: some 300 messages, which compress to a third or less.
_INLINE = 96_000
# What is more is cut into chunks of so many bytes at least, or this part of all turns: a transaction has 100 items.
_CHUNK = 32_000
_CHUNKS = 32
# Between turns and the marks of what was seen: no JSON text has this byte.
_BETWEEN = b"\x00"


class Chunk(NamedTuple):
    """What a conversation knows of one of its chunks: the mark of its writing, and its bytes of JSON."""

    writing: str
    length: int


def read(row: ConversationRow) -> tuple[bytes, bytes]:
    """The turns of a row, and the marks of the messages that were seen; one more request where there are chunks.

    Raises Stale when a writer was in between.
    """
    end, _, seen = sealing.unseal(row.workspace_id, row.place("turns"), row.turns).partition(_BETWEEN)
    return b"".join([*_read_chunks(row), end]), seen


def chunk_rows(row: ConversationRow) -> list[ChunkRow]:
    """The keys of a row's chunks, to delete them."""
    return [_chunk_row(row, index) for index in range(len(chunks(row)))]


def steps(row: ConversationRow, before: bytes, after: State) -> list[storage.Step]:
    """Put the end of the turns into the row; the steps that write the chunks which are new, and delete what is over."""
    old = chunks(row)
    kept, start = _unchanged(old, before, after.turns)
    new: list[ChunkRow] = []
    if len(after.turns) - start > _INLINE:
        length, writing = max(_CHUNK, len(after.turns) // _CHUNKS), clock.new_mark()
        while len(after.turns) - start > length:
            new.append(_new_chunk(row, len(kept), writing, after.turns[start : start + length]))
            kept.append(Chunk(writing, length))
            start += length
    stored_end = before[sum(chunk.length for chunk in old) :]
    row.turns = _seal_end(row, stored_end, after, start)
    row.chunks = " ".join(f"{one.writing}:{one.length}" for one in kept) or None
    over = [_chunk_row(row, index) for index in range(len(kept), len(old))]
    return [*map(storage.remove, over), *map(storage.put, new)]


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
    end = b"".join((state.turns[start:], _BETWEEN, state.seen)) if state.seen else state.turns[start:]
    return sealing.seal(row.workspace_id, row.place("turns"), end, before, row.turns)


def chunks(row: ConversationRow) -> list[Chunk]:
    """What a row knows of its chunks, in their order."""
    named = (name.partition(":") for name in (row.chunks or "").split())
    return [Chunk(writing, int(length)) for writing, _, length in named]


def _read_chunks(row: ConversationRow) -> list[bytes]:
    known = chunks(row)
    if not known:
        return []
    keys = [storage.Key(ChunkRow, *_chunk_row(row, index).keys) for index in range(len(known))]
    found: list[ChunkRow | None] = storage.find_many(keys)
    stored = [one for one, chunk in zip(found, known, strict=True) if one and one.writing == chunk.writing]
    if len(stored) < len(known):
        raise storage.Stale()
    return [sealing.unseal(row.workspace_id, one.place("part"), one.part) for one in stored]


def _new_chunk(row: ConversationRow, index: int, writing: str, text: bytes) -> ChunkRow:
    chunk = _chunk_row(row, index)
    chunk.writing, chunk.part = writing, sealing.seal(row.workspace_id, chunk.place("part"), text)
    return chunk


def _chunk_row(row: ConversationRow, index: int) -> ChunkRow:
    return ChunkRow(row.conversation, f"turns#{index:02}")
