"""Incremental deflate compression: a text that grows at its end is compressed from its last whole part only.

The text is compressed in parts of 16 KiB. Each part ends on a byte boundary and may refer back to earlier text, so the
parts form one deflate stream. Texts with a common beginning have the same first parts. There is no checksum: AES-GCM
authenticates the bytes (`encryption`).

Layout: 2 bytes for the number of whole parts, 4 bytes for the length of each in the stream, then the stream.
"""

import struct
import zlib

_PART = 16_384  # bytes; smaller parts compress worse, larger parts are recompressed more often
_WINDOW = 32_768
# A short text needs a small window and little memory, which zlib clears first. zlib refers back by the bytes of the
# window less its look-ahead, and at this level of memory compresses a text that fits into the window as one block.
_LOOK_AHEAD, _LESS_MEMORY = 262, 6
_LOOK_BACK = 4  # bytes of a dictionary for each byte of a text
# Compression levels. On transcripts DENSE takes twice as long as QUICK and saves a tenth: for data written once.
QUICK, DENSE = 3, 6


def pack(
    text: bytes, before: bytes = b"", packed: bytes | None = None, level: int = QUICK, dictionary: bytes = b""
) -> bytes:
    """Compress `text` at this level.

    `packed`, if given, is an earlier result for a text that begins with `before`. The whole parts that `text` and
    `before` have in common are copied from it. What `text` repeats from the end of `dictionary` costs a few bytes. Of
    the dictionary only the last bytes are used, four for each byte of the text: preparing a long one costs more than
    compressing a short text. `unpack` may get all of it, because references count from its end.
    """
    lengths, stream = _split(packed) if packed else ([], b"")
    kept = _common_parts(text, before, len(lengths))
    lengths = lengths[:kept]
    start = kept * _PART
    window = text[max(start - _WINDOW, 0) : start] or dictionary[-min(_LOOK_BACK * len(text), _WINDOW) :]
    reach = len(window) + len(text) - start + _LOOK_AHEAD
    bits = min(reach.bit_length(), zlib.MAX_WBITS)
    memory = min(bits - _LESS_MEMORY, zlib.DEF_MEM_LEVEL)
    deflate = zlib.compressobj(level, zlib.DEFLATED, -bits, memory, zlib.Z_DEFAULT_STRATEGY, window)
    parts = [stream[: sum(lengths)]]
    while start + _PART <= len(text):
        parts.append(deflate.compress(text[start : start + _PART]) + deflate.flush(zlib.Z_SYNC_FLUSH))
        lengths.append(len(parts[-1]))
        start += _PART
    end = deflate.compress(text[start:]) + deflate.flush()
    return b"".join([struct.pack(f">H{len(lengths)}I", len(lengths), *lengths), *parts, end])


def unpack(packed: bytes, dictionary: bytes = b"") -> bytes:
    """Decompress the result of `pack` with the same dictionary. Raises ValueError for malformed bytes."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS, dictionary[-_WINDOW:])
    try:
        text = inflate.decompress(_split(packed)[1])
    except (struct.error, zlib.error) as error:
        raise ValueError from error
    if not inflate.eof:
        raise ValueError("The stream is incomplete.")
    return text


def _split(packed: bytes) -> tuple[list[int], bytes]:
    """The compressed lengths of the whole parts, and the stream."""
    (count,) = struct.unpack_from(">H", packed)
    return list(struct.unpack_from(f">{count}I", packed, 2)), packed[2 + 4 * count :]


def _common_parts(text: bytes, before: bytes, limit: int) -> int:
    """The number of whole parts that both texts begin with, up to `limit`."""
    limit = min(limit, len(before) // _PART)
    view = memoryview(before)
    for index in range(limit):
        start = index * _PART
        if not text.startswith(view[start : start + _PART], start):
            return index
    return limit
