"""What a lead's page shows about the person: the conversation's newest messages and notes, and the other leads."""

from itertools import islice
from typing import Any

from chalicelib import clock, ids, storage
from chalicelib.conversations import listing, store, transcript
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console.access import visible_agents
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.conversation_pages import bubbles, conversations, private_notes
from chalicelib.extensions.console.conversation_pages import conversation_actions as actions
from chalicelib.extensions.console.inbox_pages.inbox import VISITOR
from chalicelib.extensions.console.lead_pages import lead_corrections, lead_people, lead_ranges, leads
from chalicelib.extensions.console.presentation.template_filters import truncate, unix_seconds
from chalicelib.storage import Document, join_key, split_key

# The maximum numbers of messages, notes and other leads on the page, and of conversations and leads that are compared.
_MAX_MESSAGES, _MAX_NOTES, _MAX_OTHERS = 12, 5, 5
_MAX_CONVERSATIONS, _MAX_LEADS = 50, 100
_HOUR_MILLISECONDS = 60 * 60 * 1000


def conversation_of(session: Session, lead: Document) -> Document:
    """Return the template variables for the lead's conversation, if it is known: `{meta, messages, notes, variables}`.

    `notes` contains the text before the newest five private notes, and these. Without the member `convoId`, compare the
    visitor of the 50 conversations that began before or within an hour after the capture. This costs at most three
    requests, and one for each chunk with one of the newest 12 messages.
    """
    row = _find(session, lead) if "/convos" in session.pages else None
    if row is None:
        return {"meta": None, "messages": [], "notes": None, "variables": []}
    newest, meta = islice(transcript.newest_messages(row), _MAX_MESSAGES), conversations.metadata_of(row)
    messages = bubbles.bubbles_that_fit(newest)[::-1]
    undated, entries = private_notes.split(truncate(meta.get("notes") or "", actions.MAX_NOTES_LENGTH))
    return {
        "meta": meta,
        "messages": messages,
        "notes": (undated, entries[-_MAX_NOTES:]),
        "variables": conversations.variables_of(meta),
    }


def others_of(session: Session, lead: Document) -> Document:
    """Return the template variables for the person's other leads: `{others, other_ids, others_query, questions}`.

    The list has at most five of the newest 100 leads, and a correction at most 24. `has_older` is whether the person
    may have more. The query selects all of the person's leads, and is None if the lead does not identify the person.
    This costs one request for the agents, two for each agent with many leads, and one for what the other leads asked
    about.
    """
    contact = lead_corrections.contact_of(lead)
    if not contact.text:
        return {"others": [], "other_ids": [], "others_query": None, "questions": {}, "has_older": False}
    titles = visible_agents.read(session).titles
    newest = [*islice(leads.rows(session, titles, lead_ranges.EVERY_LEAD), _MAX_LEADS + 1)]
    records: Any = ({"id": row.lead_id, **row.open()} for _, row in newest[:_MAX_LEADS])
    same = [one for one in records if contact.is_of(one) and one["id"] != lead["id"]]
    others = same[:_MAX_OTHERS]
    return {
        "others": others,
        "other_ids": [one["id"] for one in same[: lead_corrections.MAX_OTHERS]],
        "others_query": query_string({"q": contact.text}),
        "questions": lead_people.questions(session, others),
        "has_older": len(newest) > _MAX_LEADS or len(same) > lead_corrections.MAX_OTHERS,
    }


def _find(session: Session, lead: Document) -> ConversationRow | None:
    convo_id = lead_people.conversation_id(lead) or _same_visitor(session, lead)
    if convo_id is None:
        return None
    (row,) = storage.find_many([store.key(session.workspace_id, lead["agentId"], convo_id)._replace(consistent=False)])
    return store.unless_expired(row)


def _same_visitor(session: Session, lead: Document) -> str | None:
    """Return the id of the newest conversation with the lead's visitor, or None."""
    member, text = leads.first_text(lead, VISITOR)
    if not text:
        return None
    captured = (unix_seconds(lead.get("createdAt")) or clock.seconds()) * 1000
    began = ConversationRow.created < ids.id_at(captured + _HOUR_MILLISECONDS, 0)
    agent = join_key(session.workspace_id, lead["agentId"])
    entries = storage.query(
        ConversationRow, agent, began, index="by_creation", newest_first=True, limit=_MAX_CONVERSATIONS
    )
    known = (row for row in listing.with_metadata(entries) if store.read_metadata(row).get(VISITOR[member]) == text)
    return next((split_key(row.conversation)[2] for row in known), None)
