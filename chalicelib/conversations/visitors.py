"""Visitor token permissions (§5): read one conversation, write as its user, and set the user's data."""

from typing import TYPE_CHECKING, cast

from chalicelib import clock, errors, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import new_messages
from chalicelib.conversations.rows import ConversationRow
from chalicelib.credentials import tokens
from chalicelib.credentials import visitors as credentials
from chalicelib.http import auth
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.conversations import models

_OWN = frozenset({"userName", "userEmail", "userPhone"})
# Maximum metadata changes in a row, and the number of seconds after which another change is allowed.
_MAX_CHANGES = 10
_CHANGE_SECONDS = 360


def restrict_change(body: "models.StateIn") -> "models.StateIn":
    """Return the state route's body. If the caller is a visitor token, remove `metadata.ts`.

    Raise Forbidden if a visitor token changes more than its user's data.
    """
    if not _is_visitor():
        return body
    members = body.metadata.model_fields_set if body.metadata else frozenset[str]()
    changed = [name for name in ("turns", "delete") if getattr(body, name) is not None]
    for path in (*changed, *(f"metadata.{name}" for name in sorted(members - _OWN - {"ts"}))):
        raise errors.Forbidden(f"A visitor token cannot change {path}; leave it out.")
    metadata = body.metadata and body.metadata.model_construct(
        **{name: getattr(body.metadata, name) for name in members & _OWN}
    )
    return body.model_copy(update={"metadata": metadata})


def restrict_messages(body: "models.NewMessages") -> "models.NewMessages":
    """Return the body. If the caller is a visitor token, set the sender to the user, and remove `ts` and `channel`.

    Raise Forbidden for any other sender, and for `replace`, `assignToUserId` and `state`.
    """
    if _is_visitor():
        for name in ("replace", "assignToUserId", "state"):
            if getattr(body, name):
                raise errors.Forbidden(f"A visitor token cannot use {name}; leave it out.")
        for index, message in enumerate(body.messages):
            if message.get("from") not in (None, new_messages.HUMAN):
                raise errors.Forbidden(f"messages.{index}.from must be human or absent with a visitor token.")
            message["from"] = new_messages.HUMAN
            # Webhook receivers and reports trust `ts` and `channel`.
            message.pop("ts", None)
            cast("Document", message).pop("channel", None)
    return body


def count_change(row: ConversationRow) -> None:
    """Count a staged metadata change by a visitor token. Raise LimitReached after too many changes.

    This is a leaky bucket: the row stores the time at which the bucket will be empty.
    """
    if _is_visitor():
        now = clock.seconds()
        until = max(row.changes_until or 0, now) + _CHANGE_SECONDS
        wait = until - now - _MAX_CHANGES * _CHANGE_SECONDS
        if wait > 0:
            message = (
                f"A visitor token can change the metadata {_MAX_CHANGES} times in a row, then once in "
                f"{_CHANGE_SECONDS} seconds; try again in {wait} seconds."
            )
            raise errors.LimitReached(message, "visitorChanges", _MAX_CHANGES, _MAX_CHANGES)
        row.changes_until = until


def require_own(agent: Document, row: ConversationRow | None) -> None:
    """Raise NotFound for a visitor token if its agent or conversation was deleted, even if a new one has the same id.

    If a token was issued before its conversation existed, bind the token to the conversation. This costs one write.
    """
    caller = auth.caller()
    if not _is_visitor():
        return
    # Earlier releases issued tokens without `agent_created`. These tokens expire within 30 days.
    if caller.agent_created not in (None, agent.get(agents.CREATED)):
        raise errors.NotFound.of("agent")
    if caller.conversation_created is not None:
        if row is None or row.created != caller.conversation_created:
            raise errors.NotFound.of("conversation")
    elif row is not None:
        with storage.unit_of_work():
            bind(row)


def is_bound_to(row: ConversationRow) -> bool:
    """Return whether the caller may read a conversation's index entry: a visitor token must be bound to it."""
    return not _is_visitor() or auth.caller().conversation_created == row.created


def bind(row: ConversationRow) -> None:
    """Stage a write that binds a visitor token to `row`'s conversation. The commit raises NotFound if binding fails."""
    if _is_visitor():
        credentials.bind(auth.caller().token_hash, row.created)
        auth.forget(auth.caller().token_hash)


def _is_visitor() -> bool:
    return auth.caller().kind == tokens.VISITOR
