"""Compression is lossless, reads data that version 1.0.0 wrote, and detects invalid bytes."""

import random
import struct
import zlib

import pytest

from chalicelib.storage import compression
from tests.selection import first_case, one_of_each

PART = 16_384
_WORDS = random.Random(0).choices([f"word-{number}" for number in range(500)], k=40_000)
LONG = " ".join(_WORDS).encode()[: 10 * PART]


@one_of_each(lambda size: size > PART)
@pytest.mark.parametrize("size", [0, 1, PART, 3 * PART + 1, len(LONG)])
def test_compressed_bytes_decompress_unchanged(size: int) -> None:
    assert compression.unpack(compression.pack(LONG[:size])) == LONG[:size]


@pytest.mark.parametrize("parts", [0, 1, 3])
def test_the_lengths_of_parts_that_version_1_0_0_wrote_are_skipped(parts: int) -> None:
    deflate = zlib.compressobj(3, wbits=-zlib.MAX_WBITS)
    whole = [
        deflate.compress(LONG[number * PART : (number + 1) * PART]) + deflate.flush(zlib.Z_SYNC_FLUSH)
        for number in range(parts)
    ]
    end = deflate.compress(LONG[parts * PART : parts * PART + 100]) + deflate.flush()
    packed = struct.pack(f">H{parts}I", parts, *map(len, whole)) + b"".join([*whole, end])
    assert compression.unpack(packed) == LONG[: parts * PART + 100]


@pytest.mark.parametrize("text", [b"{}", LONG], ids=len)
def test_the_result_is_not_larger_than_that_of_zlib(text: bytes) -> None:
    assert len(compression.pack(text)) <= len(zlib.compress(text, 3))


@first_case
@pytest.mark.parametrize(
    "wrong", [b"", b"\x00", b"\x00\x01", b"\x00\x00", b"\x00\x00x", zlib.compress(b"{}")], ids=repr
)
def test_bytes_of_another_format_are_detected(wrong: bytes) -> None:
    with pytest.raises(ValueError):
        compression.unpack(wrong)


def test_truncated_bytes_are_detected() -> None:
    packed = compression.pack(LONG)
    with pytest.raises(ValueError):
        compression.unpack(packed[:-1])
