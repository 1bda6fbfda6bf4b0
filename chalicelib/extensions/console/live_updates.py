"""Updates of an open conversation page: its script pulls what is new, and sends replies."""

from typing import Any

from chalice.app import Response

from chalicelib import errors, ids
from chalicelib.extensions.console import bubbles, calls, conversations, guard, pages
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request

_MESSAGES = "/v3/agents/{agent_id}/convos/{convo_id}/messages"


@signed_in("/convos")
def read_news(session: Session, agent_id: str, convo_id: str) -> Response:
    """Return what is new after the position `after`, or 204 if the conversation still has `version`.

    If nothing is new, this costs one request. Without a valid position, the whole transcript is new.
    """
    query = {name: current_request.query_value(name) for name in ("after", "version")}
    try:
        delta = calls.get(_MESSAGES, query, agent_id=agent_id, convo_id=convo_id) if query["after"] else {}
    except errors.Invalid:
        delta = {}
    if delta and {name: delta[name] for name in query} == query:
        return Response("", {}, status_code=204)
    return _news(session, agent_id, convo_id, delta)


@signed_in("/convos")
def add_reply(session: Session, agent_id: str, convo_id: str) -> Response:
    """Add a message from the person, and return what is new after the position `after`, with that message."""
    body = conversations.new_reply(session, guard.form())
    query = {"after": current_request.query_value("after")}
    values = {"agent_id": agent_id, "convo_id": convo_id}
    # The message is committed first, because the whole transcript may be read again.
    delta = calls.commit_now(lambda: calls.add(_MESSAGES, query, body, **values))
    return _news(session, agent_id, convo_id, delta)


def _news(session: Session, agent_id: str, convo_id: str, delta: dict[str, Any]) -> Response:
    """Return a delta as HTML. If it does not follow the page's transcript, or is too large, return the transcript."""
    messages = bubbles.bubbles_that_fit(reversed(delta.get("data", [])))[::-1]
    if delta.get("reset", True) or len(messages) < len(delta["data"]):
        values = conversations.read_transcript(session, agent_id, convo_id)
    else:
        meta = {"agentId": agent_id, "ID": convo_id, **delta["conversation"]}
        position = {"after": delta["after"], "version": delta["version"], "is_reset": False}
        values = {"meta": meta, "messages": messages, "earlier": None, "agent": agent_id, **position}
    return pages.page("news.html", guard.language_of(session), session=session, mid=ids.new_id(), **values)
