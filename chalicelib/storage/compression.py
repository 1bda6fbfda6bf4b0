"""Deflate compression of stored texts. There is no checksum, because AES-GCM authenticates the bytes (`encryption`).

Layout: 2 bytes for the number of lengths, 4 bytes for each length, then a raw deflate stream. Only version 1.0.0 wrote
lengths, and readers skip them.
"""

import struct
import zlib

_NO_LENGTHS = b"\x00\x00"
# Compression levels. DENSE is for data that is written once: for transcripts, it takes twice as long and saves 10 %.
QUICK, DENSE = 3, 6
# Memory level. At one level below zlib's default, new blocks start more often, so transcripts compress better.
_MEMORY = 7


def pack(text: bytes, level: int = QUICK) -> bytes:
    """Compress `text` at this level."""
    deflate = zlib.compressobj(level, wbits=-zlib.MAX_WBITS, memLevel=_MEMORY)
    return b"".join((_NO_LENGTHS, deflate.compress(text), deflate.flush()))


def unpack(packed: bytes) -> bytes:
    """Decompress the result of `pack`. Raise ValueError for malformed bytes."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        (lengths,) = struct.unpack_from(">H", packed)
        text = inflate.decompress(packed[2 + 4 * lengths :])
    except (struct.error, zlib.error) as error:
        raise ValueError from error
    if not inflate.eof:
        raise ValueError("The stream is incomplete.")
    return text
