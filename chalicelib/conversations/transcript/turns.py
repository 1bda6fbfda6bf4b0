"""Stored turns: the last turns in the conversation's own item, the earlier turns in immutable chunks, and a manifest.

Most writes append to a transcript. A write's cost therefore depends on the change's size, not the transcript's. A chunk
is an encrypted piece of the turns' JSON text. A write never modifies part of a chunk; it replaces the whole chunk, with
a new write id. The manifest in the conversation's item lists the write id of each chunk. Therefore, a reader never
combines chunks from two writes, and may use eventually consistent reads. The item also contains a digest of each chunk,
so a request that sends the stored turns again does not need to read them.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from chalicelib import ids, storage
from chalicelib.conversations import new_messages
from chalicelib.conversations.rows import ChunkRow, ConversationRow, read_metadata
from chalicelib.conversations.state import State
from chalicelib.storage import compression, encryption

# Bytes of JSON per chunk, and minimum bytes after the last chunk, because the last turns change most often. A chunk
# contains about 300 messages. The largest transcript that fits into a response takes up 5.5 MB in 63 chunks, and a
# transaction can contain 100 items.
_CHUNK_BYTES = 88_000
_TAIL_BYTES = 8_000
# Separates the turns from the chunk digests and the totals. JSON text never contains this byte.
_SEPARATOR = b"\x00"
_DIGEST_BYTES = 16


class Chunk(NamedTuple):
    """A manifest entry: a chunk's write id, and its length in bytes of JSON."""

    write_id: str
    length: int


class Mark(NamedTuple):
    """An entry in `indexed`: every message that ends before the byte `end` has an index item.

    `end` is never inside a message. `escaped` is the length of the turns before `end`, escaped as a JSON string.
    """

    end: int
    escaped: int


def read_state(row: ConversationRow, expected: bytes = b"") -> State:
    """Return a row's state. Raise ConditionFailed if a concurrent write has replaced a chunk.

    A long conversation costs one request, unless `expected`, the JSON text of any turns, contains all its chunks.
    """
    tail, digests, totals = unseal_tail(row)
    pieces = {
        index: piece
        for index, (piece, digest) in enumerate(zip(_split(expected, chunks(row)), digests, strict=True))
        if _digest(piece) == digest
    }
    pieces |= _read_chunks(row, [index for index in range(len(digests)) if index not in pieces])
    return State(read_metadata(row), _join(pieces, tail), totals)


def read_end(row: ConversationRow) -> State:
    """Return the end of a row's state: the chunks that contain messages without an index item, and the last turns.

    This costs one request if there are such chunks. Raise ConditionFailed as `read_state` does.
    """
    tail, digests, totals = unseal_tail(row)
    unread = sum(end <= last_mark(row).end for end in accumulate(chunk.length for chunk in chunks(row)))
    pieces = _read_chunks(row, range(unread, len(digests)))
    return State(read_metadata(row), _join(pieces, tail), totals, unread=digests[:unread])


