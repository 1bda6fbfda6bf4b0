"""The locations of a workspace's records, for commands that read or delete all records."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import takewhile
from typing import Any

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
from chalicelib.webhooks.endpoints import WebhookRow
from chalicelib.workspaces.store import WorkspaceRow

_AGENTS = 100


# In export order. Endpoints are last (see `imports`). Chunks are exported as part of their conversation.
KINDS: dict[str, type[storage.Row]] = {
    row.lifecycle.export: row
    for row in (
        WorkspaceRow,
        CredentialEntry,
        ClientRow,
        EmailRow,
        OrganisationRow,
        agents.AgentRow,
        ToolRow,
        LeadRow,
        AnalyticsRow,
        ConversationRow,
        WebhookRow,
    )
}


def is_of_agent(name: str) -> bool:
    """Return whether records of this kind belong to agents."""
    return KINDS[name].lifecycle.owner == "agent"


def partition(name: str, workspace_id: str, agent_id: str) -> str:
    """Return the partition key of a kind's records, or of an agent's records if the kind belongs to agents.

    For conversations, return the partition key of the index by creation time.
    """
    if KINDS[name] is ConversationRow:
        return storage.join_key(workspace_id, agent_id)
    prefix = storage.split_key(parent_scoped_ids.partition(workspace_id, agent_id))[1]
    return KINDS[name].lifecycle.partition.format(workspace=workspace_id, agent=agent_id, prefix=prefix)


@cache
def key_pattern(form: str) -> re.Pattern[str]:
    """Return the pattern of keys that have this `storage.Lifecycle` form."""
    return re.compile(pattern_of(form, lambda placeholder: "[^#]*"))


def pattern_of(form: str, pattern: Callable[[str], str]) -> str:
    """Return the pattern of a `storage.Lifecycle` form. `pattern` returns the pattern of a placeholder."""
    alternatives = (re.split(r"\{([^}]+)\}", alternative) for alternative in form.split(" or "))
    return "|".join(
        "".join(pattern(part) if number % 2 else re.escape(part) for number, part in enumerate(parts))
        for parts in alternatives
    )


def row_prefixes(*rows: type[storage.Row]) -> list[tuple[str, str, str]]:
    """Return the table, the sort key and the row prefixes of these classes, for `ROWS`."""
    return [
        (storage.logical_name(row.Meta.table_name), str(row._range_keyname), form.partition("{")[0])
        for row in rows
        for form in row.lifecycle.sort.split(" or ")
    ]


def list_agents(workspace_id: str) -> list[str]:
    """Return the sorted ids of all agents. This costs one request per 100 agents."""
    agent_ids: list[str] = []
    while entries := [*agents.list_entries(workspace_id, agent_ids[-1] if agent_ids else None, _AGENTS)]:
        agent_ids += [entry.agent_id for entry in entries]
    return agent_ids


def steps(workspace_id: str) -> list[tuple[str, str]]:
    """Return each kind with each agent that may have such records, or with an empty string if they have no agent."""
    agent_ids = list_agents(workspace_id)
    return [(name, agent_id) for name in KINDS for agent_id in (agent_ids if is_of_agent(name) else [""])]


def find_rows(name: str, workspace_id: str, agent_id: str, after: str = "") -> Iterator[Any]:
    """Return a step's rows after the sort key `after`; for conversations, return index entries."""
    row, place = KINDS[name], partition(name, workspace_id, agent_id)
    if row is ConversationRow:
        created = ConversationRow.created > after if after else None
        return storage.iterate(ConversationRow, place, created, index="by_creation")
    sort_key, form = getattr(row, str(row._range_keyname)), row.lifecycle.sort
    start = form.partition("{")[0]
    condition = sort_key > after if after else sort_key.startswith(start) if start else None
    rows = takewhile(lambda entry: entry.keys[1].startswith(start), storage.iterate(row, place, condition))
    # Rows of other classes and other agents may be in the same partition.
    own = (one for one in rows if key_pattern(form).fullmatch(one.keys[1]))
    return (one for one in own if getattr(one, "agent_id", agent_id) == agent_id)
