"""A conversation as a file, and the page on which administrators delete a conversation."""

import json
from contextlib import suppress
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.conversation_pages import private_notes, visitor_context
from chalicelib.extensions.console.presentation import pages, same_person
from chalicelib.extensions.console.settings_pages import erasures

_CONVERSATION = "/v3/agents/{agent_id}/convos/{convo_id}"


@signed_in("/convos")
def download(session: Session, agent_id: str, convo_id: str) -> Response:
    """Return a conversation with all of its messages as a JSON file."""
    conversation = calls.get(f"{_CONVERSATION}/export", agent_id=agent_id, convo_id=convo_id)["data"]
    text = json.dumps(conversation, ensure_ascii=False, indent=1)
    return pages.download("conversation.json", "application/json", text)


@signed_in("/convos")
def read_deletion(session: Session, agent_id: str, convo_id: str) -> Response:
    """Ask whether to delete a conversation."""
    _require_administrator(session)
    meta = calls.get(_CONVERSATION, agent_id=agent_id, convo_id=convo_id)["data"]
    return _page(session, agent_id, convo_id, meta, visitor_context.leads_of(session, meta))


@signed_in("/convos")
def delete(session: Session, agent_id: str, convo_id: str) -> Response:
    """Delete a conversation with its messages, and confirm the deletion."""
    _require_administrator(session)
    with suppress(errors.NotFound):  # the form has been submitted twice
        commit_now(lambda: calls.send("DELETE", _CONVERSATION, None, agent_id=agent_id, convo_id=convo_id))
    return _page(session, agent_id, convo_id, None)


def _require_administrator(session: Session) -> None:
    if not session.is_admin:
        raise errors.Forbidden("Only administrators can delete conversations.")


def _page(session: Session, agent_id: str, convo_id: str, meta: Any, leads: Any = ()) -> Response:
    undated, dated = private_notes.split((meta or {}).get("notes") or "")
    erasure = erasures.address_of(session, same_person.visitor_of(meta) if meta else {})
    values = {"meta": meta, "leads": leads, "erasure": erasure, "undated_notes": undated, "dated_notes": dated}
    return guard.page(session, "conversation_deletion.html", "/convos", agent_id=agent_id, convo_id=convo_id, **values)
