"""What a visitor token may do with its conversation (§5): read it, write as its user, and name that user."""

from typing import TYPE_CHECKING

from chalicelib import errors, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import received
from chalicelib.conversations.rows import ConversationRow
from chalicelib.credentials import tokens
from chalicelib.credentials import visitors as credentials
from chalicelib.http import auth
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.conversations import models

_OWN = frozenset({"userName", "userEmail", "userPhone"})


def restrict_change(asked: "models.StateIn") -> "models.StateIn":
    """`asked`, a body of the state route. Raises Forbidden if a visitor token changes more than its user's own data."""
    if _is_visitor():
        changed = [name for name in ("turns", "delete") if getattr(asked, name) is not None]
        given = asked.metadata.model_fields_set if asked.metadata else frozenset[str]()
        for path in (*changed, *(f"metadata.{name}" for name in sorted(given - _OWN))):
            raise errors.Forbidden(f"A visitor token does not change {path}.")
    return asked


def restrict_messages(asked: "models.NewMessages") -> "models.NewMessages":
    """`asked`, with the user as the sender if a visitor token sends it. Raises Forbidden for another sender."""
    if _is_visitor():
        for index, message in enumerate(asked.messages):
            if message.get("from") not in (None, received.HUMAN):
                raise errors.Forbidden(f"messages.{index}.from must be human, or be left out, with a visitor token.")
            message["from"] = received.HUMAN
    return asked


def require_own(agent: Document, row: ConversationRow | None) -> None:
    """Raise NotFound for a visitor token whose agent or conversation was deleted, even if another one has its id.

    A token that was issued before its conversation existed is bound to this one. That takes one write.
    """
    caller = auth.caller()
    if not _is_visitor():
        return
    # The previous release issued tokens without `agent_created`; they expire within 30 days.
    if caller.agent_created not in (None, agent.get(agents.CREATED)):
        raise errors.NotFound.of("agent")
    if caller.conversation_created is not None:
        if row is None or row.created != caller.conversation_created:
            raise errors.NotFound.of("conversation")
    elif row is not None:
        with storage.unit_of_work():
            bind(row)


def bind(row: ConversationRow) -> None:
    """Stage that a visitor token belongs to the conversation of `row`. The commit raises NotFound if it may not."""
    if _is_visitor():
        credentials.bind(auth.caller().token_hash, row.created)
        auth.forget(auth.caller().token_hash)


def _is_visitor() -> bool:
    return auth.caller().kind == tokens.VISITOR
