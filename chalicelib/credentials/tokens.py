"""What a token looks like, and the hash it is stored under. Pure; no token is kept anywhere in clear.

`cams_<kind>_` + 43 base62 characters (256 bits) + 6 characters of CRC-32, so that a scanner can
recognise a leaked one, and a mistyped one costs no request.
"""

import hashlib
import re
import zlib

from chalicelib import ids

WORKSPACE = "workspace"
AGENT = "agent"
ACCESS = "access"

_TOKEN = re.compile(rf"cams_({WORKSPACE}|{AGENT}|{ACCESS})_[0-9A-Za-z]{{43}}([0-9A-Za-z]{{6}})")
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def new(kind: str) -> str:
    """A new token of one of the three kinds."""
    start = f"cams_{kind}_{ids.random_text(43)}"
    return start + _checksum(start)


def new_webhook_secret() -> str:
    """A new `workspaceSecret` (§5): it goes out in webhook bodies and opens nothing."""
    return f"cams_events_{ids.random_text(43)}"


def kind(token: str) -> str | None:
    """The kind of a well-formed token, None for anything else."""
    match = _TOKEN.fullmatch(token)
    return match[1] if match and match[2] == _checksum(token[:-6]) else None


def fingerprint(token: str) -> str:
    """What a token is stored and looked up as: SHA-256, 64 hex digits. 256 random bits need no salt."""
    return hashlib.sha256(token.encode()).hexdigest()


def _checksum(text: str) -> str:
    number = zlib.crc32(text.encode())
    digits = ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = _DIGITS[digit] + digits
    return digits
