"""Data keys for envelope encryption. KMS generates and wraps them, and a table stores them in wrapped form.

The wrapped keys are in the database, not in the deployment's environment, so that a backup of the tables can be read
with KMS alone. A process unwraps each key once.
"""

import os
from functools import lru_cache
from typing import Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError
from pynamodb.attributes import BinaryAttribute, NumberAttribute, UnicodeAttribute

from chalicelib import clock, errors, settings
from chalicelib.storage.client import sdk_client
from chalicelib.storage.reads import find as find_row
from chalicelib.storage.rows import Lifecycle, Row, table
from chalicelib.storage.unit import put, unit_of_work

_CURRENT = "current"
_CONTEXT = {"service": "cams"}


class KeyRow(Row):
    """A wrapped data key. Its name is its four-byte id in hex; the newest key is also stored as `current`."""

    class Meta:
        table_name = table("keyring")

    lifecycle = Lifecycle(
        "{key id}", "", owner="stage", export="no: an import uses its own key", erasure="no: contains no document"
    )
    name = UnicodeAttribute(hash_key=True)
    key_id = UnicodeAttribute()
    wrapped = BinaryAttribute(legacy_encoding=False)
    created_at = NumberAttribute()


class DataKey(NamedTuple):
    """An unwrapped data key: its four-byte id and its 32 secret bytes."""

    key_id: bytes
    secret: bytes

    def __repr__(self) -> str:
        return f"DataKey({self.key_id.hex()})"


class UnknownKey(Exception):
    """The keyring has no key with this id. Keys are stored before use, so the id is corrupt or the key is lost."""


@lru_cache(maxsize=1)
def current() -> DataKey:
    """Return the current encryption key. Raise Unavailable before the first `ensure_data_key`, or if KMS fails."""
    row = find_row(KeyRow, _CURRENT)
    if row is None:
        raise errors.Unavailable("The keyring contains no data key; create a workspace first.")
    return _unwrap(row)


@lru_cache(maxsize=64)
def find(key_id: bytes) -> DataKey:
    """Return the decryption key with this id. Raise UnknownKey, and Unavailable as `current` does."""
    newest = current()
    if newest.key_id == key_id:
        return newest
    row = find_row(KeyRow, key_id.hex())
    if row is None:
        raise UnknownKey
    return _unwrap(row)


def ensure_data_key() -> None:
    """Create the first data key if none exists. Operators need `kms:GenerateDataKeyWithoutPlaintext`."""
    if find_row(KeyRow, _CURRENT) is None:
        rotate()


def rotate() -> None:
    """Create a data key and use it for all further encryption. Older keys still decrypt older documents.

    Running processes continue to encrypt with their loaded key until they end.
    """
    wrapped = _kms("generate_data_key_without_plaintext", KeyId=settings.encryption_key(), KeySpec="AES_256")
    key_id = os.urandom(4).hex()
    current_row, own_row = (
        KeyRow(name, key_id=key_id, wrapped=wrapped["CiphertextBlob"], created_at=clock.seconds())
        for name in (_CURRENT, key_id)
    )
    # Replacing an existing id's key would make everything that it encrypted unreadable.
    with unit_of_work():
        put(own_row, KeyRow.name.does_not_exist())
        put(current_row)
    current.cache_clear()


def _unwrap(row: KeyRow) -> DataKey:
    response = _kms("decrypt", CiphertextBlob=row.wrapped)
    return DataKey(bytes.fromhex(row.key_id), response["Plaintext"])


def _kms(operation: str, **parameters: Any) -> Any:
    try:
        return getattr(sdk_client("kms"), operation)(EncryptionContext=_CONTEXT, **parameters)
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        raise errors.Unavailable(f"KMS rejected the encryption key ({code}); check the key and its policy.") from error
    except BotoCoreError as error:
        raise errors.Unavailable("KMS is not reachable; try again.") from error
