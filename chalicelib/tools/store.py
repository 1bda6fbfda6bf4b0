"""Tools in the database: one sealed document each, in a partition per agent (`parent_scoped_ids`)."""

from collections.abc import Iterator

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, errors, storage
from chalicelib.storage import Document, DocumentRow, json_equal, parent_scoped_ids


class ToolRow(DocumentRow):
    """A tool. Its document has the members of the wire model except the id."""

    class Meta:
        table_name = storage.table("tools")

    agent_tools = UnicodeAttribute(hash_key=True)
    tool_id = UnicodeAttribute(range_key=True)


def find(workspace_id: str, tool_id: str) -> ToolRow | None:
    """The tool, or None if it does not exist. One request."""
    return storage.find(ToolRow, parent_scoped_ids.partition_of(workspace_id, tool_id), tool_id)


def read(workspace_id: str, tool_id: str) -> ToolRow:
    """The tool. One request. Raises NotFound."""
    row = find(workspace_id, tool_id)
    if row is None:
        raise errors.NotFound.of("tool")
    return row


def list_page(
    workspace_id: str, agent_id: str, after: str | None = None, limit: int | None = None
) -> Iterator[ToolRow]:
    """Up to `limit` tools of an agent after the id `after`, oldest first; None for all. One request per MB."""
    condition = ToolRow.tool_id > after if after else None
    return storage.iterate(ToolRow, parent_scoped_ids.partition(workspace_id, agent_id), condition, limit=limit)


def create(workspace_id: str, agent_id: str, document: Document) -> ToolRow:
    """Stage a new tool of an existing agent."""
    row = ToolRow(parent_scoped_ids.partition(workspace_id, agent_id), parent_scoped_ids.new_id(agent_id))
    now = clock.iso(clock.seconds())
    row.seal({**document, "agentId": agent_id, "userId": workspace_id, "createdAt": now, "updatedAt": now})
    storage.put(row)
    return row


def save(row: ToolRow, before: Document, after: Document) -> Document:
    """Stage a changed document and return it. An unchanged document is not written."""
    if json_equal(after, before):
        return before
    after = {**after, "updatedAt": clock.iso(clock.seconds())}
    row.seal(after)
    storage.put(row)
    return after


def delete(row: ToolRow) -> None:
    """Stage the deletion of a tool."""
    storage.delete(row)


def batch_to_delete(workspace_id: str, agent_id: str, limit: int) -> list[ToolRow]:
    """Up to `limit` tools of an agent, for the cascading delete."""
    return storage.query(ToolRow, parent_scoped_ids.partition(workspace_id, agent_id), limit=limit)
