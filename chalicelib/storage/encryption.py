"""Envelope encryption for stored attributes. No other module encrypts data.

JSON bytes are compressed (`compression`), then encrypted with AES-256-GCM. KMS generates and wraps the data key
(`keyring`). Each workspace has its own key, derived from the data key by HMAC. The associated data (AAD) contains the
table, item key and attribute, so a ciphertext that is copied to another item or workspace cannot be decrypted.

Encrypted attributes consist of 1 byte for the layout (`layouts`), which is also authenticated, 4 bytes for the key id,
12 bytes for the nonce, the ciphertext and the tag.
"""

import hmac
import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from chalicelib.storage import compression, keyring, layouts

_HEADER = 1 + 4 + 12


class DecryptionError(Exception):
    """The bytes cannot be decrypted with this associated data: they were altered, or belong to another item or key.

    The error has no message, because logs include error messages and the associated data contains ids.
    """


def seal(workspace_id: str, associated_data: str, payload: bytes, level: int = compression.QUICK) -> bytes:
    """Compress and encrypt JSON bytes with the workspace's key. `associated_data` comes from `Row.associated_data`."""
    key, packed = keyring.current(), compression.pack(payload, level)
    layout, nonce = bytes([layouts.to_write()]), os.urandom(12)
    encrypted = _cipher(key, workspace_id).encrypt(nonce, packed, layout + associated_data.encode())
    return layout + key.key_id + nonce + encrypted


def unseal(workspace_id: str, associated_data: str, sealed: bytes) -> bytes:
    """Return the JSON bytes that `seal` encrypted with the same arguments. Raise DecryptionError or UnknownLayout."""
    if len(sealed) < _HEADER or sealed[0] not in layouts.NUMBERS:
        raise DecryptionError
    layouts.check(sealed[0])
    try:
        cipher = _cipher(keyring.find(sealed[1:5]), workspace_id)
        packed = cipher.decrypt(sealed[5:_HEADER], sealed[_HEADER:], sealed[:1] + associated_data.encode())
        return compression.unpack(packed)
    except (InvalidTag, keyring.UnknownKey, ValueError) as error:
        raise DecryptionError from error


@lru_cache(maxsize=1024)
def _cipher(key: keyring.DataKey, workspace_id: str) -> AESGCM:
    return AESGCM(hmac.digest(key.secret, b"workspace:" + workspace_id.encode(), "sha256"))
