"""Analytics in the database: for each conversation at most one row of each kind of record."""

from pynamodb.attributes import UnicodeAttribute

from chalicelib import storage
from chalicelib.documents import Document, SealedRow


class AnalyticsRow(SealedRow):
    """A record; the last write of its kind wins, so that it needs no version. `item` is conversation and kind."""

    class Meta:
        table_name = storage.table("analytics")

    agent = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)


def write(workspace_id: str, agent_id: str, conversation_id: str, kind: str, document: Document) -> None:
    """Store a record in place of the last one of its kind. One request."""
    row = AnalyticsRow(storage.key(workspace_id, agent_id), storage.key(conversation_id, kind))
    row.seal(document)
    storage.save(row)


def keys(workspace_id: str, agent_id: str, conversation_id: str) -> list[storage.Key]:
    """What to ask `storage.find_many` for: the page load, then the conversation record."""
    agent = storage.key(workspace_id, agent_id)
    return [storage.Key(AnalyticsRow, agent, storage.key(conversation_id, kind)) for kind in ("load", "convo")]


def some(workspace_id: str, agent_id: str, limit: int) -> list[AnalyticsRow]:
    """At most `limit` records of an agent, to delete them."""
    return storage.query(AnalyticsRow, storage.key(workspace_id, agent_id), limit=limit)
