"""Lists of leads, newest first: of one agent, or of all agents of the workspace.

A position is the ULID of a lead: the list continues with the leads before it.
"""

from functools import partial
from typing import NamedTuple

from chalicelib.http import pages, parameters
from chalicelib.leads import store
from chalicelib.storage import Document

NAMES = ("agentId", "from", "to", "q")
_SEARCHED = ("name", "email", "phone", "agentName")


class LeadQuery(NamedTuple):
    """The filters of a list: Unix seconds and case-folded text. The list continues before the ULID `after`."""

    agent_id: str | None
    since: int | None
    until: int | None
    text: str
    after: str | None

    @classmethod
    def from_request(cls) -> "LeadQuery":
        """Return the query of the request. Raise Invalid."""
        cursor, agent_id = parameters.cursor(), parameters.text("agentId")
        since, until, text = parameters.seconds("from"), parameters.seconds("to"), parameters.search_text("q")
        return cls(agent_id, since, until, text, cursor)

    def match(self, document: Document) -> bool:
        """Return whether a lead of this agent and time is listed."""
        return parameters.contains(document, _SEARCHED, self.text)


def rows(workspace_id: str, query: LeadQuery, limit: int) -> pages.PositionedRows[store.LeadRow]:
    """Yield the leads to examine and their positions, newest first. One request for a page, then one per 100 leads."""
    fetch = partial(store.list_captured, workspace_id, query.agent_id, query.since, query.until)
    return pages.in_portions(fetch, query.after, limit, store.ulid_of)
