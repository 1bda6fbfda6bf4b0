"""Bytes to and from deflate, so that what grows at its end is not compressed again from its beginning.

It is done in parts: each ends at a byte, and may refer to what stands before it, so that all are one stream. What
begins alike begins with the same parts. No checksum: whoever keeps the bytes authenticates them.

Layout: 2 bytes with the number of whole parts, 4 bytes for the length of each in the stream, the stream.
"""

import struct
import zlib

_PART = 16_384  # bytes; a shorter one costs more at its ends, a longer one is compressed again more often
_WINDOW = 32_768
# Levels. The dense one takes about twice as long on a transcript, for about a tenth less: for what is written once and
# read often.
QUICK, DENSE = 3, 6


def pack(text: bytes, before: bytes = b"", packed: bytes | None = None, level: int = QUICK) -> bytes:
    """`text`, compressed at this level. `packed` may hold something older that begins with `before`: the parts that
    are alike are taken from it."""
    lengths, stream = _opened(packed) if packed else ([], b"")
    kept = _alike(text, before, len(lengths))
    lengths = lengths[:kept]
    start = kept * _PART
    window = text[max(start - _WINDOW, 0) : start]
    deflate = zlib.compressobj(
        level, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_DEFAULT_STRATEGY, window
    )
    parts = [stream[: sum(lengths)]]
    while start + _PART <= len(text):
        parts.append(deflate.compress(text[start : start + _PART]) + deflate.flush(zlib.Z_SYNC_FLUSH))
        lengths.append(len(parts[-1]))
        start += _PART
    end = deflate.compress(text[start:]) + deflate.flush()
    return b"".join([struct.pack(f">H{len(lengths)}I", len(lengths), *lengths), *parts, end])


def unpack(packed: bytes) -> bytes:
    """What `pack` has compressed. Raises ValueError for what it has not made."""
    try:
        return zlib.decompress(_opened(packed)[1], -zlib.MAX_WBITS)
    except (struct.error, zlib.error) as error:
        raise ValueError from error


def _opened(packed: bytes) -> tuple[list[int], bytes]:
    """The lengths of the whole parts in the stream, and the stream."""
    (count,) = struct.unpack_from(">H", packed)
    return list(struct.unpack_from(f">{count}I", packed, 2)), packed[2 + 4 * count :]


def _alike(text: bytes, before: bytes, most: int) -> int:
    """With how many whole parts both begin."""
    most = min(most, len(before) // _PART)
    known = memoryview(before)
    for index in range(most):
        at = index * _PART
        if not text.startswith(known[at : at + _PART], at):
            return index
    return most
