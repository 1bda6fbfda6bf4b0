"""Tool storage: one sealed document per tool, in its agent's partition (`agents.rows`).

A tool's id begins with the prefix of that partition (`parent_scoped_ids`), so one request finds a tool by its id.
"""

from collections.abc import Iterator, Sequence

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.storage import Document, DocumentRow, deletion_hooks, json_equal, parent_scoped_ids

# Defaults for members that new tools omit.
DEFAULTS = {"method": "GET"}
_TOOL = "tool"


class ToolRow(storage.AuthoredRow, DocumentRow):
    """A tool of the agent `agent_id`. Its document contains the members of the wire model except the id."""

    class Meta:
        table_name = storage.table("agents")

    lifecycle = storage.Lifecycle(
        "{workspace}#{prefix}", "tool#{tool}", owner="agent", export="tool", erasure="no: describes no person"
    )
    partition = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    agent_id = UnicodeAttribute()

    @property
    def tool_id(self) -> str:
        """The tool's id."""
        return storage.split_key(self.item)[1]

    @property
    def position(self) -> str:
        """The tool's id, which the sort key contains."""
        return self.tool_id


def find(workspace_id: str, tool_id: str) -> ToolRow | None:
    """Return the tool, or None if it does not exist. This costs one request."""
    return storage.find(
        ToolRow, parent_scoped_ids.partition_of(workspace_id, tool_id), storage.join_key(_TOOL, tool_id)
    )


def read(workspace_id: str, tool_id: str) -> ToolRow:
    """Return the tool. Raise NotFound if it does not exist. This costs one request."""
    return errors.require(find(workspace_id, tool_id), "tool")


def list_page(
    workspace_id: str, agent_id: str, after: str | None = None, limit: int | None = None
) -> Iterator[ToolRow]:
    """Yield up to `limit` of an agent's tools after the id `after`, oldest first. This costs one request per MB."""
    partition = parent_scoped_ids.partition(workspace_id, agent_id)
    # All tools sort after the bare prefix. Other agents' tools with the same prefix are in the same partition.
    condition = ToolRow.item > storage.join_key(_TOOL, after or "")
    return storage.iterate(ToolRow, partition, condition, only=ToolRow.agent_id == agent_id, limit=limit)


def create(workspace_id: str, agent_id: str, documents: Sequence[Document]) -> list[ToolRow]:
    """Stage new tools for an agent. Their ids sort in the same order as `documents`. Fields without an id get one."""
    partition = parent_scoped_ids.partition(workspace_id, agent_id)
    now = clock.iso(clock.seconds())
    service_set = {"agentId": agent_id, "userId": workspace_id, "createdAt": now, "updatedAt": now}
    rows = []
    for tool_id, document in zip(sorted(parent_scoped_ids.new_id(agent_id) for _ in documents), documents, strict=True):
        row = ToolRow(partition, storage.join_key(_TOOL, tool_id), agent_id=agent_id)
        row.seal({**_with_field_ids(document), **service_set})
        storage.put(row)
        rows.append(row)
    return rows


def save(row: ToolRow, before: Document, after: Document) -> Document:
    """Stage a changed document and return it. An unchanged document is not written. Fields without an id get one."""
    after = _with_field_ids(after)
    if json_equal(after, before):
        return before
    after = {**after, "updatedAt": clock.iso(clock.seconds())}
    row.seal(after)
    storage.put(row)
    return after


def delete(row: ToolRow) -> None:
    """Stage the deletion of a tool."""
    storage.delete(row)
    deletion_hooks.stage(row.workspace_id, "tools", row.tool_id)


def _with_field_ids(document: Document) -> Document:
    fields = document.get("fields")
    if fields is None:
        return document
    return {**document, "fields": [{**field, "id": field.get("id") or ids.new_id()} for field in fields]}
