"""Renders conversations and the state route's response (§4.3). Stored turns are copied without being parsed."""

from functools import cache
from typing import TYPE_CHECKING

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.conversations.rows import ConversationRow
from chalicelib.conversations.state import State
from chalicelib.http import current_request, privileges, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.storage import Document, encode_json

if TYPE_CHECKING:
    from chalicelib.agents import forms, record
    from chalicelib.conversations import models
else:
    forms = LazyModule("chalicelib.agents.forms")
    record = LazyModule("chalicelib.agents.record")
    models = LazyModule("chalicelib.conversations.models")

# Bytes reserved for members other than the turns, so that every stored state fits into a response.
RESERVED_BYTES = 500_000


def state_response(agent_id: str, user_id: str, agent: Document, before: State, after: State) -> Response:
    """Return a response that contains the state `after`, and the turns of `before` as `oldTurns`.

    If the response exceeds Lambda's limit, omit `oldTurns` first, then `agentData`. Raise TooLarge for a change whose
    turns alone exceed the limit.
    """
    verb = "retrieved" if after is before else "saved"
    members: Document = {
        "platformName": forms.platform(agent),
        "success": True,
        "message": f"Conversation state {verb} successfully",
        "chatState": privileges.visible(render_metadata(after.metadata), lambda: models.ConvoMeta),
        "actionMessages": [],
        "agentData": privileges.visible(forms.v2_form(agent), lambda: record.AgentV2),
        "origin": after.metadata.get("origin"),
        "userID": user_id,
        "agentID": agent_id,
        "warnings": current_request.warnings() or None,
    }
    turns = after.turns.decode()
    if after is not before and not responses.fits(turns, RESERVED_BYTES):
        raise errors.TooLarge("turns do not fit into a response; send fewer turns or shorter messages.")
    start = _open_object(members)
    complete = f'{start},"turns":{turns},"oldTurns":{before.turns.decode()}}}'
    if responses.fits(complete):
        return responses.text_response(complete)
    without_old_turns = f'{start},"turns":{turns}}}'
    if responses.fits(without_old_turns):
        return responses.text_response(without_old_turns)
    return responses.text_response(f'{_open_object({**members, "agentData": None})},"turns":{turns}}}')


@cache
def _members(model: str) -> frozenset[str]:
    """Return the names of a model's members. Pydantic takes longer to look them up."""
    return frozenset(getattr(models, model).model_fields)


def render_metadata(metadata: Document) -> Document:
    """Return only the stored metadata members that the specification defines (§2.6)."""
    defined = _members("ConvoMeta")
    return {name: value for name, value in metadata.items() if name in defined}


def render_status(metadata: Document) -> Document:
    """Return a conversation's state and assignee, or None for unknown values. Visitor tokens see only the state."""
    members = {name: metadata.get(name) for name in ("state", "chatAssignedTo")}
    return privileges.visible(members, lambda: models.ConvoMeta)


def render_v3(row: ConversationRow, metadata: Document) -> Document:
    """Return a conversation in the v3 form: the metadata that the caller may see, and the agent id."""
    return privileges.visible(render_whole(row, metadata), lambda: models.ConvoMetaV3)


def render_whole(row: ConversationRow, metadata: Document) -> Document:
    """Return a conversation in the v3 form, with all of its metadata."""
    return {**metadata, "agentId": storage.split_key(row.agent)[-1]}


def _open_object(members: Document) -> str:
    """Return the members that are not None as a JSON object, without the closing brace."""
    return encode_json({name: value for name, value in members.items() if value is not None}).decode()[:-1]
