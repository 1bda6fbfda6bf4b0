"""Saved replies: texts that people insert into a reply to a visitor. They are in the agent's member `savedReplies`.

The API does not know the member, and stores it as sent. Therefore, it may contain any JSON value, and callers that may
not read secrets cannot read it.
"""

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.agents import store as agents
from chalicelib.extensions.console import calls, fields, guard, pages
from chalicelib.extensions.console.calls import commit_now
from chalicelib.extensions.console.fields import TEXTS, Field
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request
from chalicelib.storage import Document

_PATH = "/v3/agents/{agent_id}"
_FIELD = Field("savedReplies", TEXTS)
_MAX_BYTES, _MAX_REPLIES = 100_000, 200  # the maximum size of all texts as HTML, and their maximum number


def of_agent(agent: Document) -> list[str]:
    """Return an agent's saved replies, or none if these are over 200 or exceed 100,000 bytes."""
    texts: list[str] = fields.values([_FIELD], agent)[_FIELD.path]
    fits = len(texts) <= _MAX_REPLIES and fields.fields_that_fit([_FIELD], agent, _MAX_BYTES).fields
    return texts if fits else []


def insert(session: Session, values: dict[str, str], sent: dict[str, str]) -> None:
    """Append the selected text to the reply in a form. The page's script does this without a request."""
    sent["text"] = sent.get("text", "") + sent.pop("saved", "")


@signed_in("/agents")
def read_form(session: Session, agent_id: str) -> Response:
    """Show the form for an agent's saved replies. This costs two requests."""
    return _page(session, agent_id)


@signed_in("/agents")
def save(session: Session, agent_id: str) -> Response:
    """Save the form. If the agent has changed since the page was shown, save nothing and say so."""
    sent = guard.form()
    submitted = fields.submitted_values([_FIELD], sent)
    try:
        if submitted.get(_FIELD.path) != of_agent(_read(session, agent_id)):  # otherwise the form has been sent twice
            commit_now(lambda: _save(agent_id, submitted, sent.get("tag", "")))
    except errors.ApiError as error:
        return _page(session, agent_id, submitted, error)
    return pages.saved(session.workspace_id, f"/agents/{agent_id}/replies", "true")


def _save(agent_id: str, submitted: Document, tag: str) -> None:
    agent = {name: texts or None for name, texts in submitted.items()}
    calls.patch_as_sent(_PATH, {"agent": agent}, tag, agent_id=agent_id)


def _read(session: Session, agent_id: str) -> Document:
    (row,) = storage.find_many([agents.key(session.workspace_id, agent_id)])
    return row.open() if row else {}


def _page(
    session: Session, agent_id: str, submitted: Document | None = None, error: errors.ApiError | None = None
) -> Response:
    agent, tag = calls.read(_PATH, agent_id=agent_id)
    stored = _read(session, agent_id)
    texts = of_agent(stored)
    return guard.form_page(
        session,
        "saved_replies.html",
        "/agents",
        error,
        agent=agent,
        tag=tag,
        fits=stored.get(_FIELD.path) in (None, texts),
        texts=(submitted or {}).get(_FIELD.path, texts),
        saved=current_request.query_value("saved"),
    )