def read_spans(row: ConversationRow, spans: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return spans of the turns' JSON text. A span is a half-open range of byte positions.

    This costs at most one request. Raise ConditionFailed as `read_state` does.
    """
    ends = [*accumulate((chunk.length for chunk in chunks(row)), initial=0)]
    count = len(ends) - 1
    needed = [
        index for index in range(count) if any(start < ends[index + 1] and ends[index] < end for start, end in spans)
    ]
    pieces = sorted({**_read_chunks(row, needed), count: read_last(row)}.items())
    return [
        b"".join(piece[max(0, start - ends[index]) : max(0, end - ends[index])] for index, piece in pieces)
        for start, end in spans
    ]


def read_last(row: ConversationRow) -> bytes:
    """Return the last turns from the row itself. Their JSON text may begin in the middle of a list."""
    return unseal_tail(row)[0]


def read_totals(row: ConversationRow) -> new_messages.Totals:
    """Return the totals for all messages that the conversation has ever received."""
    return unseal_tail(row)[2]


def read_backwards(row: ConversationRow, end: State | None = None) -> Iterator[bytes]:
    """Yield the JSON text of the turns in parts, last part first. Raise ConditionFailed as `read_state` does.

    The first part is the turns of `end`, if it is set, or the last turns in the row. Each other part costs one request.
    """
    yield read_last(row) if end is None else end.turns
    for index in reversed(range(len(chunks(row) if end is None else end.unread))):
        yield _read_chunks(row, [index])[index]


def chunked_length(row: ConversationRow) -> int:
    """Return the length of all chunks, which is the position of the first byte in the row itself."""
    return sum(chunk.length for chunk in chunks(row))


def first_byte(row: ConversationRow, state: State) -> int:
    """Return the position of the first byte of `state.turns` within the text of all turns."""
    return sum(chunk.length for chunk in chunks(row)[: len(state.unread)])


def chunk_rows(row: ConversationRow) -> list[ChunkRow]:
    """Return one row per chunk that contains only the chunk's key, for deletion."""
    return [_chunk_row(row, index) for index in range(len(chunks(row)))]


def stage(row: ConversationRow, before: bytes, after: State) -> None:
    """Put the last turns and the manifest into the row. Stage new chunks, and the deletion of surplus chunks.

    `before` contains the row's turns, from the position at which the turns of `after` begin.
    """
    old, unread, text = chunks(row), len(after.unread), after.turns
    manifest, start = old[:unread], 0
    for chunk in old[unread:]:
        if before[start : start + chunk.length] != text[start : start + chunk.length]:
            break
        manifest.append(chunk)
        start += chunk.length
    _keep_marks(row, before, after, start)
    while len(text) - start > _CHUNK_BYTES + _TAIL_BYTES:
        chunk = Chunk(ids.new_id(), _CHUNK_BYTES)
        storage.put(_new_chunk(row, len(manifest), chunk.write_id, text[start : start + _CHUNK_BYTES]))
        manifest.append(chunk)
        start += _CHUNK_BYTES
    row.chunks = " ".join(f"{chunk.write_id}:{chunk.length}" for chunk in manifest) or None
    rest = b"".join((*after.unread, *map(_digest, _split(text, manifest[unread:])), after.totals.pack()))
    tail = b"".join((text[start:], _SEPARATOR, rest)) if rest else text[start:]
    row.turns = encryption.seal(row.workspace_id, row.associated_data("turns"), tail)
    for index in range(len(manifest), len(old)):
        storage.delete(_chunk_row(row, index))


def chunks(row: ConversationRow) -> list[Chunk]:
    """Return a row's manifest: its chunks in order."""
    entries = (entry.partition(":") for entry in (row.chunks or "").split())
    return [Chunk(write_id, int(length)) for write_id, _, length in entries]


def marks(row: ConversationRow) -> list[Mark]:
    """Return a row's marks in order. Only the last mark is in effect. A mark stays valid if only later text changes."""
    entries = (entry.partition(":") for entry in (row.indexed or "").split())
    return [Mark(int(end), int(escaped)) for end, _, escaped in entries]


def last_mark(row: ConversationRow) -> Mark:
    """Return a conversation's last mark, or a mark at the beginning if there is none."""
    return [Mark(0, 0), *marks(row)][-1]


def set_marks(row: ConversationRow, marks: Iterable[Mark]) -> None:
    """Store the marks in the row."""
    row.indexed = " ".join(f"{mark.end}:{mark.escaped}" for mark in marks) or None


def _keep_marks(row: ConversationRow, before: bytes, after: State, same: int) -> None:
    """Keep each mark if the text before it is unchanged. The first `same` bytes are known to be equal."""
    first = first_byte(row, after)
    ends = {mark: max(0, mark.end - first) for mark in marks(row)}
    set_marks(row, [mark for mark, end in ends.items() if before[same:end] == after.turns[same:end]])


def unseal_tail(row: ConversationRow) -> tuple[bytes, list[bytes], new_messages.Totals]:
    """Return the last turns, the chunk digests, and the totals."""
    unsealed = encryption.unseal(row.workspace_id, row.associated_data("turns"), row.turns)
    tail, _, rest = unsealed.partition(_SEPARATOR)
    size = _DIGEST_BYTES * len(chunks(row))
    digests = [rest[start : start + _DIGEST_BYTES] for start in range(0, size, _DIGEST_BYTES)]
    return tail, digests, new_messages.unpack(rest[size:])


def _split(text: bytes, manifest: list[Chunk]) -> Iterator[bytes]:
    start = 0
    for chunk in manifest:
        yield text[start : start + chunk.length]
        start += chunk.length


def _join(pieces: Mapping[int, bytes], tail: bytes) -> bytes:
    return b"".join([*(pieces[index] for index in sorted(pieces)), tail])


def _digest(piece: bytes) -> bytes:
    return hashlib.blake2b(piece, digest_size=_DIGEST_BYTES).digest()


def _read_chunks(row: ConversationRow, indexes: Sequence[int]) -> dict[int, bytes]:
    """Return chunks by index. Reread missing or stale chunks with strong consistency."""
    if not indexes:
        return {}
    manifest, pieces = chunks(row), dict[int, bytes]()
    for consistent in (False, True):
        missing = [index for index in indexes if index not in pieces]
        keys = [storage.Key(ChunkRow, row.conversation, _chunk_name(index), consistent) for index in missing]
        rows: list[ChunkRow | None] = storage.find_many(keys)
        for index, chunk in zip(missing, rows, strict=True):
            if chunk and chunk.writing == manifest[index].write_id:
                pieces[index] = encryption.unseal(row.workspace_id, chunk.associated_data("part"), chunk.part)
    if len(pieces) < len(indexes):
        raise storage.ConditionFailed()
    return pieces


def _new_chunk(row: ConversationRow, index: int, write_id: str, text: bytes) -> ChunkRow:
    chunk = _chunk_row(row, index)
    chunk.writing = write_id
    chunk.part = encryption.seal(row.workspace_id, chunk.associated_data("part"), text, compression.DENSE)
    return chunk


def _chunk_row(row: ConversationRow, index: int) -> ChunkRow:
    return ChunkRow(row.conversation, _chunk_name(index))


def _chunk_name(index: int) -> str:
    return f"turns#{index:02}"
