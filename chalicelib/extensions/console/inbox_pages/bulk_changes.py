"""The form that assigns, tags, ends or reopens several conversations."""

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.conversation_pages import conversation_actions as actions
from chalicelib.extensions.console.inbox_pages import conversation_list, inbox
from chalicelib.extensions.console.presentation import pages

# The name of a check box is this prefix, the agent id, a slash and the conversation id.
_PREFIX = "pick."
_END, _MAX_UNDOABLE = "end", 2_000  # the action that can be undone, and the characters of its conversations' ids

ConversationIds = tuple[str, str]
"""An agent id and a conversation id."""


@signed_in("/convos")
def change_many(session: Session) -> Response:
    """Change each chosen conversation with one API operation, then show the list with the result.

    If a change fails, the others are still made. The page lists the conversations that were not changed, with reasons.
    Raise NotFound, before any change, if the person does not see the agent of a conversation.
    """
    fields = guard.form()
    name, chosen = _action(fields), _chosen(session, fields)
    if problem := _problem(session, name, chosen, fields):
        return conversation_list.show(session, 400, problem=problem, chosen=set(chosen))
    failures = {ids: reason for ids in chosen if (reason := _change(session, name, ids, fields))}
    result = {"done": name, "changed": len(chosen) - len(failures)}
    if failures:
        return conversation_list.show(session, 409, **result, failures=failures, chosen=set(failures))
    query = {**conversation_list.read_query(session), **result, "ended": _undoable(name, chosen)}
    return pages.redirect(f"/{session.workspace_id}/convos{calls.query_string(query)}")


def _undoable(name: str, chosen: list[ConversationIds]) -> str | None:
    """Return the conversations that were ended, for the button that reopens them, if they fit into an address."""
    ended = " ".join("/".join(ids) for ids in chosen)
    return ended if name == _END and len(ended) <= _MAX_UNDOABLE else None


def _action(fields: dict[str, str]) -> str:
    """Return the name of the form's action. Raise Invalid for an unknown action."""
    name = fields.get("action", "")
    if name not in actions.BULK_ACTIONS:
        raise errors.Invalid("The form has an unknown action.")
    return name


def _chosen(session: Session, fields: dict[str, str]) -> list[ConversationIds]:
    """Return the ids in the names of the checked boxes. Raise NotFound if the person does not see an agent."""
    names = [name.removeprefix(_PREFIX).partition("/") for name in fields if name.startswith(_PREFIX)]
    for agent_id, _, _ in names:
        guard.require_agent(session, agent_id)
    return [(agent_id, conversation_id) for agent_id, _, conversation_id in names]


def _problem(session: Session, name: str, chosen: list[ConversationIds], fields: dict[str, str]) -> str:
    """Return the error in the form as a whole, in the person's language, or an empty string if there is none."""
    t = guard.texts(session)
    if not chosen:
        return t("bulk.none")
    if len(chosen) > inbox.MAX_ROWS:
        return t("bulk.most", number=inbox.MAX_ROWS)
    return t("wrong.tags") if name == "tag" and not actions.submitted_tags(session, fields) else ""


def _change(session: Session, name: str, ids: ConversationIds, fields: dict[str, str]) -> str:
    """Change a conversation. Return the error in the person's language, or an empty string if there is none."""
    agent_id, conversation_id = ids
    values = {"agent_id": agent_id, "convo_id": conversation_id}
    try:
        calls.commit_now(lambda: actions.BULK_ACTIONS[name](session, values, fields))
    except errors.ApiError as error:
        return guard.explain(session, error)
    return ""
