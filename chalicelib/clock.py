"""The only source of time and of new identifiers, so that a test can hold both still; and what identifies."""

import re
import secrets
import time
from datetime import datetime, timezone

# What callers may choose as one; ours are narrower. Storage joins them with `#`.
IDENTIFIER = re.compile(r"[A-Za-z0-9._~@:+=,|-]{1,128}")

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_system = secrets.SystemRandom()


def milliseconds() -> int:
    """Milliseconds since the Unix epoch."""
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
    return id_at(milliseconds(), secrets.randbits(80))


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
    return "".join(_system.choices(_BASE62, k=length))
