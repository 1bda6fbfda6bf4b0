"""The database: rows, reads, encrypted documents, and the unit of work that commits every conditional write.

This module is the package's public interface. Callers import the modules `parent_scoped_ids`, `keyring`, `client`,
`encryption` and `deletion_hooks` directly.
"""

from chalicelib.storage.authors import AuthoredRow as AuthoredRow
from chalicelib.storage.authors import author_of as author_of
from chalicelib.storage.authors import current_author as current_author
from chalicelib.storage.authors import split_author as split_author
from chalicelib.storage.authors import written_by as written_by
from chalicelib.storage.batch_writes import delete_many as delete_many
from chalicelib.storage.batch_writes import save_many as save_many
from chalicelib.storage.client import ConditionFailed as ConditionFailed
from chalicelib.storage.client import Item as Item
from chalicelib.storage.client import is_outage as is_outage
from chalicelib.storage.client import sdk_client as sdk_client
from chalicelib.storage.client import seconds_left as seconds_left
from chalicelib.storage.documents import Document as Document
from chalicelib.storage.documents import DocumentRow as DocumentRow
from chalicelib.storage.documents import SealedRow as SealedRow
from chalicelib.storage.documents import encode_json as encode_json
from chalicelib.storage.documents import json_equal as json_equal
from chalicelib.storage.documents import seal as seal
from chalicelib.storage.documents import unseal as unseal
from chalicelib.storage.documents import unseal_text as unseal_text
from chalicelib.storage.reads import count as count
from chalicelib.storage.reads import find as find
from chalicelib.storage.reads import find_many as find_many
from chalicelib.storage.reads import find_serializable as find_serializable
from chalicelib.storage.reads import find_written as find_written
from chalicelib.storage.reads import iterate as iterate
from chalicelib.storage.reads import query as query
from chalicelib.storage.reads import query_once as query_once
from chalicelib.storage.reads import query_page as query_page
from chalicelib.storage.reads import scan as scan
from chalicelib.storage.rows import AnyRow as AnyRow
from chalicelib.storage.rows import Key as Key
from chalicelib.storage.rows import Lifecycle as Lifecycle
from chalicelib.storage.rows import Row as Row
from chalicelib.storage.rows import TaggedRow as TaggedRow
from chalicelib.storage.rows import VersionedRow as VersionedRow
from chalicelib.storage.rows import join_key as join_key
from chalicelib.storage.rows import logical_name as logical_name
from chalicelib.storage.rows import split_key as split_key
from chalicelib.storage.rows import table as table
from chalicelib.storage.unit import current_unit as current_unit
from chalicelib.storage.unit import delete as delete
from chalicelib.storage.unit import in_unit_of_work as in_unit_of_work
from chalicelib.storage.unit import put as put
from chalicelib.storage.unit import put_first as put_first
from chalicelib.storage.unit import require as require
from chalicelib.storage.unit import retry_on_conflict as retry_on_conflict
from chalicelib.storage.unit import unit_of_work as unit_of_work
from chalicelib.storage.unit import update as update
