"""The page on which an operator tries an agent, by writing messages as the visitor and, without a bot, as the agent."""

import re

from chalice.app import Response

from chalicelib import errors, ids
from chalicelib.extensions.console.access import calls, guard, rights
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import agent_facts, trial_bots
from chalicelib.extensions.console.conversation_pages import conversations
from chalicelib.extensions.console.inbox_pages import inbox
from chalicelib.extensions.console.presentation import pages
from chalicelib.extensions.console.presentation.trial_marks import PREFIX, TAG
from chalicelib.http import current_request
from chalicelib.storage import Document

_MESSAGES = "/agents/{agent_id}/interact/{user_id}/messages"
_STATE = "/agents/{agent_id}/interact/{user_id}/state"
_ANSWER = "answer"  # the action of the button that writes as the agent
_CONVERSATION = re.compile(f"{PREFIX}[0-9a-z]{{1,40}}")


@signed_in("/agents")
def read_trial(session: Session, agent_id: str) -> Response:
    """Show the conversation in the query, or an empty conversation, with a field for the visitor's next message."""
    rights.require_operator(session)
    return _page(session, agent_id, current_request.query_value("convo") or "")


@signed_in("/agents")
def send_message(session: Session, agent_id: str) -> Response:
    """Add the visitor's message, or the answer that a bot would write. The form contains the message's `mid`.

    Before the first message, create the conversation.
    """
    rights.require_operator(session)
    sent = guard.form()
    convo_id = sent.get("convo", "")
    try:
        message = _message(session, sent)
        _require_trial(convo_id)
        if "first" in sent:
            _create(session, agent_id, convo_id)
        _send(agent_id, convo_id, message)
    except (errors.Invalid, errors.TooLarge) as error:
        return _page(session, agent_id, convo_id, sent.get("text", ""), error)
    return pages.redirect(f"/{session.workspace_id}/agents/{agent_id}/try?convo={convo_id}#text")


def _require_trial(convo_id: str) -> None:
    """Raise NotFound for the id of a conversation that is not a trial."""
    if not _CONVERSATION.fullmatch(convo_id):
        raise errors.NotFound.of("conversation")


def _create(session: Session, agent_id: str, convo_id: str) -> None:
    """Create the conversation with its tag, so that the reports count none of its changes, unless it exists.

    Name its visitor in the page's language, because lists would show its id.
    """
    marks = {"metadata": {"tags": [TAG], "userName": guard.texts(session)("test_visitor")}}
    calls.create(_STATE, marks, agent_id=agent_id, user_id=convo_id)


def _send(agent_id: str, convo_id: str, body: Document) -> None:
    commit_now(lambda: calls.send("POST", _MESSAGES, body, agent_id=agent_id, user_id=convo_id))


def _message(session: Session, sent: dict[str, str]) -> Document:
    """Return the request body for the form. Raise Invalid for an empty text."""
    text = sent.get("text", "").strip()
    if not text:
        raise guard.form_error(session, "text")
    item, is_answer = {"payload": {"message": text}, "text": text}, sent.get("action") == _ANSWER
    message = {"mid": sent.get("mid"), "from": "bot" if is_answer else "human", "type": "text", "item": item}
    return {"messages": [message], **({"state": inbox.WAITING} if sent.get("person") and not is_answer else {})}


def _page(
    session: Session, agent_id: str, convo_id: str, text: str = "", error: errors.ApiError | None = None
) -> Response:
    agent, tag = calls.read("/v3/agents/{agent_id}", agent_id=agent_id)
    transcript, bots = _transcript(session, agent_id, convo_id), trial_bots.read()
    if not _CONVERSATION.fullmatch(convo_id):
        convo_id = f"{PREFIX}{ids.new_id()}"
    values = {**(transcript or {}), "is_new": transcript is None, "record": agent, "convo_id": convo_id, "text": text}
    return guard.form_page(
        session,
        "trial.html",
        "/agents",
        error,
        mid=ids.new_id(),
        bots=bots,
        facts=agent_facts.read(session, [agent_id], bots.hooks)._replace(failing_bot=bots.failing_bot),
        saved_at=ids.timestamp_of(tag.strip('"').partition(".")[0]) // 1000,
        **values,
    )


def _transcript(session: Session, agent_id: str, convo_id: str) -> Document | None:
    """Return the template variables for the conversation's transcript, or None if the conversation does not exist."""
    if not _CONVERSATION.fullmatch(convo_id):
        return None
    try:
        return conversations.read_transcript(session, agent_id, convo_id)
    except errors.NotFound:
        return None
