"""Analytics in the database: for each conversation at most one row of each kind of record."""

from pynamodb.attributes import UnicodeAttribute

from chalicelib import storage
from chalicelib.documents import Document, SealedRow


class AnalyticsRow(SealedRow):
    """A record; the last write of its kind wins, so that it needs no version."""

    class Meta:
        table_name = storage.table("analytics")

    conversation = UnicodeAttribute(hash_key=True)
    record = UnicodeAttribute(range_key=True)


def write(workspace_id: str, agent_id: str, conversation_id: str, kind: str, document: Document) -> None:
    """Store a record in place of the last one of its kind. One request."""
    row = AnalyticsRow(storage.key(workspace_id, agent_id, conversation_id), kind)
    row.seal(document)
    storage.save(row)


def keys(workspace_id: str, agent_id: str, conversation_id: str) -> list[storage.Key]:
    """What to ask `storage.find_many` for: the page load, then the conversation record."""
    conversation = storage.key(workspace_id, agent_id, conversation_id)
    return [storage.Key(AnalyticsRow, conversation, kind) for kind in ("load", "convo")]
