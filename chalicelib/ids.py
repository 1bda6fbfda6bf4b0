"""Identifiers and secrets: the only source of randomness, so that a test can hold it still.

An identifier of ours is a ULID in lower case: 26 characters of Crockford's base 32, 48 bits of time and 80 random ones,
so that identifiers sort by their time of creation (https://github.com/ulid/spec).
"""

import re
import secrets

from chalicelib import clock

# What callers may choose as an identifier; ours are narrower. Storage joins them with `#`.
IDENTIFIER = re.compile(r"[A-Za-z0-9._~@:+=,|-]{1,128}")

_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def new_id() -> str:
    """A new ULID."""
    return id_at(clock.milliseconds(), secrets.randbits(80))


def id_at(unix_milliseconds: int, rest: int) -> str:
    """The ULID of a moment and 80 more bits, for a record that must have the same one whenever it is made."""
    number = (unix_milliseconds << 80) | rest
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def timestamp_of(identifier: str) -> int:
    """The Unix milliseconds at which a ULID of ours was made. Raises ValueError for anything else."""
    number = 0
    for digit in identifier:
        number = number << 5 | _CROCKFORD.index(digit)
    return number >> 80


def random_text(length: int) -> str:
    """`length` random base62 characters, 5.95 bits each."""
    return "".join(_BASE62[secrets.randbits(64) * 62 >> 64] for _ in range(length))


def random_bytes(length: int) -> bytes:
    """`length` random bytes."""
    return secrets.token_bytes(length)
