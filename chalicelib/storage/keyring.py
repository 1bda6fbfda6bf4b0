"""The data keys that documents are sealed with: made and wrapped by KMS, kept wrapped in a table.

The wrapped key stands in the database, not in the deployment's environment, so that a backup of the
tables has all that is needed (beside KMS) to read them. A process unwraps a key once.
"""

import os
from functools import lru_cache
from typing import Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError
from pynamodb.attributes import BinaryAttribute, NumberAttribute, UnicodeAttribute

from chalicelib import clock, errors, settings
from chalicelib.storage.client import sdk_client
from chalicelib.storage.reads import find as find_row
from chalicelib.storage.rows import Row, table
from chalicelib.storage.unit import put, unit_of_work

_CURRENT = "current"
_CONTEXT = {"service": "cams"}


class KeyRow(Row):
    """A wrapped data key under the hex of its four-byte id, and the newest one once more as `current`."""

    class Meta:
        table_name = table("keyring")

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
    """The key to seal with. Raises Unavailable when `ensure_data_key` has never been called."""
    return _unwrapped(_CURRENT)


@lru_cache(maxsize=64)
def find(key_id: bytes) -> DataKey:
    """The key with this id, to open what it sealed."""
    newest = current()
    return newest if newest.key_id == key_id else _unwrapped(key_id.hex())


def ensure_data_key() -> None:
    """Make the first data key where there is none. Needs `kms:GenerateDataKeyWithoutPlaintext`: operators only."""
    if find_row(KeyRow, _CURRENT) is None:
        rotate()


def rotate() -> None:
    """Seal with a new data key from now on; what the older ones sealed stays readable.

    Processes that already run go on with the key they know until they end.
    """
    wrapped = _kms("generate_data_key_without_plaintext", KeyId=settings.encryption_key(), KeySpec="AES_256")
    key_id = os.urandom(4).hex()
    current_row, own_row = (
        KeyRow(name, key_id=key_id, wrapped=wrapped["CiphertextBlob"], created_at=clock.seconds())
        for name in (_CURRENT, key_id)
    )
    # An id that exists must never come to mean another key: what the old one sealed could not be opened again.
    with unit_of_work():
        put(own_row, KeyRow.name.does_not_exist())
        put(current_row)
    current.cache_clear()


def _unwrapped(name: str) -> DataKey:
    row = find_row(KeyRow, name)
    if row is None:
        raise errors.Unavailable("The keyring has no such key; create a workspace first.")
    answer = _kms("decrypt", CiphertextBlob=row.wrapped)
    return DataKey(bytes.fromhex(row.key_id), answer["Plaintext"])


def _kms(operation: str, **parameters: Any) -> Any:
    try:
        return getattr(sdk_client("kms"), operation)(EncryptionContext=_CONTEXT, **parameters)
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        raise errors.Unavailable(f"The encryption key cannot be used ({code}); see the key and its policy.") from error
    except BotoCoreError as error:
        raise errors.Unavailable("The key service does not answer.") from error
