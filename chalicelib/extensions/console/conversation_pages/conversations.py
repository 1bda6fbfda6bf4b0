"""The page of a conversation: its transcript, and a person's actions."""

from functools import partial
from itertools import islice

from chalice.app import Response

from chalicelib import errors, ids, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import listing, transcript
from chalicelib.conversations import store as conversations
from chalicelib.conversations.rendering import render_v3
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console.access import calls, guard, organisation_list
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.access.colleagues import list_colleagues
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.conversation_pages import (
    bubbles,
    event_lines,
    private_notes,
    saved_replies,
    visitor_context,
)
from chalicelib.extensions.console.conversation_pages import conversation_actions as actions
from chalicelib.extensions.console.inbox_pages import conversation_list, inbox
from chalicelib.extensions.console.presentation import pages, same_person
from chalicelib.extensions.console.presentation.template_filters import display_name, truncate
from chalicelib.extensions.console.search_pages.search_matches import matches
from chalicelib.extensions.console.settings_pages import erasures
from chalicelib.http import current_request
from chalicelib.storage import Document

MAX_MESSAGES = 100
_MAX_TAGS = 100  # on a page
_MAX_CHANGED = 300  # the maximum characters of the tags in a confirmation
# The maximum number of variables beside a transcript, and of characters in a name and in a value.
_MAX_VARIABLES, _MAX_VARIABLE_NAME, _MAX_VARIABLE = 20, 60, 300


@signed_in("/convos")
def read_conversation(session: Session, agent_id: str, convo_id: str) -> Response:
    """Show a conversation: its newest messages, information about the visitor, and the forms."""
    return _page(session, agent_id, convo_id, {})


@signed_in("/convos")
def submit_action(session: Session, agent_id: str, convo_id: str) -> Response:
    """Perform an action (reply, take over, assign, pass back, end, tag or write notes), then show the conversation."""
    fields = actions.with_action(guard.form())
    error = _perform(session, agent_id, convo_id, fields)
    if error is None:
        fields.pop(actions.TEXTS.get(fields["action"], ""), None)  # this text has been sent
    if error or any(fields.get(name) for name in actions.TEXTS.values()):  # a redirect would lose the texts
        return _page(session, agent_id, convo_id, fields, error)
    query = conversation_list.address_of(conversation_list.read_query(session), done=_result_of(fields))
    return pages.redirect(f"/{session.workspace_id}/convos/{agent_id}/{convo_id}{query}")


def _perform(session: Session, agent_id: str, convo_id: str, fields: dict[str, str]) -> errors.ApiError | None:
    """Perform the form's action. Return the error that the page explains, or None. Raise all other errors."""
    action = actions.ACTIONS.get(fields.get("action", ""))
    if action is None:
        raise errors.Invalid("The form has an unknown action.")
    try:
        calls.commit_now(lambda: action(session, {"agent_id": agent_id, "convo_id": convo_id}, fields))
    except (errors.Invalid, errors.TooLarge, errors.PreconditionFailed, errors.NotFound) as error:
        return error
    return None


def _page(
    session: Session, agent_id: str, convo_id: str, submitted: dict[str, str], error: errors.ApiError | None = None
) -> Response:
    """Return the page, with a form's error and its submitted values."""
    values = _with_changing(session, read_transcript(session, agent_id, convo_id))
    listed = conversation_list.read(session, (agent_id, convo_id))
    result = "" if error else _result_of(submitted) or current_request.query_value("done") or ""
    done, _, changed = result.partition(":")
    return guard.page(
        session,
        "conversation.html",
        "/convos",
        error.STATUS_CODE if error else 200,
        submitted=submitted,
        message=guard.explain(session, error) if error else None,
        mid=ids.new_id(),
        done=done if done in actions.RESULTS else None,
        changed=changed,
        search=listed.query["q"] or "",
        match=next((one.mark for one in values["messages"][::-1] if matches(one.text, listed.query["q"] or "")), None),
        texts=actions.TEXTS,
        may_change=partial(actions.may_change, session),
        text_digest=actions.text_digest,
        variables=variables_of(values["meta"]),
        others=_others(values["meta"]),
        erasure=erasures.address_of(session, same_person.visitor_of(values["meta"])),
        next_waiting=inbox.next_waiting(session, listed.waiting, (agent_id, convo_id)),
        titles=conversation_list.titles_beside(session, listed, values["meta"]),
        organisations=organisation_list.names_by_agent(session).get(agent_id),
        is_beside=True,
        chosen=set(),
        known_tags=conversation_list.known_tags([*listed.waiting, *listed.page.conversations]),
        **conversation_list.row_values(session, listed, values["meta"]),
        **visitor_context.read(session, values["meta"], values["created"]),
        **values,
    )


def _result_of(fields: dict[str, str]) -> str:
    """Return the form's action, followed by a colon and the tags that it changed, if they fit into an address."""
    changed = fields.get("changed", "")
    return f"{fields['action']}:{changed}" if changed and len(changed) <= _MAX_CHANGED else fields.get("action", "")


