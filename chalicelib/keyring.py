"""The data keys that documents are sealed with: made and wrapped by KMS, kept wrapped in a table.

The wrapped key stands in the database, not in the deployment's environment, so that a backup of the
tables has all that is needed (beside KMS) to read them. A process unwraps a key once.
"""

from functools import lru_cache
from typing import NamedTuple

from botocore.exceptions import BotoCoreError, ClientError
from pynamodb.attributes import BinaryAttribute, NumberAttribute, UnicodeAttribute

from chalicelib import clock, errors, settings, storage

_CURRENT = "current"
_CONTEXT = {"service": "cams"}


class KeyRow(storage.Row):
    """A wrapped data key under the hex of its four-byte id, and the newest one once more as `current`."""

    class Meta:
        table_name = storage.table("keyring")

    name = UnicodeAttribute(hash_key=True)
    key_id = UnicodeAttribute()
    wrapped = BinaryAttribute(legacy_encoding=False)
    created_at = NumberAttribute()


class DataKey(NamedTuple):
    """A key to seal with: the four bytes that name it, and its 32 secret bytes."""

    key_id: bytes
    secret: bytes

    def __repr__(self) -> str:
        return f"DataKey({self.key_id.hex()})"


@lru_cache(maxsize=1)
def current() -> DataKey:
    """The key to seal with. Raises Unavailable when `ensure` has never been called."""
    return _unwrapped(_CURRENT)


@lru_cache(maxsize=64)
def find(key_id: bytes) -> DataKey:
    """The key with this id, to open what it sealed."""
    newest = current()
    return newest if newest.key_id == key_id else _unwrapped(key_id.hex())


def ensure() -> None:
    """Make the first data key where there is none. Needs `kms:GenerateDataKeyWithoutPlaintext`: operators only."""
    if storage.find(KeyRow, _CURRENT) is None:
        rotate()


def rotate() -> None:
    """Seal with a new data key from now on; what the older ones sealed stays readable.

    Processes that already run go on with the key they know until they end.
    """
    answer = storage.client("kms").generate_data_key_without_plaintext(
        KeyId=settings.encryption_key(), KeySpec="AES_256", EncryptionContext=_CONTEXT
    )
    # 31 bits of milliseconds: unique for one keyring, and newer keys sort later.
    key_id = (clock.milliseconds() & 0xFFFFFFFF).to_bytes(4, "big").hex()
    rows = [
        KeyRow(name, key_id=key_id, wrapped=answer["CiphertextBlob"], created_at=clock.seconds())
        for name in (key_id, _CURRENT)
    ]
    storage.transact(*(storage.put(row) for row in rows))
    current.cache_clear()


def _unwrapped(name: str) -> DataKey:
    row = storage.find(KeyRow, name)
    if row is None:
        raise errors.Unavailable("The keyring has no such key; create a workspace first.")
    try:
        answer = storage.client("kms").decrypt(CiphertextBlob=row.wrapped, EncryptionContext=_CONTEXT)
    except (BotoCoreError, ClientError) as error:
        raise errors.Unavailable("The encryption key cannot be used; see the key policy.") from error
    return DataKey(bytes.fromhex(row.key_id), answer["Plaintext"])
