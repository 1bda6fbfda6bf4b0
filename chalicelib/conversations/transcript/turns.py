"""Stored turns: chunks and a manifest. The conversation's item holds the last turns; chunk items hold the earlier ones.

A transcript grows at its end, so the cost of a write depends on the change, not on the transcript. A chunk is a sealed
piece of the turns' JSON text. A write never patches a chunk; it replaces it as a whole, under a new write id. The
manifest in the conversation's item names the write id of each chunk. So a reader never combines chunks of two writes,
and may use eventually consistent reads. The item also has a digest of each chunk, so that a request that repeats the
stored turns does not read them.
"""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from chalicelib import ids, storage
from chalicelib.conversations import new_messages
from chalicelib.conversations.rows import ChunkRow, ConversationRow
from chalicelib.conversations.state import State
from chalicelib.storage import compression, encryption

# Bytes of JSON of a chunk, and how many must follow it, because the last turns change most. About 300 messages fit one
# item. A transcript of 5.5 MB, the most that fits an answer, has 63 chunks; a transaction may have 100 items.
_CHUNK_BYTES = 88_000
_TAIL_BYTES = 8_000
# Separates the turns from the digests of the chunks and what was received. JSON text never contains this byte.
_SEPARATOR = b"\x00"
_DIGEST_BYTES = 16


class Chunk(NamedTuple):
    """An entry of the manifest: the write id of a chunk, and its length in bytes of JSON."""

    write_id: str
    length: int


class Mark(NamedTuple):
    """An entry of `indexed`: all messages before the byte `end` of the turns, which is in none, are in the index.

    `escaped` is the length of the turns before it in an answer, where they are part of a JSON string.
    """

    end: int
    escaped: int


def read(row: ConversationRow, expected: bytes) -> tuple[bytes, new_messages.Seen]:
    """Return the turns of a row, and what the conversation ever received.

    Reads the chunks in one more request, except those that are equal in `expected`, the JSON text of any turns. Raises
    ConditionFailed if a concurrent write has replaced a chunk.
    """
    manifest = chunks(row)
    tail, digests, seen = _unseal_tail(row, manifest)
    pieces = {
        index: piece
        for index, piece in enumerate(_split(expected, manifest))
        if _digest(piece) == digests[_DIGEST_BYTES * index : _DIGEST_BYTES * (index + 1)]
    }
    pieces |= _read_chunks(row, {index: chunk for index, chunk in enumerate(manifest) if index not in pieces})
    return b"".join([*(pieces[index] for index in range(len(manifest))), tail]), seen


def read_end(row: ConversationRow, start: int) -> tuple[bytes, new_messages.Seen, bytes]:
    """Return the turns from the chunk with the byte `start` on, what the conversation ever received, and the digests
    of the chunks before, which it does not read.

    No request if the row itself has that byte, otherwise one. Raises ConditionFailed as `read` does.
    """
    manifest = chunks(row)
    tail, digests, seen = _unseal_tail(row, manifest)
    unread = sum(end <= start for end in accumulate(chunk.length for chunk in manifest))
    pieces = _read_chunks(row, {index: manifest[index] for index in range(unread, len(manifest))})
    text = b"".join([*(pieces[index] for index in range(unread, len(manifest))), tail])
    return text, seen, digests[: _DIGEST_BYTES * unread]


