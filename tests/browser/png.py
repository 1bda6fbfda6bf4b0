"""Shrinks screenshots by mapping all colours to a palette of the 256 most frequent colours."""

import struct
import zlib
from collections import Counter
from functools import lru_cache

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOURS = 256


def reduce(png: bytes) -> bytes:
    """Return the picture with a palette. The input must have 8 bits per sample, no palette and no interlacing."""
    width, height, channels, raw = _decode(png)
    pixels = [raw[start : start + 3] for start in range(0, len(raw), channels)]
    palette = [colour for colour, _ in Counter(pixels).most_common(_COLOURS)]

    @lru_cache(None)
    def nearest(pixel: bytes) -> int:
        def distance(place: int) -> int:
            return sum((one - other) ** 2 for one, other in zip(pixel, palette[place], strict=True))

        return min(range(len(palette)), key=distance)

    rows = (bytes(map(nearest, pixels[start : start + width])) for start in range(0, width * height, width))
    return b"".join((
        _SIGNATURE,
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        _chunk(b"PLTE", b"".join(palette)),
        _chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows), 9)),
        _chunk(b"IEND", b""),
    ))  # fmt: skip


def _decode(png: bytes) -> tuple[int, int, int, bytes]:
    """Return a picture's width, height, bytes per pixel, and pixel bytes."""
    position, packed, header = len(_SIGNATURE), b"", b""
    while position < len(png):
        (length,), kind = struct.unpack(">I", png[position : position + 4]), png[position + 4 : position + 8]
        data = png[position + 8 : position + 8 + length]
        header, packed = (data if kind == b"IHDR" else header), packed + (data if kind == b"IDAT" else b"")
        position += length + 12
    width, height, _, colour, *_ = struct.unpack(">IIBBBBB", header)
    channels = {2: 3, 6: 4}[colour]
    return width, height, channels, _unfilter(zlib.decompress(packed), width * channels, channels)


def _unfilter(data: bytes, stride: int, channels: int) -> bytes:
    pixels, above = bytearray(), bytes(stride)
    for start in range(0, len(data), stride + 1):
        kind, row = data[start], bytearray(data[start + 1 : start + 1 + stride])
        for place in range(stride):
            left = row[place - channels] if place >= channels else 0
            corner = above[place - channels] if place >= channels else 0
            row[place] = (row[place] + _guess(kind, left, above[place], corner)) & 255
        pixels += row
        above = bytes(row)
    return bytes(pixels)


def _guess(kind: int, left: int, up: int, corner: int) -> int:
    """Return the value that a row's filter predicts for a byte."""
    if kind == 4:
        expected = left + up - corner
        return min((left, up, corner), key=lambda value: abs(expected - value))
    return (0, left, up, (left + up) // 2)[kind]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
