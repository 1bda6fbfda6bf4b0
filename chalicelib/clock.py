"""The only source of time and of new identifiers, so that a test can hold both still; and what identifies.

A request that may be run again (`repeatable`) has a source of its own: every run of it draws the same identifiers and
secrets at the same moment, and recognises what an earlier run has made.
"""

import hmac
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timezone

# What callers may choose as one; ours are narrower. Storage joins them with `#`.
IDENTIFIER = re.compile(r"[A-Za-z0-9._~@:+=,|-]{1,128}")

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# Where a new identifier says whose it is, if it was made by a repeatable request: 50 of its 80 bits beside the time.
_OWN = slice(-16, -6)


class _Source:
    """What a repeatable request draws from: all of it follows from `seed`."""

    def __init__(self, seed: bytes, started: int) -> None:
        self._seed = seed
        self.started = started
        self.position = 0
        self.prefix = self.bits(50) << 30
        self.own = id_at(0, self.prefix)[_OWN]

    def next(self) -> int:
        """The next number: 1, 2, 3, …"""
        self.position += 1
        return self.position

    def bits(self, count: int) -> int:
        """The next random bits, 512 at most."""
        digest = hmac.digest(self._seed, self.next().to_bytes(8, "big"), "sha512")
        return int.from_bytes(digest, "big") >> (512 - count)


_source: ContextVar[_Source | None] = ContextVar("source", default=None)


@contextmanager
def repeatable(seed: bytes, started: int) -> Iterator[None]:
    """Inside, time stands still at `started` (Unix ms), and each run of the block with this `seed` draws the same."""
    token = _source.set(_Source(seed, started))
    try:
        yield
    finally:
        _source.reset(token)


@contextmanager
def attempt() -> Iterator[None]:
    """What fails inside has drawn nothing: the next attempt draws the same, as the first one of another run does."""
    source = _source.get()
    position = source.position if source else 0
    try:
        yield
    except Exception:
        if source:
            source.position = position
        raise


def is_own(text: str) -> bool:
    """Whether `text` ends with an identifier that this repeatable request has made, in this run or an earlier one."""
    source = _source.get()
    return source is not None and text[_OWN] == source.own


def milliseconds() -> int:
    """Milliseconds since the Unix epoch."""
    source = _source.get()
    return source.started if source else _now()


def _now() -> int:
    return time.time_ns() // 1_000_000


def seconds() -> int:
    """Seconds since the Unix epoch, the unit of every time in a record."""
    return milliseconds() // 1000


def monotonic() -> float:
    """Seconds of a clock that never goes back; only differences mean something."""
    return time.monotonic()


def moment(unix_seconds: int) -> datetime:
    """`unix_seconds` as the kind of value that PynamoDB's TTL attribute takes."""
    return datetime.fromtimestamp(unix_seconds, timezone.utc)


def iso(unix_seconds: int) -> str:
    """`unix_seconds` in ISO 8601, as tools and created conversations carry it (§2.2, §2.11)."""
    return moment(unix_seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def sleep(duration: float) -> None:
    """Pause for `duration` seconds; here so that tests of repeated attempts need not wait."""
    time.sleep(duration)


def new_id() -> str:
    """A new identifier: 26 characters that sort by time of creation, 80 bits of them random."""
    source = _source.get()
    return id_at(milliseconds(), source.prefix | source.next() if source else secrets.randbits(80))


def new_mark() -> str:
    """The same for a write, to tell it from all others: never drawn twice, and its time is that of this moment."""
    source = _source.get()
    return id_at(_now(), source.prefix | secrets.randbits(30)) if source else new_id()


def id_at(unix_milliseconds: int, rest: int) -> str:
    """The identifier of a moment and 80 more bits, for what must have the same one whenever it is made."""
    number = (unix_milliseconds << 80) | rest
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def moment_of(identifier: str) -> int:
    """The Unix milliseconds at which an identifier of `new_id` or `id_at` was made. Raises ValueError for others."""
    number = 0
    for digit in identifier:
        number = number << 5 | _CROCKFORD.index(digit)
    return number >> 80


def random_text(length: int) -> str:
    """`length` random base62 characters, 5.95 bits each."""
    return "".join(_BASE62[_bits(64) * 62 >> 64] for _ in range(length))


def random_bytes(length: int) -> bytes:
    """`length` random bytes, 64 at most."""
    return _bits(8 * length).to_bytes(length, "big")


def _bits(count: int) -> int:
    source = _source.get()
    return source.bits(count) if source else secrets.randbits(count)