def read_spans(row: ConversationRow, spans: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return parts of the turns, each given by its first byte and the one behind it. At most one request.

    Raises ConditionFailed as `read` does.
    """
    manifest = chunks(row)
    ends = [*accumulate((chunk.length for chunk in manifest), initial=0)]
    wanted = {
        index: chunk
        for index, chunk in enumerate(manifest)
        if any(start < ends[index + 1] and ends[index] < end for start, end in spans)
    }
    pieces = {**_read_chunks(row, wanted), len(manifest): read_last(row)}
    return [
        b"".join(
            piece[max(0, start - ends[index]) : max(0, end - ends[index])] for index, piece in sorted(pieces.items())
        )
        for start, end in spans
    ]


def read_last(row: ConversationRow) -> bytes:
    """Return the last turns, which the row itself holds, as JSON text from the middle of a list."""
    return encryption.unseal(row.workspace_id, row.associated_data("turns"), row.turns).partition(_SEPARATOR)[0]


def read_seen(row: ConversationRow) -> new_messages.Seen:
    """Return what the conversation ever received."""
    return _unseal_tail(row, chunks(row))[2]


def read_backwards(row: ConversationRow) -> Iterator[bytes]:
    """Yield the JSON text of the turns in parts, last one first; one request for each part but the first.

    Raises ConditionFailed if a concurrent write has replaced a chunk.
    """
    yield read_last(row)
    for index, chunk in reversed([*enumerate(chunks(row))]):
        yield _read_chunks(row, {index: chunk})[index]


def length(row: ConversationRow) -> int:
    """Return the length of all chunks: the position of the first byte that the row itself holds."""
    return _sum(chunks(row))


def first_byte(row: ConversationRow, state: State) -> int:
    """Return the position of the first byte of `state.turns` among all turns of the row."""
    return _sum(_unread(row, state))


def chunk_rows(row: ConversationRow) -> list[ChunkRow]:
    """Return rows with the keys of the chunks, to delete them."""
    return [_chunk_row(row, index) for index in range(len(chunks(row)))]


def stage(row: ConversationRow, before: bytes, after: State) -> None:
    """Put the last turns and the manifest into the row; stage new chunks, and the deletion of surplus ones.

    `before` has the turns of the row from where those of `after` begin.
    """
    old, unread = chunks(row), _unread(row, after)
    same, start = _unchanged(old[len(unread) :], before, after.turns)
    kept = unread + same
    _keep_marks(row, before, after, start)
    while len(after.turns) - start > _CHUNK_BYTES + _TAIL_BYTES:
        chunk = Chunk(ids.new_id(), _CHUNK_BYTES)
        storage.put(_new_chunk(row, len(kept), chunk.write_id, after.turns[start : start + _CHUNK_BYTES]))
        kept.append(chunk)
        start += _CHUNK_BYTES
    row.chunks = " ".join(f"{one.write_id}:{one.length}" for one in kept) or None
    row.turns = _seal_tail(row, after, start)
    for index in range(len(kept), len(old)):
        storage.delete(_chunk_row(row, index))


def _keep_marks(row: ConversationRow, before: bytes, after: State, same: int) -> None:
    """Keep the marks of the row before which the text stays as it was; its first `same` bytes do."""
    if row.indexed is None:  # as most rows
        return
    first = first_byte(row, after)
    kept = [
        one
        for one in marks(row)
        if before[same : max(0, one.end - first)] == after.turns[same : max(0, one.end - first)]
    ]
    set_marks(row, kept)


def _unread(row: ConversationRow, state: State) -> list[Chunk]:
    """Return the leading chunks that are not part of `state.turns`."""
    return chunks(row)[: len(state.unread) // _DIGEST_BYTES]


def _sum(pieces: list[Chunk]) -> int:
    return sum(chunk.length for chunk in pieces)


def _unchanged(old: list[Chunk], before: bytes, after: bytes) -> tuple[list[Chunk], int]:
    """Return the leading chunks whose content stays the same, and the offset of their end."""
    kept: list[Chunk] = []
    start = 0
    for chunk in old:
        end = start + chunk.length
        if before[start:end] != after[start:end]:
            break
        kept.append(chunk)
        start = end
    return kept, start


def _seal_tail(row: ConversationRow, state: State, start: int) -> bytes:
    """Seal the turns from offset `start`, with what follows them."""
    split = _split(state.turns, chunks(row)[len(_unread(row, state)) :])
    rest = b"".join((state.unread, *map(_digest, split), state.seen.pack()))
    tail = b"".join((state.turns[start:], _SEPARATOR, rest)) if rest else state.turns[start:]
    return encryption.seal(row.workspace_id, row.associated_data("turns"), tail)


def _unseal_tail(row: ConversationRow, manifest: list[Chunk]) -> tuple[bytes, bytes, new_messages.Seen]:
    """Return the last turns, the digests of the chunks, and what the conversation ever received."""
    sealed = encryption.unseal(row.workspace_id, row.associated_data("turns"), row.turns)
    tail, _, rest = sealed.partition(_SEPARATOR)
    length = _DIGEST_BYTES * len(manifest)
    return tail, rest[:length], new_messages.unpack(rest[length:])


def _split(text: bytes, manifest: list[Chunk]) -> Iterator[bytes]:
    start = 0
    for chunk in manifest:
        yield text[start : start + chunk.length]
        start += chunk.length


def _digest(piece: bytes) -> bytes:
    return hashlib.blake2b(piece, digest_size=_DIGEST_BYTES).digest()


def chunks(row: ConversationRow) -> list[Chunk]:
    """Return the manifest of a row: its chunks in order."""
    entries = (entry.partition(":") for entry in (row.chunks or "").split())
    return [Chunk(write_id, int(length)) for write_id, _, length in entries]


def marks(row: ConversationRow) -> list[Mark]:
    """Return how far the messages of a row are in the index: the last mark says it, the others are before it.

    A change that is after one of them leaves that one valid.
    """
    entries = (entry.partition(":") for entry in (row.indexed or "").split())
    return [Mark(int(end), int(escaped)) for end, _, escaped in entries]


def set_marks(row: ConversationRow, marks: list[Mark]) -> None:
    """Put marks into the row."""
    row.indexed = " ".join(f"{one.end}:{one.escaped}" for one in marks) or None


def _read_chunks(row: ConversationRow, wanted: dict[int, Chunk]) -> dict[int, bytes]:
    """Read chunks by index: eventually consistent first, then strongly consistent those with another write id."""
    found: dict[int, bytes] = {}
    for consistent in (False, True):
        left = [index for index in wanted if index not in found]
        if not left:
            break
        stored: list[ChunkRow | None] = storage.find_many(
            [storage.Key(ChunkRow, row.conversation, _chunk_name(index), consistent) for index in left]
        )
        for index, one in zip(left, stored, strict=True):
            if one and one.writing == wanted[index].write_id:
                found[index] = encryption.unseal(row.workspace_id, one.associated_data("part"), one.part)
    if len(found) < len(wanted):
        raise storage.ConditionFailed()
    return found


def _new_chunk(row: ConversationRow, index: int, write_id: str, text: bytes) -> ChunkRow:
    chunk = _chunk_row(row, index)
    chunk.writing, chunk.part = (
        write_id,
        encryption.seal(row.workspace_id, chunk.associated_data("part"), text, compression.DENSE),
    )
    return chunk


def _chunk_row(row: ConversationRow, index: int) -> ChunkRow:
    return ChunkRow(row.conversation, _chunk_name(index))


def _chunk_name(index: int) -> str:
    return f"turns#{index:02}"
