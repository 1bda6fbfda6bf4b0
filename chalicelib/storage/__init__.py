"""Everything that is kept, and the only way to it: rows, reads, writes, sealed documents.

The face of the package: other code imports from here, except for `sequence`, `parent_scoped_ids`, `keyring`, `client`
and `encryption`, which are imported as modules.
"""

from chalicelib.storage.client import ConditionFailed, sdk_client
from chalicelib.storage.documents import Document, DocumentRow, SealedRow, encode_json, same, seal, unseal
from chalicelib.storage.reads import find, find_many, query, scan
from chalicelib.storage.retries import pause
from chalicelib.storage.rows import AnyRow, Key, Row, TaggedRow, VersionedRow, key, parts, table
from chalicelib.storage.writes import (
    Step,
    as_stored,
    change,
    delete,
    delete_many,
    put,
    remove,
    require,
    retry_on_conflict,
    save,
    save_many,
    transact,
    update,
)

__all__ = [
    "AnyRow",
    "ConditionFailed",
    "Document",
    "DocumentRow",
    "Key",
    "Row",
    "SealedRow",
    "Step",
    "TaggedRow",
    "VersionedRow",
    "as_stored",
    "change",
    "delete",
    "delete_many",
    "encode_json",
    "find",
    "find_many",
    "key",
    "parts",
    "pause",
    "put",
    "query",
    "remove",
    "require",
    "retry_on_conflict",
    "same",
    "save",
    "save_many",
    "scan",
    "sdk_client",
    "seal",
    "table",
    "transact",
    "unseal",
    "update",
]
