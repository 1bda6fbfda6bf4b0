"""How long conversations are kept: the days of their agent, otherwise those of the workspace.

A conversation's metadata has the days, as a member that no answer shows, so that each save of the metadata moves its
expiry (`store`). A changed number of days reaches existing conversations by a queue (`erasures.retention`).
"""

from typing import Any

from chalicelib.storage import Document
from chalicelib.workspaces import store as workspaces

_MOST_DAYS = 3650  # as in the wire models


def days_of(workspace_id: str, agent: Document) -> int | None:
    """The days for which an agent's conversations are kept after their last activity; None for ever.

    One request, if the agent has no days of its own and the workspace was not read in the last minute.
    """
    own = own_days(agent)
    return workspaces.retention_days(workspace_id) if own is None else own


def own_days(agent: Document) -> int | None:
    """The days of the agent itself. An earlier version stored anything under this name."""
    retention: Any = agent.get("retention")
    days = retention.get("days") if isinstance(retention, dict) else None
    is_valid = isinstance(days, int) and not isinstance(days, bool) and 1 <= days <= _MOST_DAYS
    return days if is_valid else None
