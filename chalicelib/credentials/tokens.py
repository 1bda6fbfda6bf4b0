"""The token format, and the hash that is stored instead of the token.

A token consists of `cams_<kind>_`, 43 base62 characters (256 random bits) and a CRC-32 checksum of 6 characters. Secret
scanners can recognise leaked tokens, and mistyped tokens are rejected without a database request.

An agent key may also be chosen by the caller, so that teams can keep their keys when they migrate to CAMS.
"""

import hashlib
import re
import zlib

from chalicelib import ids

WORKSPACE = "workspace"
AGENT = "agent"
ACCESS = "access"
VISITOR = "visitor"
SESSION = "session"
VISITOR_PREFIX = f"cams_{VISITOR}_"

_TOKEN = re.compile(rf"cams_({WORKSPACE}|{AGENT}|{ACCESS}|{VISITOR}|{SESSION})_[0-9A-Za-z]{{43}}([0-9A-Za-z]{{6}})")
# Limits on keys that callers choose. All allowed characters are valid in HTTP headers.
MIN_KEY, MAX_KEY = 32, 512
KEY_CHARACTERS = "[!-~]"
_CHOSEN_KEY = re.compile(rf"(?!cams_){KEY_CHARACTERS}{{{MIN_KEY},{MAX_KEY}}}")
AGENT_KEY_RULE = (
    f"must be {MIN_KEY} to {MAX_KEY} visible ASCII characters without spaces; a key that begins with cams_ must be an "
    "agent key that the service has generated"
)


def new(kind: str) -> str:
    """Return a new token of this kind."""
    start = f"cams_{kind}_{ids.random_text(43)}"
    return start + _checksum(start)


def new_webhook_secret() -> str:
    """Return a new `workspaceSecret` (§5). Webhook bodies contain it, but it is not a credential."""
    return f"cams_events_{ids.random_text(43)}"


def kind(token: str) -> str | None:
    """Return the kind of a well-formed token, or None for any other text."""
    match = _TOKEN.fullmatch(token)
    return match[1] if match and match[2] == _checksum(token[:-6]) else None


def is_agent_key(text: str) -> bool:
    """Return whether a text can be an agent key: an agent token, or a key that a caller has chosen."""
    return kind(text) == AGENT or _CHOSEN_KEY.fullmatch(text) is not None


def is_well_formed(text: str) -> bool:
    """Return whether a text can be a credential: a token of any kind, or a key that a caller has chosen."""
    return kind(text) is not None or is_agent_key(text)


def fingerprint(token: str) -> str:
    """Return the hash that is stored for a token: SHA-256 in hex. Tokens have 256 random bits, so the hash needs no
    salt.

    No credential contains a space. Therefore, the table can also store hashes of texts with a space, for other
    purposes.
    """
    return hashlib.sha256(token.encode()).hexdigest()


def conversation_fingerprint(token: str, conversation_id: str) -> str:
    """Return the hash of a conversation id for a visitor token's row.

    The id may be an email. The hash includes the token, so guessed emails cannot be tested against it.
    """
    return fingerprint(f"{token} {conversation_id}")


def _checksum(text: str) -> str:
    number = zlib.crc32(text.encode())
    digits = ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = ids.BASE62[digit] + digits
    return digits
