"""Lists of leads, newest first: of one agent, or of all agents of the workspace.

A position is the ULID of a lead: the list continues with the leads before it.
"""

from functools import partial
from typing import NamedTuple

from chalicelib.http import messages, pages, queries
from chalicelib.leads import store
from chalicelib.storage import Document

NAMES = ("agentId", "from", "to", "q")
_SEARCHED = ("name", "email", "phone", "agentName")


class Asked(NamedTuple):
    """The query of a list: filters, in Unix seconds and case-folded, and the ULID before which it continues."""

    agent_id: str | None
    since: int | None
    until: int | None
    text: str
    after: str | None

    def lists(self, document: Document) -> bool:
        """Whether a lead of this agent and time is listed."""
        return queries.contains(document, _SEARCHED, self.text)


def requested() -> Asked:
    """The query of the request. Raises Invalid."""
    cursor, agent_id = messages.cursor(), queries.text("agentId")
    since, until, text = queries.seconds("from"), queries.seconds("to"), queries.folded("q")
    return Asked(agent_id, since, until, text, cursor)


def of_agent(workspace_id: str, agent_id: str, asked: Asked, limit: int) -> pages.Found[store.LeadRow]:
    """The leads of an agent with their positions, newest first. One request for a page, then one per 100 leads."""
    fetch = partial(store.list_of_agent, workspace_id, agent_id, asked.since, asked.until)
    return pages.in_portions(fetch, asked.after, limit, store.ulid_of)


def of_workspace(workspace_id: str, asked: Asked, limit: int) -> pages.Found[store.LeadRow]:
    """The leads of all agents with their positions, newest first; requests as in `of_agent`."""
    fetch = partial(store.list_of_workspace, workspace_id, asked.since, asked.until)
    return pages.in_portions(fetch, asked.after, limit, store.ulid_of)
