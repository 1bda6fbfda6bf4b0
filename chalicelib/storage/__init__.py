"""The database: rows, reads, sealed documents, and the unit of work that commits every conditional write.

This module is the package's public interface. Callers import the modules `parent_scoped_ids`, `keyring`, `client`,
`encryption` and `history` directly.
"""

from chalicelib.storage.authors import AuthoredRow, author_of, current_author, split_author, written_by
from chalicelib.storage.bulk import delete_many, save_many
from chalicelib.storage.client import ConditionFailed, Item, is_outage, sdk_client, seconds_left
from chalicelib.storage.documents import (
    Document,
    DocumentRow,
    SealedRow,
    encode_json,
    json_equal,
    seal,
    unseal,
    unseal_text,
)
from chalicelib.storage.reads import (
    count,
    find,
    find_many,
    find_serializable,
    iterate,
    query,
    query_once,
    scan,
)
from chalicelib.storage.retries import pause
from chalicelib.storage.rows import AnyRow, Key, Row, TaggedRow, VersionedRow, key, logical_name, split_key, table
from chalicelib.storage.unit import (
    current_unit,
    delete,
    in_unit_of_work,
    put,
    put_first,
    require,
    retry_on_conflict,
    unit_of_work,
    update,
)

__all__ = [
    "AnyRow",
    "AuthoredRow",
    "ConditionFailed",
    "Document",
    "DocumentRow",
    "Item",
    "Key",
    "Row",
    "SealedRow",
    "TaggedRow",
    "VersionedRow",
    "author_of",
    "count",
    "current_author",
    "current_unit",
    "delete",
    "delete_many",
    "encode_json",
    "find",
    "find_many",
    "find_serializable",
    "in_unit_of_work",
    "is_outage",
    "iterate",
    "json_equal",
    "key",
    "logical_name",
    "pause",
    "put",
    "put_first",
    "query",
    "query_once",
    "require",
    "retry_on_conflict",
    "save_many",
    "scan",
    "sdk_client",
    "seal",
    "seconds_left",
    "split_author",
    "split_key",
    "table",
    "unit_of_work",
    "unseal",
    "unseal_text",
    "update",
    "written_by",
]
