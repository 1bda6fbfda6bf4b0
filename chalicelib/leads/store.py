"""Leads in the database: one sealed document each, in a partition per agent (`parent_scoped_ids`)."""

from collections.abc import Iterator

from pynamodb.attributes import UnicodeAttribute

from chalicelib import errors, ids, storage
from chalicelib.storage import Document, DocumentRow, json_equal, parent_scoped_ids


class LeadRow(DocumentRow):
    """A lead. Its document has the members of the wire model except the id."""

    class Meta:
        table_name = storage.table("leads")

    agent_leads = UnicodeAttribute(hash_key=True)
    lead_id = UnicodeAttribute(range_key=True)


def find(workspace_id: str, lead_id: str) -> LeadRow | None:
    """The lead, or None if it does not exist. One request."""
    return storage.find(LeadRow, parent_scoped_ids.partition_of(workspace_id, lead_id), lead_id)


def read(workspace_id: str, lead_id: str) -> LeadRow:
    """The lead. One request. Raises NotFound."""
    row = find(workspace_id, lead_id)
    if row is None:
        raise errors.NotFound.of("lead")
    return row


def list_page(workspace_id: str, agent_id: str, before: str | None, limit: int) -> Iterator[LeadRow]:
    """Up to `limit` leads of an agent before the id `before`, newest first."""
    condition = LeadRow.lead_id < before if before else None
    partition = parent_scoped_ids.partition(workspace_id, agent_id)
    return storage.iterate(LeadRow, partition, condition, limit=limit, newest_first=True)


def list_between(
    workspace_id: str, agent_id: str, since: int | None, until: int | None, before: str | None, limit: int
) -> Iterator[LeadRow]:
    """Up to `limit` leads of an agent before the id `before`, newest first. One request per MB.

    They were captured from `since` on and before `until`, both in Unix seconds; None is no bound.
    """
    lowest = parent_scoped_ids.id_at(agent_id, ids.id_at((since or 0) * 1000, 0))
    end = ids.HIGHEST if until is None else ids.id_at(until * 1000, 0)
    highest = ids.highest_before(min(parent_scoped_ids.id_at(agent_id, end), before or ids.HIGHEST))
    if highest < lowest:
        return iter(())
    partition = parent_scoped_ids.partition(workspace_id, agent_id)
    within = LeadRow.lead_id.between(lowest, highest)
    return storage.iterate(LeadRow, partition, within, limit=limit, newest_first=True)


def create(workspace_id: str, agent_id: str, document: Document) -> LeadRow:
    """Stage a new lead of an existing agent."""
    ulid = ids.new_id()
    row = LeadRow(parent_scoped_ids.partition(workspace_id, agent_id), parent_scoped_ids.id_at(agent_id, ulid))
    row.seal({**document, "createdAt": ids.timestamp_of(ulid)})
    storage.put(row)
    return row


def save(row: LeadRow, before: Document, after: Document) -> None:
    """Stage a changed lead. An unchanged document is not written."""
    if not json_equal(after, before):
        row.seal(after)
        storage.put(row)


def delete(row: LeadRow) -> None:
    """Stage the deletion of a lead."""
    storage.delete(row)


def keyed(workspace_id: str, lead_id: str) -> LeadRow:
    """A row with the key of a lead, to delete it."""
    return LeadRow(parent_scoped_ids.partition_of(workspace_id, lead_id), lead_id)


def batch_to_delete(workspace_id: str, agent_id: str, limit: int) -> list[LeadRow]:
    """Up to `limit` leads of an agent, for the cascading delete."""
    return storage.query(LeadRow, parent_scoped_ids.partition(workspace_id, agent_id), limit=limit)
