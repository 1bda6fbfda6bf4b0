"""Tools in the database: one sealed document each.

A tool's id begins with eleven characters that are derived from its agent's, and so does its partition:
one strongly consistent request finds a tool by its id alone, and one lists an agent's tools.
"""

import hashlib

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, errors, sequence, storage
from chalicelib.documents import Document, DocumentRow, same

_PREFIX = 11


class ToolRow(DocumentRow):
    """A tool. Its document has the members of the wire, without the id."""

    class Meta:
        table_name = storage.table("tools")

    agent_tools = UnicodeAttribute(hash_key=True)
    tool_id = UnicodeAttribute(range_key=True)


def read(workspace_id: str, tool_id: str) -> ToolRow:
    """The tool. Raises NotFound."""
    row = storage.find(ToolRow, storage.key(workspace_id, tool_id[:_PREFIX]), tool_id)
    if row is None:
        raise errors.NotFound.of("tool")
    return row


def listed(workspace_id: str, agent_id: str) -> list[ToolRow]:
    """All tools of an agent, oldest first. Raises NotFound for an unknown agent."""
    rows = storage.query(ToolRow, storage.key(workspace_id, _prefix(agent_id)))
    if not rows and sequence.find(workspace_id, agent_id) is None:
        raise errors.NotFound.of("agent")
    return rows


def create(workspace_id: str, agent_id: str, document: Document) -> ToolRow:
    """Store a new tool of an agent. Raises NotFound for an unknown agent. One request."""
    prefix = _prefix(agent_id)
    row = ToolRow(storage.key(workspace_id, prefix), prefix + clock.new_id())
    now = clock.iso(clock.seconds())
    row.seal({**document, "agentId": agent_id, "userId": workspace_id, "createdAt": now, "updatedAt": now})
    try:
        storage.transact(sequence.require_agent(workspace_id, agent_id), storage.put(row))
    except storage.Stale:
        raise errors.NotFound.of("agent") from None
    return row


def save(row: ToolRow, before: Document, after: Document) -> Document:
    """Store a changed document; returns it. No change is no write. Raises Stale when somebody was faster."""
    if same(after, before):
        return before
    after = {**after, "updatedAt": clock.iso(clock.seconds())}
    row.seal(after)
    storage.save(row)
    return after


def delete(row: ToolRow) -> None:
    """Delete a tool. Raises Stale when somebody has changed it."""
    storage.delete(row)


def some(workspace_id: str, agent_id: str, limit: int) -> list[ToolRow]:
    """At most `limit` tools of an agent, to delete them."""
    return storage.query(ToolRow, storage.key(workspace_id, _prefix(agent_id)), limit=limit)


def _prefix(agent_id: str) -> str:
    """Eleven characters that stand for an agent, of 55 bits: enough to tell the agents of one workspace apart."""
    digest = int.from_bytes(hashlib.sha256(agent_id.encode()).digest()[:8], "big")
    return "".join("0123456789abcdefghjkmnpqrstvwxyz"[(digest >> 5 * place) & 31] for place in range(_PREFIX))
