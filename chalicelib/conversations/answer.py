"""The answer of the state route (§4.3) as JSON text: the turns are passed on as they are stored, never parsed."""

from typing import TYPE_CHECKING

from chalice.app import Response

from chalicelib import errors
from chalicelib.conversations.state import State
from chalicelib.http import messages
from chalicelib.http.lazy import LazyModule
from chalicelib.storage import Document, encode_json

if TYPE_CHECKING:
    from chalicelib.agents import record
    from chalicelib.conversations import models
else:
    record = LazyModule("chalicelib.agents.record")
    models = LazyModule("chalicelib.conversations.models")

# For the rest of the answer besides the turns: a state that was stored can always be read.
_ROOM = 500_000


def state_answer(agent_id: str, user_id: str, agent: Document, before: State, after: State) -> Response:
    """The state `after`, with `oldTurns` of the state `before`.

    `oldTurns`, and then `agentData`, is left out where the answer would grow beyond what a function can answer. Raises
    TooLarge for a change whose turns alone would.
    """
    done = "retrieved" if after is before else "saved"
    members: Document = {
        "platformName": record.platform(agent),
        "success": True,
        "message": f"Conversation state {done} successfully",
        "chatState": render_metadata(after.metadata),
        "actionMessages": [],
        "agentData": record.v2_form(agent),
        "origin": after.metadata.get("origin"),
        "userID": user_id,
        "agentID": agent_id,
    }
    turns = after.turns.decode()
    if after is not before and not messages.fits(turns, _ROOM):
        raise errors.TooLarge("turns are too large to be answered.")
    start = _begin(members)
    with_old = f'{start},"turns":{turns},"oldTurns":{before.turns.decode()}}}'
    if messages.fits(with_old):
        return messages.text_response(with_old)
    whole = f'{start},"turns":{turns}}}'
    if messages.fits(whole):
        return messages.text_response(whole)
    return messages.text_response(f'{_begin({**members, "agentData": None})},"turns":{turns}}}')


def render_metadata(metadata: Document) -> Document:
    """The members of stored metadata that the specification has (§2.6)."""
    known = models.ConvoMeta.model_fields
    return {name: value for name, value in metadata.items() if name in known}


def _begin(members: Document) -> str:
    """The members that have a value, as the beginning of a JSON object."""
    return encode_json({name: value for name, value in members.items() if value is not None}).decode()[:-1]