def _with_changing(session: Session, values: Document) -> Document:
    """Return the template variables with the message in the query that the person may change, or None.

    Live updates are off while a message is changed, because they could replace its form.
    """
    mid = current_request.query_value("change")
    editable = (one for one in values["messages"] if one.is_editable and one.mid == mid != "")
    changing = next((one for one in editable if actions.may_change(session, one)), None)
    return {**values, "changing": changing, **({"after": None} if changing else {})}


def find(session: Session, agent_id: str, convo_id: str) -> tuple[Document, ConversationRow]:
    """Return the agent and the conversation row. This costs one request. Raise NotFound."""
    keys = [agents.key(session.workspace_id, agent_id), conversations.key(session.workspace_id, agent_id, convo_id)]
    agent, stored = storage.find_many(keys)
    row = conversations.unless_expired(stored)
    if row is None:
        raise errors.NotFound.of("conversation")
    return agents.reread_if_missing(agent, session.workspace_id, agent_id).open(), row


def metadata_of(row: ConversationRow) -> Document:
    """Return a conversation's metadata as the API shows it."""
    return render_v3(row, conversations.read_metadata(row))


def variables_of(metadata: Document) -> list[tuple[str, str]]:
    """Return the first labels and captured variables that contain a text or number, such as the visitor's country."""
    merged = {**(metadata.get("labels") or {}), **(metadata.get("capturedVariables") or {})}
    texts = ((name, str(value)) for name, value in merged.items() if isinstance(value, str | int | float) and value)
    return [
        (truncate(name, _MAX_VARIABLE_NAME), truncate(text, _MAX_VARIABLE))
        for name, text in islice(texts, _MAX_VARIABLES)
    ]


def _others(metadata: Document) -> str | None:
    """Return the query string of the visitor's conversations with the agent, or None for an unknown visitor.

    No index contains visitors. The list compares the metadata of up to 500 conversations, and searches the messages
    only for a visitor whose name alone is known.
    """
    known = same_person.known_values({**same_person.visitor_of(metadata), "q": display_name(metadata, "userName")})
    return query_string({"tab": "all", "agent": metadata["agentId"], **dict([*known.items()][:1])}) if known else None


def read_transcript(session: Session, agent_id: str, convo_id: str) -> Document:
    """Return the template variables for a transcript: metadata, the newest messages in order, and the page before them.

    This costs two requests, plus one for each further chunk or 100 colleagues. Raise NotFound.
    """
    agent, row = find(session, agent_id, convo_id)
    colleagues = list_colleagues(session)
    before = _before()
    newest = bubbles.bubbles_that_fit(islice(transcript.newest_messages(row), before, before + MAX_MESSAGES))
    metadata, until, messages = metadata_of(row), before + len(newest), newest[::-1]
    earlier = until if newest and metadata.get("messagesNum", 0) > until else None
    notes, t = metadata.get("notes") or "", guard.texts(session)
    events = event_lines.of_conversation(row, notes, t, dict(colleagues.people))
    return {
        **panel_values(row, metadata),
        **colleagues.values(),
        "undo": event_lines.undo_by(row, session.caller().name),
        "has_new_wait": event_lines.has_new_wait(row),
        "messages": messages,
        "events": event_lines.by_position(events, messages, is_first=not earlier, is_last=not before),
        "earlier": earlier,
        "skipped": before,
        "agent": display_name(agent, "title") or agent_id,
        "saved_replies": saved_replies.for_visitor(session, agent, display_name(metadata, "userName")),
        "created": row.created,
        # The position and version from which the page's script continues. An earlier page is not updated.
        "after": None if before else transcript.end_position(row),
        "version": listing.version_of(row),
        "since": max((event.at for event in events), default=0),
        "end": event_lines.end_of(row, t, dict(colleagues.people)),
        "is_reset": True,
    }


def panel_values(row: ConversationRow, metadata: Document) -> Document:
    """Return the template variables for the parts of a page that follow the metadata: state, actions, tags, notes."""
    tags, notes = metadata.get("tags") or [], metadata.get("notes") or ""
    undated, entries = private_notes.split(notes)
    since = inbox.waiting_since(row, metadata)
    return {
        "waiting_since": since,
        "hours_of_wait": inbox.hours_of_long_wait({**metadata, "waitingSince": since}),
        "undated_notes": undated,
        "notes_count": len(entries),
        "newest_note": entries[-1].mark if entries else None,
        "meta": metadata,
        "tags": tags[:_MAX_TAGS],
        "more_tags": len(tags[_MAX_TAGS:]),
        "notes": truncate(notes, actions.MAX_NOTES_LENGTH),
        "notes_digest": actions.text_digest(notes),
        "are_notes_whole": len(notes) <= actions.MAX_NOTES_LENGTH,
    }


def _before() -> int:
    """Return the number of newest messages that the page skips. Raise Invalid."""
    value = current_request.query_value("before") or "0"
    if not value.isascii() or not value.isdecimal() or len(value) > 5:
        raise errors.Invalid.member("before", "must be a number of messages")
    return int(value)
