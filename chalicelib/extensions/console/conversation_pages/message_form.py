"""The page of a message, on which people change or delete it: administrators any message, other people their own.

The transcript has the same form in the place of the message. This page shows problems, and messages without a form.
"""

from contextlib import suppress
from itertools import islice

from chalice.app import Response

from chalicelib import errors
from chalicelib.conversations import transcript
from chalicelib.extensions.console.access import calls, guard
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.conversation_pages import bubbles, conversations
from chalicelib.extensions.console.conversation_pages.conversation_actions import (
    edited,
    may_change,
    normalised,
    submitted_text,
    text_digest,
)
from chalicelib.extensions.console.presentation import pages
from chalicelib.extensions.console.presentation.template_filters import display_name
from chalicelib.storage import Document

_MESSAGE = "/v3/agents/{agent_id}/convos/{convo_id}/messages/{message_id}"


@signed_in("/convos")
def read_message(session: Session, agent_id: str, convo_id: str, message_id: str) -> Response:
    """Show a message with a form for its text, and ask whether to delete it."""
    return _page(session, {"agent_id": agent_id, "convo_id": convo_id, "message_id": message_id})


@signed_in("/convos")
def save_message(session: Session, **values: str) -> Response:
    """Save the message's text. If it has changed since the form was opened, save nothing and show the changed text."""
    sent = guard.form()
    try:
        commit_now(lambda: _save(session, sent, values))
    except (errors.Invalid, errors.TooLarge, errors.PreconditionFailed) as error:
        return _page(session, values, sent.get("text", ""), error)
    return _show_conversation(session, values, "change")


@signed_in("/convos")
def delete_message(session: Session, **values: str) -> Response:
    """Delete the message, then show the conversation."""
    with suppress(errors.NotFound):  # the form has been submitted twice
        _read(session, values)
        commit_now(lambda: calls.send("DELETE", _MESSAGE, None, **values))
    return _show_conversation(session, values, "delete")


def _save(session: Session, sent: dict[str, str], values: dict[str, str]) -> None:
    """Stage the message with the form's text and the person's name.

    Raise PreconditionFailed if the form was opened with another text.
    """
    (message, tag, _), text = _read(session, values), submitted_text(session, sent)
    old = bubbles.editable_text(message.get("item"))
    if text == normalised(old):  # nothing has changed, or the form has been submitted twice
        return
    if sent.get("shown") != text_digest(old):
        raise guard.form_error(session, "text.changed", errors.PreconditionFailed)
    members = edited(session, message, bubbles.replace_text(message.get("item"), old, text))
    calls.send("PATCH", _MESSAGE, {"message": members}, tag, **values)


def _read(session: Session, values: dict[str, str]) -> tuple[Document, str, Document]:
    """Return the message, the conversation's entity tag, and template variables. Raise NotFound and Forbidden."""
    agent_id, convo_id = values["agent_id"], values["convo_id"]
    agent, row = conversations.find(session, agent_id, convo_id)
    stored = transcript.newest_messages(row)
    newer: list[Document] = []
    for message in stored:
        if message.get("mid") == values["message_id"]:
            break
        newer = [message]
    else:
        raise errors.NotFound.of("message")
    bubble, *older = bubbles.bubbles_that_fit([message, *islice(stored, 1)])
    if not may_change(session, bubble):
        raise errors.Forbidden("Only administrators can change other people's messages.")
    variables = {"meta": conversations.metadata_of(row), "agent": display_name(agent, "title") or agent_id}
    messages = [*older, bubble, *bubbles.bubbles_that_fit(newer)]
    return message, f'"{row.version_tag}"', {**variables, "messages": messages, "chosen_mark": bubble.mark}


def _page(
    session: Session, values: dict[str, str], text: str | None = None, error: errors.ApiError | None = None
) -> Response:
    """Return the page, with a form's error and its submitted text."""
    message, _, variables = _read(session, values)
    stored = bubbles.editable_text(message.get("item"))
    return guard.form_page(
        session,
        "message.html",
        "/convos",
        error,
        message_id=values["message_id"],
        is_editable=bool(stored),
        text=stored if text is None else text,
        digest=text_digest(stored),
        **variables,
    )


def _show_conversation(session: Session, values: dict[str, str], done: str) -> Response:
    page = f"/{session.workspace_id}/convos/{values['agent_id']}/{values['convo_id']}"
    return pages.redirect(f"{page}{calls.query_string({'done': done})}")
