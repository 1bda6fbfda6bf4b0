"""Helpers that read and compare stored agent records."""

from typing import Any

from chalicelib.agents import store
from chalicelib.agents.store import AgentRow
from chalicelib.workspaces.store import NewWorkspace

NOW = 1_790_000_000
# v3 members that the stored document does not contain.
NOT_STORED = ("ID", "id", "ownerID", "tools")
THEME = {"themeType": "dark", "primary": "#0af", "nineColorPallet": [[0, 1.5], []]}


def row_of(workspace: NewWorkspace, agent_id: str = "support") -> AgentRow:
    """Return an agent's row."""
    return store.read(workspace.workspace_id, agent_id)


def stored_agent(workspace: NewWorkspace, agent_id: str = "support") -> Any:
    """Return an agent's decrypted record."""
    return row_of(workspace, agent_id).open()


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return a copy of a record without these members."""
    return {name: value for name, value in record.items() if name not in names}
