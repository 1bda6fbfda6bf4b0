"""The stored record of an agent, and what its tests write there."""

from typing import Any

from chalicelib.agents import store
from chalicelib.agents.store import AgentRow
from chalicelib.workspaces.store import NewWorkspace

NOW = 1_790_000_000
# Members of the v3 form that the stored document does not have.
NOT_STORED = ("ID", "id", "ownerID", "tools")
THEME = {"themeType": "dark", "primary": "#0af", "nineColorPallet": [[0, 1.5], []]}


def row_of(workspace: NewWorkspace, agent_id: str = "support") -> AgentRow:
    """The row of an agent."""
    return store.read(workspace.workspace_id, agent_id)


def stored_agent(workspace: NewWorkspace, agent_id: str = "support") -> Any:
    """The decrypted record of an agent."""
    return row_of(workspace, agent_id).open()


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    """A record without these members."""
    return {name: value for name, value in record.items() if name not in names}
