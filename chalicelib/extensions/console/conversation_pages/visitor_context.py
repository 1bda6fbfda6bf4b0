"""What a conversation's page shows about its visitor: earlier conversations with the agent, and leads."""

from collections.abc import Iterator
from itertools import islice

from chalicelib import storage
from chalicelib.conversations import listing, store
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.inbox_pages import inbox
from chalicelib.extensions.console.presentation import same_person
from chalicelib.leads import listing as lead_listing
from chalicelib.leads.listing import LeadQuery
from chalicelib.storage import Document, join_key

_MAX_SHOWN = 5  # conversations, and leads
_MAX_CONVERSATIONS, _MAX_LEADS = 100, 100  # the maximum numbers that are compared with the visitor


def read(session: Session, metadata: Document, created: str) -> Document:
    """Return the template variables for the visitor of a conversation that was created at the ULID `created`.

    The variables are `{past_conversations, visitor_leads}`, at most five of each, newest first. The 100 conversations
    before this one are compared, and the agent's newest 100 leads. For a visitor without an id, email or phone number,
    this costs nothing, otherwise one request for each list, plus one if an entry's metadata is too long for the index.
    """
    visitor = same_person.visitor_of(metadata)
    if not visitor:
        return {"past_conversations": [], "visitor_leads": []}
    conversations = _conversations_before(session.workspace_id, metadata["agentId"], created)
    past = (record for record in conversations if same_person.has_conversation(visitor, record))
    return {"past_conversations": [*islice(past, _MAX_SHOWN)], "visitor_leads": leads_of(session, metadata)}


def leads_of(session: Session, metadata: Document) -> list[Document]:
    """Return at most five of the agent's newest 100 leads that belong to a conversation or its visitor.

    This costs one request. Return none if the person may not open leads.
    """
    if "/leads" not in session.pages:
        return []
    visitor, query = same_person.visitor_of(metadata), LeadQuery(metadata["agentId"], None, None, "", None)
    rows = islice(lead_listing.rows(session.workspace_id, query, _MAX_LEADS), _MAX_LEADS)
    leads = ({"id": row.lead_id, **row.open()} for _, row in rows)
    own = (one for one in leads if one.get("convoId") == metadata["ID"] or same_person.has_lead(visitor, one))
    return [*islice(own, _MAX_SHOWN)]


def _conversations_before(workspace_id: str, agent_id: str, created: str) -> Iterator[Document]:
    """Yield the metadata of an agent's conversations that were created before a ULID, newest first."""
    agent, before = join_key(workspace_id, agent_id), ConversationRow.created < created
    entries = storage.query(
        ConversationRow, agent, before, index="by_creation", newest_first=True, limit=_MAX_CONVERSATIONS
    )
    records = map(inbox.record_of, listing.with_metadata(entries))
    return (record for record in records if not store.has_expired(record))
