"""A person's actions that change who has a conversation: assign, take over, pass back to the AI, undo and reopen."""

from chalicelib import errors, storage
from chalicelib.clients import store as clients
from chalicelib.conversations import store as conversations
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console.access import calls, guard
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.conversation_pages import event_lines
from chalicelib.extensions.console.inbox_pages import previews

_PATH = "/v3/agents/{agent_id}/convos/{convo_id}"
_ASSIGN = f"{_PATH}/assign"


def assign(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Assign the conversation to a person, or to no person. A waiting conversation waits until its assignee answers.

    If the form is for a `free` conversation, raise PreconditionFailed if it neither waits nor is unanswered, or another
    person has it.
    """
    to = _named(session, fields["email"]) if fields.get("email") else fields.get("to")
    record, etag = calls.read(_PATH, **values)
    waits = record.get("state") == conversations.HANDOFF
    if fields.get("free") and not (previews.needs_answer(record) and record.get("chatAssignedTo") in (None, "", to)):
        raise guard.form_error(session, "assignee.taken", errors.PreconditionFailed)
    _assign_to(session, to, conversations.HANDOFF if waits else "", values, etag)


def assign_many(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Assign the conversation to the selected person. Without a selection, pass it back to the AI."""
    (assign if fields.get("to") else pass_back)(session, values, fields)


def undo(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Restore the state and the assignee in the form (`event_lines.undo_of`).

    Raise PreconditionFailed if either has changed since the form was shown. New messages are not a conflict.
    """
    change = fields.get("undo", "")
    record, etag = calls.read(_PATH, **values)
    if (record.get("state"), record.get("chatAssignedTo") or "") == _state_before(change):  # submitted twice
        return
    row = _row(session, values)
    _restore(session, change if row and event_lines.undo_of(row) == change else None, values, etag)


def reopen(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Undo the person's own end of a conversation. Raise PreconditionFailed if another change has followed."""
    etag, name = calls.read(_PATH, **values)[1], session.caller().name
    row = _row(session, values)
    if row and event_lines.is_reopened_by(row, name):  # submitted twice
        return
    ended = row if row and event_lines.has_ended(row) else None
    _restore(session, event_lines.undo_by(ended, name) if ended else None, values, etag)


def _row(session: Session, values: dict[str, str]) -> ConversationRow | None:
    row: ConversationRow | None
    (row,) = storage.find_many([conversations.key(session.workspace_id, values["agent_id"], values["convo_id"])])
    return row


def _restore(session: Session, change: str | None, values: dict[str, str], etag: str) -> None:
    """Restore the state and the assignee before a change (`event_lines.undo_of`). Raise PreconditionFailed for None."""
    if change is None:
        raise guard.form_error(session, "undo.changed", errors.PreconditionFailed)
    state, to = _state_before(change)
    _assign_to(session, to, state, values, etag)


def _state_before(change: str) -> tuple[str, str]:
    """Return the state and the assignee of `event_lines.undo_of`."""
    state, _, to = change.partition("/")[2].rpartition("/")
    return state, to


def _assign_to(session: Session, to: str | None, state: str, values: dict[str, str], if_match: str) -> None:
    """Assign the conversation. Raise NotFound for a person of another organisation."""
    if to and session.client_id is not None:
        client = calls.get("/v2/clients/{client_id}", client_id=to)["data"]
        if client.get("orgId") != session.client.get("orgId"):
            raise errors.NotFound.of("client")
    body = {"assignToUserId": to or None, **({"state": state} if state else {})}
    calls.send("POST", _ASSIGN, body, if_match, **values)


def _named(session: Session, email: str) -> str:
    """Return the id of the client that uses this email in the person's organisation. Raise Invalid."""
    (claim,) = storage.find_many([clients.email_key(session.workspace_id, email)])
    row = clients.find_owner(session.workspace_id, claim)
    if row is None or (session.client_id is not None and row.open().get("orgId") != session.client.get("orgId")):
        raise guard.form_error(session, "assignee")
    return row.client_id


def take_over(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Assign the conversation to the person. An operator is not a client, so an operator only sets the state."""
    body = {"assignToUserId": session.client_id, "state": conversations.WITH_PERSON}
    calls.send("POST", _ASSIGN, body, **values)


def pass_back(session: Session, values: dict[str, str], fields: dict[str, str]) -> None:
    """Pass the conversation back to the AI. It has no assignee then."""
    calls.send("POST", _ASSIGN, {"assignToUserId": None}, **values)
