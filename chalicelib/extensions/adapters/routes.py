"""Routes that create a conversation with a chosen id, and that delete with an agent key."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import clock, errors
from chalicelib.conversations import message_routes, records, v3_routes
from chalicelib.conversations import routes as conversation_routes
from chalicelib.conversations.rendering import render_v3
from chalicelib.conversations.state import State, empty_state, with_write_time
from chalicelib.http import bodies, cors, etag, responses
from chalicelib.http.operation import Operation

if TYPE_CHECKING:
    from chalicelib.extensions.adapters import models

routes = Blueprint(__name__)


@routes.route("/v3/agents/{agent_id}/convos/{convo_id}", methods=["PUT"])
@Operation(
    body="models.ConversationChange",
    data="models.ConvoMetaV3",
    upserts=True,
    warns=True,
    headers=("If-Match", "If-None-Match", "Prefer"),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge),
    tag="conversations",
)
def save_conversation(agent_id: str, convo_id: str) -> Response:
    """Create a conversation with an id that you choose, or change its metadata as `PATCH` does.

    The status is 201 if the conversation is new, and otherwise 200. With `If-None-Match: *`, the request only creates,
    and fails with 412 if the conversation exists.
    """
    body: models.ConversationChange = bodies.read()
    loaded = records.load(agent_id, convo_id)
    row = etag.check_preconditions(loaded.row)
    if row:
        return v3_routes.save_metadata("Conversation updated successfully", row, body.conversation.merge_into)
    before = empty_state(convo_id)
    after = State(with_write_time(body.conversation.merge_into(before.metadata), clock.seconds()), before.turns)
    row = records.save(loaded, loaded.agent.open(), before, after)
    response = responses.success("Conversation created successfully", render_v3(row, after.metadata))
    response.status_code = 201
    return etag.tagged(response, row)


@routes.route("/agents/{agent_id}/interact/{user_id}", methods=["DELETE"], cors=cors.CORS)
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale), tag="conversations")
def delete_conversation_at_edge(agent_id: str, user_id: str) -> Response:
    """Delete a conversation. Its id can be reused.

    This route corresponds to `DELETE /v3/agents/{agent_id}/convos/{convo_id}`, but accepts agent keys.
    """
    response: Response = conversation_routes.delete_conversation(agent_id, user_id)
    return response


@routes.route("/agents/{agent_id}/interact/{user_id}/messages/{message_id}", methods=["DELETE"], cors=cors.CORS)
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale), tag="conversations")
def delete_message_at_edge(agent_id: str, user_id: str, message_id: str) -> Response:
    """Delete a message from a conversation. If the message is sent again, it is stored but does not count as new.

    This route corresponds to `DELETE /v3/agents/{agent_id}/convos/{convo_id}/messages/{message_id}`, but accepts agent
    keys.
    """
    response: Response = message_routes.delete_message(agent_id, user_id, message_id)
    return response
