"""Compression is lossless, and does not compress an unchanged prefix again."""

import random
import zlib

import pytest

from chalicelib.storage import compression
from tests.selection import each_value_once, one_of_each

PART = 16_384
_WORDS = random.Random(0).choices([f"word-{number}" for number in range(500)], k=40_000)
LONG = " ".join(_WORDS).encode()[: 10 * PART]


@one_of_each(lambda size: size > PART)
@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, PART + 1, 3 * PART, 3 * PART + 1, len(LONG)])
def test_compressed_bytes_decompress_unchanged(size: int) -> None:
    assert compression.unpack(compression.pack(LONG[:size])) == LONG[:size]


@each_value_once
@pytest.mark.parametrize("old", [0, 100, PART, 2 * PART, 5 * PART + 1, 6 * PART])
@pytest.mark.parametrize("unchanged", [0, 1, PART - 1, PART, 3 * PART, 5 * PART + 1])
@pytest.mark.parametrize("new", [0, PART, 4 * PART + 5])
@pytest.mark.parametrize("known", ["all of it", "its beginning"])
def test_bytes_decompress_unchanged_after_any_earlier_version(old: int, unchanged: int, new: int, known: str) -> None:
    before = LONG[:old]
    packed = compression.pack(before)
    after = before[:unchanged] + LONG[-new:]
    known_bytes = before if known == "all of it" else before[: old // 2]
    again = compression.pack(after, known_bytes, packed)
    assert compression.unpack(again) == after
    # Once more on top of that: the reused part is reused again.
    longer = after + LONG[:1000]
    assert compression.unpack(compression.pack(longer, after, again)) == longer


def test_only_known_bytes_are_reused() -> None:
    # Only the beginning is known; equal bytes after it are not reused.
    packed = compression.pack(LONG[: PART + 100] + b"other" * PART)
    after = LONG[: 2 * PART]
    assert compression.unpack(compression.pack(after, LONG[: PART + 100], packed)) == after


def test_appended_bytes_are_compressed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = LONG[: 6 * PART + 100] + b"]"
    packed = compression.pack(before)
    compressed: list[int] = []
    real = zlib.compressobj

    class Counting:
        def __init__(self, *arguments: object) -> None:
            self._real = real(*arguments)  # type: ignore[arg-type]

        def compress(self, text: bytes) -> bytes:
            compressed.append(len(text))
            return self._real.compress(text)

        def flush(self, *mode: int) -> bytes:
            return self._real.flush(*mode)

    monkeypatch.setattr(compression.zlib, "compressobj", Counting)
    after = before[:-1] + LONG[:1000] + b"]"
    assert compression.unpack(compression.pack(after, before, packed)) == after
    assert sum(compressed) == 100 + 1000 + 1


@one_of_each(lambda size: size > 2 * PART)
@pytest.mark.parametrize("size", [0, 1, PART, 2 * PART, 2 * PART + 1, len(LONG)])
def test_what_the_dictionary_contains_costs_a_few_bytes(size: int) -> None:
    dictionary = LONG[:size]
    text = b'{"text": "' + dictionary[-2_000:] + b'"}'
    packed = compression.pack(text, dictionary=dictionary)
    assert compression.unpack(packed, dictionary) == text
    assert len(packed) < 60


def test_a_short_text_prepares_only_the_end_of_a_long_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: list[int] = []
    real = zlib.compressobj

    def counting(*arguments: object) -> object:
        prepared.append(len(arguments[-1]))  # type: ignore[arg-type]
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(compression.zlib, "compressobj", counting)
    text = LONG[-100:]
    assert compression.unpack(compression.pack(text, dictionary=LONG), LONG) == text
    assert prepared == [4 * len(text)]


def test_the_result_is_not_larger_than_zlib_s() -> None:
    grown = b""
    packed = compression.pack(b"")
    for end in range(0, len(LONG), 700):
        packed = compression.pack(LONG[:end], grown, packed)
        grown = LONG[:end]
    assert len(packed) <= 1.01 * len(zlib.compress(grown, 3))
    assert len(compression.pack(b"{}")) <= len(zlib.compress(b"{}", 3))


@one_of_each(lambda: None)
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
