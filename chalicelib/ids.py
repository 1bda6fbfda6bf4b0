"""Identifiers and secrets: the only source of random ids and secrets, which tests patch.

The service generates lower-case ULIDs: 26 characters in Crockford's base 32, which encode 48 time bits and 80 random
bits. ULIDs sort by creation time (https://github.com/ulid/spec).
"""

import re
import secrets

from chalicelib import clock

# Identifiers that callers may choose. `#` is excluded, because it joins identifiers in storage keys.
IDENTIFIER = re.compile(r"[A-Za-z0-9._~@:+=,|-]{1,128}")
# Identifiers that are rejected in paths, because clients and proxies resolve them: `DELETE …/convos/..` would delete
# the agent.
DOT_SEGMENTS = (".", "..")
IDENTIFIER_RULE = "1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : + = , | -"

# A sealed identifier in base64url. The longest identifier takes up 218 characters when sealed.
SEALED_ID = re.compile(r"[A-Za-z0-9_-]{1,300}")
SEALED_ID_RULE = "1 to 300 of the characters A-Z a-z 0-9 _ -"

# A string that sorts after every ULID.
HIGHEST = "~"

ULID = re.compile(r"[0-7][0-9a-hjkmnp-tv-z]{25}")
CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def new_id() -> str:
    """Return a new ULID."""
    return id_at(clock.milliseconds(), secrets.randbits(80))


def id_at(unix_milliseconds: int, low_bits: int) -> str:
    """Return the ULID for a time and 80 bits. Equal arguments give the same ULID, so repeated work is idempotent."""
    number = (unix_milliseconds << 80) | low_bits
    return "".join(CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))


def timestamp_of(identifier: str) -> int:
    """Return a ULID's creation time in Unix milliseconds. Raise ValueError if it has invalid characters."""
    number = 0
    for digit in identifier:
        number = number << 5 | CROCKFORD.index(digit)
    return number >> 80


def next_id(identifier: str) -> str:
    """Return a new ULID that is at least one millisecond later than `identifier`, even if the clock was set back."""
    new, earliest = new_id(), timestamp_of(identifier) + 1
    return new if timestamp_of(new) >= earliest else id_at(earliest, secrets.randbits(80))


def highest_before(position: str) -> str:
    """Return the highest string of identifier characters that sorts before `position`."""
    return position[:-1] + chr(ord(position[-1]) - 1) + HIGHEST


def random_text(length: int) -> str:
    """Return `length` random base62 characters of 5.95 bits each."""
    return "".join(BASE62[secrets.randbits(64) * 62 >> 64] for _ in range(length))


def random_bytes(length: int) -> bytes:
    """Return `length` random bytes."""
    return secrets.token_bytes(length)
