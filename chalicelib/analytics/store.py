"""Analytics storage: one item per conversation, with at most one record of each kind.

Both records share an item, so they share a version tag. A write updates only the attribute for its kind, without
reading the item. Both records together must fit into one item (400 KB).
"""

from collections.abc import Iterator

from pynamodb.attributes import BinaryAttribute, UnicodeAttribute
from pynamodb.expressions.condition import Condition

from chalicelib import storage
from chalicelib.storage import Document, seal, unseal, unseal_text

_KINDS = ("load", "convo")


class AnalyticsRow(storage.TaggedRow):
    """The sealed page load and conversation records. For each kind, the last write wins, without optimistic locking."""

    class Meta:
        table_name = storage.table("analytics")

    lifecycle = storage.Lifecycle(
        "{workspace}#{agent}", "{conversation}", owner="agent", export="analytics", erasure="analytics"
    )
    agent = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    load = BinaryAttribute(legacy_encoding=False, null=True)
    convo = BinaryAttribute(legacy_encoding=False, null=True)

    def text(self) -> str:
        """Return the existing records as the JSON text of an object keyed by kind."""
        texts = [f'"{kind}":{unseal_text(self, kind)}' for kind in _KINDS if getattr(self, kind) is not None]
        return f"{{{','.join(texts)}}}"


def new(workspace_id: str, agent_id: str, conversation_id: str) -> AnalyticsRow:
    """Return a new item for a conversation, without storing it."""
    return AnalyticsRow(storage.join_key(workspace_id, agent_id), conversation_id)


def key(workspace_id: str, agent_id: str, conversation_id: str) -> storage.Key:
    """Return the item's key, for `storage.find_many`."""
    return storage.Key(AnalyticsRow, storage.join_key(workspace_id, agent_id), conversation_id)


def find(workspace_id: str, agent_id: str, conversation_id: str) -> AnalyticsRow | None:
    """Return a conversation's item, or None. This costs one request."""
    return storage.find(AnalyticsRow, storage.join_key(workspace_id, agent_id), conversation_id)


def write(row: AnalyticsRow, document: Document, condition: Condition | None = None) -> AnalyticsRow:
    """Stage a record that replaces the previous record of the same kind, and return `row`."""
    kind: str = document["record"]
    storage.update(row, [getattr(AnalyticsRow, kind).set(seal(row, kind, document))], condition)
    return row


def unchanged_since_read(row: AnalyticsRow) -> Condition:
    """Return the condition that the item is unchanged since it was read, or still does not exist."""
    tag = AnalyticsRow.version_tag
    return tag.does_not_exist() if row.version_tag is None else tag == row.version_tag


def records(row: AnalyticsRow) -> list[Document]:
    """Return a conversation's existing records: the page load record, then the conversation record."""
    return [unseal(row, kind) for kind in _KINDS if getattr(row, kind) is not None]


def delete(row: AnalyticsRow) -> None:
    """Stage the deletion of an item. The commit raises ConditionFailed if the item was written after it was read."""
    storage.delete(row, unchanged_since_read(row))


def list_page(workspace_id: str, agent_id: str, after: str | None, limit: int) -> Iterator[AnalyticsRow]:
    """Yield up to `limit` of an agent's items after the conversation id `after`. This costs one request per MB read."""
    condition = AnalyticsRow.item > after if after else None
    return storage.iterate(AnalyticsRow, storage.join_key(workspace_id, agent_id), condition, limit=limit)
