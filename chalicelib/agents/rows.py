"""Items in the agents table. An agent and its tools share a partition, so one query reads them together.

The partition key has a prefix that is derived from the agent's id (`parent_scoped_ids`). Two agents in a workspace may
have the same prefix, so readers compare the agent id, which every item contains. An agent sorts before its tools.
"""

from typing import Any

from pynamodb.attributes import BinaryAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection

from chalicelib import storage
from chalicelib.storage import parent_scoped_ids
from chalicelib.tools.store import ToolRow

_AGENT = "agent"


class AgentsByWorkspace(GlobalSecondaryIndex["AgentRow"]):  # type: ignore[no-untyped-call]
    """An index of a workspace's agents by id. Its rows contain no document, so they must never be saved."""

    class Meta:
        index_name = "by_workspace"
        projection = IncludeProjection(["summary"])

    workspace = UnicodeAttribute(hash_key=True)
    agent_id = UnicodeAttribute(range_key=True)


class ByChange(GlobalSecondaryIndex["AgentRow"]):  # type: ignore[no-untyped-call]
    """An index of a workspace's agents by version tag. Version tags increase with each change.

    Its keys are attributes that every stored agent has, so the index needs no backfill. Its rows must never be saved.
    """

    class Meta:
        index_name = "by_change"
        projection = IncludeProjection(["agent_id", "summary"])

    workspace = UnicodeAttribute(hash_key=True)
    version_tag = UnicodeAttribute(range_key=True)


class AgentRow(storage.AuthoredRow, storage.DocumentRow):
    """An agent. Its document contains the v3 form's members, except the id and `tools`.

    `summary` is a small encrypted document for lists. A tombstone has neither document nor summary; `deleted_at` is the
    Unix time of the deletion. In the indexes, tombstones are in a separate partition (`tombstones`).
    """

    class Meta:
        table_name = storage.table("agents")

    lifecycle = storage.Lifecycle(
        "{workspace}#{prefix}", "agent#{agent}", owner="agent", export="agent", erasure="no: describes no person"
    )
    partition = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    by_workspace = AgentsByWorkspace()
    by_change = ByChange()
    workspace = UnicodeAttribute(null=True)
    agent_id = UnicodeAttribute()
    document = BinaryAttribute(legacy_encoding=False, null=True)
    summary = BinaryAttribute(legacy_encoding=False, null=True)
    deleted_at = NumberAttribute(null=True)

    @property
    def is_tombstone(self) -> bool:
        """Whether the agent was deleted."""
        return self.deleted_at is not None

    @property
    def position(self) -> str:
        """The agent's id, by which the index sorts."""
        return self.agent_id


class AgentOrToolRow(storage.Row):
    """Any item in the table. Queries that use this class return each item as an `AgentRow` or a `ToolRow`."""

    class Meta:
        table_name = storage.table("agents")

    partition = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    agent_id = UnicodeAttribute()

    @classmethod
    def from_raw_data(cls, data: dict[str, dict[str, Any]]) -> Any:
        """Return the row for a stored item. The sort key determines the row class."""
        return (AgentRow if is_agent(data["item"]["S"]) else ToolRow).from_raw_data(data)


def is_agent(item: str) -> bool:
    """Return whether this is an agent's sort key. All other items are tools."""
    return storage.split_key(item)[0] == _AGENT


def tombstones(workspace_id: str) -> str:
    """Return the index partition that contains a workspace's tombstones."""
    return storage.join_key(workspace_id, "deleted")


def keys(workspace_id: str, agent_id: str) -> tuple[str, str]:
    """Return an agent's partition key and sort key."""
    return parent_scoped_ids.partition(workspace_id, agent_id), storage.join_key(_AGENT, agent_id)
