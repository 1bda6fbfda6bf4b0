"""The preview of an erasure: the newest conversations and leads that identify the same person.

The erasure itself also searches older records and what `same_person` does not compare.
"""

from itertools import islice
from typing import NamedTuple

from chalicelib.conversations.filters import Filters
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console.access import organisation_list, visible_agents
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.inbox_pages import all_conversations, inbox
from chalicelib.extensions.console.lead_pages import lead_ranges
from chalicelib.extensions.console.presentation import same_person
from chalicelib.leads import listing
from chalicelib.storage import Document

_MAX_LEADS, _PORTION = 500, 100


class Preview(NamedTuple):
    """The matching conversations and leads, newest first, and for each list whether older records may match, too.

    `titles` are the agents' titles by id, followed by the names of their organisations.
    """

    conversations: list[Document]
    has_more_conversations: bool
    leads: list[Document]
    has_more_leads: bool
    titles: dict[str, str]


class _PersonFilters(Filters):
    """Filters for the conversations of a person, whose `userID`, `email` and `phone` are in `equal`."""

    def match(self, row: ConversationRow, metadata: Document) -> bool:
        """Return whether one of the person's values identifies this conversation's visitor."""
        return same_person.has_conversation(self.equal, metadata)


def read(session: Session, person: dict[str, str]) -> Preview:
    """Return the preview for a person, `{userID?, email?, phone?}`.

    Up to 500 of the newest conversations of the first 50 agents and 500 leads are examined. This costs at most two
    requests per agent plus 37, and the requests for the names of organisations. At most 50 conversations are listed.
    """
    agents = visible_agents.read(session)
    conditions = _PersonFilters(None, None, person, None, None, 0, "")
    page = all_conversations.read(session.workspace_id, [*agents.titles], conditions, "", None, inbox.MAX_ROWS)
    rows = [row for _, row in islice(listing.rows(session.workspace_id, lead_ranges.EVERY_LEAD, _PORTION), _MAX_LEADS)]
    leads = [{"id": row.lead_id, **lead} for row in rows if same_person.has_lead(person, lead := row.open())]
    has_more = page.following is not None or agents.has_more
    titles = organisation_list.with_organisations(session, agents.titles)
    return Preview(page.conversations, has_more, leads, len(rows) == _MAX_LEADS, titles)
