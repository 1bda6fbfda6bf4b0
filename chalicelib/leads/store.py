"""Lead storage: one sealed document per lead, in a partition per agent (`parent_scoped_ids`).

An eventually consistent index lists a workspace's leads by capture time.
"""

from collections.abc import Iterator

from pynamodb.attributes import UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection

from chalicelib import errors, ids, storage
from chalicelib.storage import Document, DocumentRow, json_equal, parent_scoped_ids


class ByCapture(GlobalSecondaryIndex["LeadRow"]):  # type: ignore[no-untyped-call]
    """An index of a workspace's leads by capture time. Its rows have no version tag, so they must never be saved."""

    class Meta:
        index_name = "by_capture"
        projection = IncludeProjection(["document"])

    workspace = UnicodeAttribute(hash_key=True)
    captured = UnicodeAttribute(range_key=True)


class LeadRow(DocumentRow):
    """A lead. Its document contains the members of the wire model except the id.

    `captured` is the ULID in the lead's id. Leads from earlier versions lack `workspace` and `captured`. The next save,
    or the operator's command `index`, adds them.
    """

    class Meta:
        table_name = storage.table("leads")

    lifecycle = storage.Lifecycle("{workspace}#{prefix}", "{lead}", owner="agent", export="lead", erasure="leads")
    agent_leads = UnicodeAttribute(hash_key=True)
    lead_id = UnicodeAttribute(range_key=True)
    by_capture = ByCapture()
    workspace = UnicodeAttribute(null=True)
    captured = UnicodeAttribute(null=True)


def find(workspace_id: str, lead_id: str) -> LeadRow | None:
    """Return the lead, or None if it does not exist. This costs one request."""
    return storage.find(LeadRow, parent_scoped_ids.partition_of(workspace_id, lead_id), lead_id)


def read(workspace_id: str, lead_id: str) -> LeadRow:
    """Return the lead. Raise NotFound if it does not exist. This costs one request."""
    return errors.require(find(workspace_id, lead_id), "lead")


def list_page(workspace_id: str, agent_id: str, before: str | None, limit: int) -> Iterator[LeadRow]:
    """Yield up to `limit` of an agent's leads before the id `before`, newest first."""
    condition = LeadRow.lead_id < before if before else None
    partition = parent_scoped_ids.partition(workspace_id, agent_id)
    return storage.iterate(LeadRow, partition, condition, limit=limit, newest_first=True)


def list_captured(
    workspace_id: str, agent_id: str | None, since: int | None, until: int | None, before: str | None, limit: int
) -> Iterator[LeadRow]:
    """Yield up to `limit` leads older than the ULID `before`, newest first. This costs one request per MB.

    The leads were captured at or after `since` and before `until`. Both times are in Unix seconds; None means
    unbounded. If `agent_id` is None, yield all agents' leads from the eventually consistent index.
    """
    lowest = ids.id_at((since or 0) * 1000, 0)
    end = ids.HIGHEST if until is None else ids.id_at(until * 1000, 0)
    highest = ids.highest_before(min(end, before or ids.HIGHEST))
    if highest < lowest:
        return iter(())
    if agent_id is None:
        condition = LeadRow.captured.between(lowest, highest)
        return storage.iterate(LeadRow, workspace_id, condition, limit=limit, index="by_capture", newest_first=True)
    first, last = (parent_scoped_ids.id_at(agent_id, ulid) for ulid in (lowest, highest))
    partition = parent_scoped_ids.partition(workspace_id, agent_id)
    return storage.iterate(LeadRow, partition, LeadRow.lead_id.between(first, last), limit=limit, newest_first=True)


def ulid_of(row: LeadRow) -> str:
    """Return a lead's ULID, which determines its order in lists."""
    return parent_scoped_ids.ulid_of(row.lead_id)


def new(workspace_id: str, lead_id: str) -> LeadRow:
    """Return a row with a lead's keys in the table and the index, but without a document."""
    partition, ulid = parent_scoped_ids.partition_of(workspace_id, lead_id), parent_scoped_ids.ulid_of(lead_id)
    return LeadRow(partition, lead_id, workspace=workspace_id, captured=ulid)


def create(workspace_id: str, agent_id: str, document: Document) -> LeadRow:
    """Stage a new lead for an existing agent."""
    ulid = ids.new_id()
    row = new(workspace_id, parent_scoped_ids.id_at(agent_id, ulid))
    row.seal({**document, "createdAt": ids.timestamp_of(ulid)})
    storage.put(row)
    return row


def save(row: LeadRow, before: Document, after: Document) -> None:
    """Stage a changed lead. An unchanged document is not written."""
    if not json_equal(after, before):
        row.workspace, row.captured = row.workspace_id, ulid_of(row)
        row.seal(after)
        storage.put(row)


def index(row: LeadRow) -> None:
    """Stage a stored lead's index key. The commit raises ConditionFailed if the lead was deleted."""
    keys = [LeadRow.workspace.set(row.workspace_id), LeadRow.captured.set(ulid_of(row))]
    storage.update(row, keys, LeadRow.lead_id.exists())


def delete(row: LeadRow) -> None:
    """Stage the deletion of a lead."""
    storage.delete(row)
