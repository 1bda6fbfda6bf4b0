"""Where the records of a workspace are, for commands that read or delete all of them."""

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, NamedTuple

from chalicelib import storage
from chalicelib.agents import store as agents
from chalicelib.analytics.store import AnalyticsRow
from chalicelib.clients.store import ClientRow, EmailRow
from chalicelib.conversations.store import ConversationRow
from chalicelib.credentials.store import CredentialEntry
from chalicelib.leads.store import LeadRow
from chalicelib.organisations.store import OrganisationRow
from chalicelib.storage import parent_scoped_ids
from chalicelib.tools.store import ToolRow
from chalicelib.webhooks import hosts
from chalicelib.webhooks.endpoints import WebhookRow
from chalicelib.workspaces.store import WorkspaceRow

_AGENTS = 100


class Kind(NamedTuple):
    """The rows of a kind: their class, and the partition of a workspace and an agent (empty for other kinds).

    They sort after `low` and before `high`; other rows of the partition do not.
    """

    row: type[storage.Row]
    partition: Callable[[str, str], str]
    is_of_agent: bool = False
    low: str = " "
    high: str = "\x7f"


def _of_workspace(workspace_id: str, _: str) -> str:
    return workspace_id


# In the order of an export. Endpoints come last, see `imports`.
KINDS: dict[str, Kind] = {
    "workspace": Kind(WorkspaceRow, _of_workspace, low="workspac"),
    "credential": Kind(CredentialEntry, _of_workspace, low="credential", high="credential~"),
    "client": Kind(ClientRow, _of_workspace),
    "email": Kind(EmailRow, lambda workspace_id, _: storage.key(workspace_id, "emails")),
    "organisation": Kind(OrganisationRow, _of_workspace),
    "agent": Kind(agents.AgentRow, parent_scoped_ids.partition, True, low="agent", high="agent~"),
    "tool": Kind(ToolRow, parent_scoped_ids.partition, True, low="tool"),
    "lead": Kind(LeadRow, parent_scoped_ids.partition, True),
    "analytics": Kind(AnalyticsRow, storage.key, True),
    "conversation": Kind(ConversationRow, storage.key, True),  # of the index by creation
    "webhook": Kind(WebhookRow, _of_workspace, high=hosts.SORT_KEY),
}


def list_agents(workspace_id: str) -> list[str]:
    """The ids of all agents, sorted. One request per 100."""
    found: list[str] = []
    while entries := [*agents.list_entries(workspace_id, found[-1] if found else None, _AGENTS)]:
        found += [entry.agent_id for entry in entries]
    return found


def steps(workspace_id: str) -> list[tuple[str, str]]:
    """Each kind with each agent that may have records of it, or with an empty text if they have no agent."""
    agent_ids = list_agents(workspace_id)
    return [(name, one) for name, kind in KINDS.items() for one in (agent_ids if kind.is_of_agent else [""])]


def find_rows(name: str, workspace_id: str, agent_id: str, after: str = "") -> Iterator[Any]:
    """The rows of a step after the sort key `after`; entries of the index for conversations, with their `created`."""
    kind = KINDS[name]
    partition = kind.partition(workspace_id, agent_id)
    if kind.row is ConversationRow:
        return storage.iterate(
            ConversationRow, partition, ConversationRow.created > (after or kind.low), index="by_creation"
        )
    sort_key = getattr(kind.row, str(kind.row._range_keyname))
    found = storage.iterate(kind.row, partition, sort_key > (after or kind.low))
    rows = takewhile(lambda row: row.keys[1] < kind.high, found)
    # Another agent may have the same partition.
    return (row for row in rows if getattr(row, "agent_id", agent_id) == agent_id)
