"""Updates of an open conversation page: its script pulls what is new, and sends replies."""

from functools import partial
from typing import Any

from chalice.app import Response

from chalicelib import errors, ids, storage
from chalicelib.conversations import listing, message_list_routes, store, transcript
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console.access import calls, guard
from chalicelib.extensions.console.access.colleagues import Colleagues, list_colleagues
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import trial_bots
from chalicelib.extensions.console.conversation_pages import bubbles, conversation_actions, conversations, event_lines
from chalicelib.extensions.console.conversation_pages.bubbles import Bubble
from chalicelib.extensions.console.presentation import pages
from chalicelib.extensions.console.presentation.template_filters import display_name
from chalicelib.http import current_request

_MESSAGES = "/v3/agents/{agent_id}/convos/{convo_id}/messages"
_MAX_DIGITS = 15  # of a time in Unix milliseconds


@signed_in("/convos")
def read_news(session: Session, agent_id: str, convo_id: str) -> Response:
    """Return what is new after the position `after`, or 204 if the conversation still has `version`.

    If nothing is new, this costs one request, and in a trial those of `trial_bots.has_news`. Without a valid position,
    the whole transcript is new.
    """
    after, version = _position()
    if after and version:
        entry = listing.find_unchanged(session.workspace_id, agent_id, convo_id, version)
        metadata = store.read_metadata(entry) if entry else {}
        is_current = entry is not None and not store.has_expired(metadata)
        if is_current and not trial_bots.has_news(session, metadata, _since()[1]):
            return Response("", {}, status_code=204)
    return _news(session, agent_id, convo_id, after)


@signed_in("/convos")
def add_reply(session: Session, agent_id: str, convo_id: str) -> Response:
    """Add a message from the person, and return what is new after the position `after`, with that message."""
    body, (after, _) = conversation_actions.new_reply(session, guard.form()), _position()
    # The message is committed first, so that the page's parts show the conversation after it.
    calls.commit_now(lambda: calls.send("POST", _MESSAGES, body, agent_id=agent_id, convo_id=convo_id))
    return _news(session, agent_id, convo_id, after)


def _position() -> tuple[str, str]:
    """Return the position and the version in the query, or empty strings if either is invalid."""
    try:
        return message_list_routes.position() or "", message_list_routes.version() or ""
    except errors.Invalid:
        return "", ""


def _news(session: Session, agent_id: str, convo_id: str, after: str) -> Response:
    """Return what follows the position as HTML, with the parts of the page that follow the metadata.

    If the position is not in the conversation, or too much follows it, return the transcript.
    """
    values = storage.retry_on_conflict(lambda: _read_delta(session, agent_id, convo_id, after))
    if values is None:
        values = conversations.read_transcript(session, agent_id, convo_id)
    values["may_change"] = partial(conversation_actions.may_change, session)
    values |= trial_bots.template_values(session, convo_id)
    return pages.page("news.html", guard.language_of(session), session=session, mid=ids.new_id(), **values)


def _read_delta(session: Session, agent_id: str, convo_id: str, after: str) -> dict[str, Any] | None:
    """Return the template variables for what follows the position, or None if it is not in the conversation.

    Raise ConditionFailed if the conversation changes during the read.
    """
    agent, row = conversations.find(session, agent_id, convo_id)
    delta = transcript.read_delta(row, after) if after else None
    if delta is None or delta.reset:
        return None
    messages = bubbles.bubbles_that_fit(reversed(delta.messages))[::-1]
    if len(messages) < len(delta.messages):
        return None
    position = {"after": delta.after, "version": listing.version_of(row), "is_reset": False}
    parts = conversations.panel_values(row, conversations.metadata_of(row))
    events, title = _new_events(session, row, messages), display_name(agent, "title") or agent_id
    return {**parts, **events, "messages": messages, "earlier": None, "agent": title, **position}


def _new_events(session: Session, row: ConversationRow, messages: list[Bubble]) -> dict[str, Any]:
    """Return the events after the time `since` in the query, and the time from which the next update continues.

    A new transfer costs one more request, for people's names. Without a valid time, there are no events.
    """
    (since, _), notes = _since(), store.read_metadata(row).get("notes") or ""
    if since is None:
        return {"events": {}, "since": ""}
    has_transfer = any(transfer.at > since for transfer in event_lines.transfers_of(row))
    colleagues = list_colleagues(session) if has_transfer else Colleagues([], has_more=False)
    names = dict(colleagues.people)
    end = {"end": event_lines.end_of(row, guard.texts(session), names), **colleagues.values()} if has_transfer else {}
    events = event_lines.of_conversation(row, notes, guard.texts(session), names)
    new, newest = event_lines.after(events, since), max(since, *(event.at for event in events), 0)
    return {"events": event_lines.by_position(new, messages, is_first=True, is_last=True), "since": newest, **end}


def _since() -> tuple[int | None, str]:
    """Return the time in the query from which the page has shown all events, or None, and the mark of a trial's bots.

    The script of the page sends both as one value, with a dot between them.
    """
    value, _, mark = (current_request.query_value("since") or "").partition(".")
    return int(value) if value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS else None, mark
