"""Documents to and from one encrypted, compressed attribute; nothing else encrypts.

JSON bytes -> deflate (`compression`) -> AES-256-GCM. The data key is made and wrapped by KMS, kept wrapped in
the keyring table, and unwrapped once per process; every workspace has a key of its own derived from it. The item's
place (table, key, attribute) is authenticated with the bytes, so that a ciphertext that is copied to
another item, or another workspace, does not open.

Layout: 1 byte of layout, 4 bytes of key id, 12 bytes of nonce, ciphertext and tag.
"""

import hmac
import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from chalicelib.storage import compression, keyring

_LAYOUT = b"\x02"
_HEADER = 1 + 4 + 12


class DecryptionError(Exception):
    """The bytes are not what was sealed at this place; they were altered, moved or cut."""


def seal(workspace_id: str, place: str, payload: bytes, level: int = compression.QUICK) -> bytes:
    """Seal JSON bytes for one place of one workspace."""
    return _closed(workspace_id, place, compression.pack(payload, level=level))


def reseal(workspace_id: str, place: str, payload: bytes, before: bytes, sealed: bytes) -> bytes:
    """Seal JSON bytes in the place of `sealed`, whose payload begins with `before`: what is alike at the beginning is
    not compressed again. Raises DecryptionError as `unseal` does."""
    return _closed(workspace_id, place, compression.pack(payload, before, _opened(workspace_id, place, sealed)))


def unseal(workspace_id: str, place: str, sealed: bytes) -> bytes:
    """The JSON bytes sealed for this place. Raises DecryptionError for anything else."""
    try:
        return compression.unpack(_opened(workspace_id, place, sealed))
    except ValueError as error:
        raise DecryptionError(place) from error


def _closed(workspace_id: str, place: str, packed: bytes) -> bytes:
    key = keyring.current()
    nonce = os.urandom(12)
    return _LAYOUT + key.key_id + nonce + _cipher(key, workspace_id).encrypt(nonce, packed, place.encode())


def _opened(workspace_id: str, place: str, sealed: bytes) -> bytes:
    if sealed[:1] != _LAYOUT or len(sealed) < _HEADER:
        raise DecryptionError(place)
    cipher = _cipher(keyring.find(sealed[1:5]), workspace_id)
    try:
        return cipher.decrypt(sealed[5:_HEADER], sealed[_HEADER:], place.encode())
    except InvalidTag as error:
        raise DecryptionError(place) from error


@lru_cache(maxsize=1024)
def _cipher(key: keyring.DataKey, workspace_id: str) -> AESGCM:
    return AESGCM(hmac.digest(key.secret, b"workspace:" + workspace_id.encode(), "sha256"))
