"""Analytics in the database: one item for each conversation, with at most one record of each kind.

One item, so that what is read at once also has one mark. A write names its kind alone and reads nothing; both kinds of
a conversation together must fit an item.
"""

from pynamodb.attributes import BinaryAttribute, UnicodeAttribute
from pynamodb.expressions.condition import Condition

from chalicelib import storage
from chalicelib.storage import Document, seal, unseal


class AnalyticsRow(storage.TaggedRow):
    """The page load and the conversation record, sealed. The last write of a kind wins, so that it needs no version."""

    class Meta:
        table_name = storage.table("analytics")

    agent = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    load = BinaryAttribute(legacy_encoding=False, null=True)
    convo = BinaryAttribute(legacy_encoding=False, null=True)


def new(workspace_id: str, agent_id: str, conversation_id: str) -> AnalyticsRow:
    """The item of a conversation, with nothing in it yet."""
    return AnalyticsRow(storage.key(workspace_id, agent_id), conversation_id)


def key(workspace_id: str, agent_id: str, conversation_id: str) -> storage.Key:
    """What to ask `storage.find_many` for."""
    return storage.Key(AnalyticsRow, storage.key(workspace_id, agent_id), conversation_id)


def find(workspace_id: str, agent_id: str, conversation_id: str) -> AnalyticsRow | None:
    """The item of a conversation, or None. One request."""
    return storage.find(AnalyticsRow, storage.key(workspace_id, agent_id), conversation_id)


def write(row: AnalyticsRow, document: Document, condition: Condition | None = None) -> AnalyticsRow:
    """Stage a record in place of the last one of its kind; returns `row`."""
    kind: str = document["record"]
    storage.update(row, [getattr(AnalyticsRow, kind).set(seal(row, kind, document))], condition)
    return row


def unchanged_since_read(row: AnalyticsRow) -> Condition:
    """That the item has not been written since it was read, or still does not exist."""
    tag = AnalyticsRow.version_tag
    return tag.does_not_exist() if row.version_tag is None else tag == row.version_tag


def records(row: AnalyticsRow) -> list[Document]:
    """What is there of a conversation: the page load, then the conversation record."""
    return [unseal(row, kind) for kind in ("load", "convo") if getattr(row, kind) is not None]


def batch_to_delete(workspace_id: str, agent_id: str, limit: int) -> list[AnalyticsRow]:
    """At most `limit` items of an agent, to delete them."""
    return storage.query(AnalyticsRow, storage.key(workspace_id, agent_id), limit=limit)
