"""Makes the emulator's elliptic curve keys replayable: their secrets come from the pinned randomness.

The library that generates them has its own. A snapshot holds plain data, so a key is bytes in it.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

_MEMBER = "_private_key"


def install(kms: ModuleType) -> None:
    """Patch the emulator's KMS module."""

    def generate(curve: Any) -> Any:
        # 255 bits: below the order of P-256, and not zero.
        secret = int.from_bytes(os.urandom(32), "big") >> 1 or 1
        return kms.ec.derive_private_key(secret, curve)

    kms.ec.generate_private_key = generate


def pack(kms: ModuleType, keys: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """The keys of a state, as plain data."""
    forms = kms.serialization
    arguments = (forms.Encoding.DER, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    return {
        name: {**key, _MEMBER: key[_MEMBER].private_bytes(*arguments)} if key.get(_MEMBER) else key
        for name, key in keys.items()
    }


def unpack(kms: ModuleType, keys: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """What `pack` was given."""
    return {
        name: {**key, _MEMBER: kms.serialization.load_der_private_key(key[_MEMBER], None)} if key.get(_MEMBER) else key
        for name, key in keys.items()
    }
