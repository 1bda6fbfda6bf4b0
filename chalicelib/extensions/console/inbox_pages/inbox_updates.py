"""Updates of open pages, whose script gets the list of conversations, or the number of waiting conversations."""

from typing import Any

from chalice.app import Response

from chalicelib import errors, ids, storage
from chalicelib.conversations import store
from chalicelib.extensions.console.access import colleagues, guard
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.inbox_pages import conversation_list, inbox
from chalicelib.extensions.console.inbox_pages.conversation_list import ConversationList
from chalicelib.extensions.console.presentation import pages
from chalicelib.http import current_request
from chalicelib.storage import Document


@signed_in("/convos")
def read_inbox(session: Session) -> Response:
    """Return the list that the query describes as HTML, or 204 if the page's list has this `version`.

    Without a `tab`, return only the number of waiting conversations, which is also its version. If nothing has changed,
    this costs as much as the inbox, or as a page of all conversations.
    """
    version = current_request.query_value("version")
    if not current_request.query_value("tab"):
        waiting = inbox.read(session).counts["waiting"]
        return _unchanged() if version == waiting else _news(session, tab=None, waiting_count=waiting)
    listed = conversation_list.read(session)
    if version == listed.version:
        return _unchanged()
    return _news(session, **_list_values(session, listed))


def _list_values(session: Session, listed: ConversationList) -> Document:
    """Return the template variables for a list. A list beside a transcript names the agents if there are several."""
    agent_id, is_beside, convo_id = (current_request.query_value("beside") or "").partition("/")
    selected = _selected(session, agent_id, convo_id) if is_beside else None
    if is_beside:
        titles = conversation_list.titles_beside(session, listed, selected)
    else:
        listed, (titles, _) = conversation_list.with_all_counted(session, listed)
    people = colleagues.list_assignees(session, [*listed.page.conversations, *filter(None, [selected])])
    following = inbox.next_waiting(session, listed.waiting, (agent_id, convo_id))
    values = {"titles": titles, "is_beside": bool(is_beside), "colleagues": people, "next_waiting": following}
    return {**values, "chosen": set(), **conversation_list.row_values(session, listed, selected)}


def _selected(session: Session, agent_id: str, convo_id: str) -> Document | None:
    """Return the open conversation, or None if it does not exist. This costs one request. Raise NotFound, Invalid."""
    guard.require_agent(session, agent_id)
    if not ids.IDENTIFIER.fullmatch(convo_id) or not ids.IDENTIFIER.fullmatch(agent_id):
        raise errors.Invalid.member("beside", "must be an agent id, a slash and a conversation id")
    (row,) = storage.find_many([store.key(session.workspace_id, agent_id, convo_id)])
    existing = store.unless_expired(row)
    return inbox.record_of(existing) if existing else None


def _unchanged() -> Response:
    return Response("", {}, status_code=204)


def _news(session: Session, **values: Any) -> Response:
    return pages.page("inbox_news.html", guard.language_of(session), session=session, **values)
