"""Lead lists, newest first, for one agent or for all agents in the workspace.

A position in a list is a lead's ULID. The next page continues with older leads.
"""

from functools import partial
from typing import NamedTuple

from chalicelib.http import pages, parameters
from chalicelib.leads import store
from chalicelib.storage import Document

NAMES = ("agentId", "from", "to", "searchTerm")
_SEARCHED = ("name", "email", "phone", "agentName")


class LeadQuery(NamedTuple):
    """A list's filters, and the position at which it starts. Times are in Unix seconds, and `text` is case-folded.

    `after` is the ULID of the previous page's last lead, or None.
    """

    agent_id: str | None
    since: int | None
    until: int | None
    text: str
    after: str | None

    @classmethod
    def from_request(cls) -> "LeadQuery":
        """Return the request's query. Raise Invalid for invalid parameters."""
        cursor, agent_id = parameters.cursor(), parameters.text("agentId")
        since, until, text = (
            parameters.seconds("from"),
            parameters.seconds("to"),
            parameters.optional_search_text("searchTerm"),
        )
        return cls(agent_id, since, until, text, cursor)

    def match(self, document: Document) -> bool:
        """Return whether a lead contains the text. The store applies all other filters."""
        return parameters.contains(document, _SEARCHED, self.text)


def rows(workspace_id: str, query: LeadQuery, limit: int) -> pages.PositionedRows[store.LeadRow]:
    """Yield the leads to examine with their positions, newest first.

    This costs one request for the first page, then one per 100 leads.
    """
    fetch = partial(store.list_captured, workspace_id, query.agent_id, query.since, query.until)
    return pages.in_portions(fetch, query.after, limit, store.ulid_of)
