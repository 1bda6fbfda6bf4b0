"""The route that deletes an agent. It is in a separate package because it deletes most resources' records."""

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.deletion import cascade
from chalicelib.http import auth, etag, responses
from chalicelib.http.operation import Operation

routes = Blueprint(__name__)

_CASCADE_SECONDS = 10.0


@routes.route("/v3/agents/{agent_id}", methods=["DELETE"])
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale), tag="agents")
def delete_agent(agent_id: str) -> Response:
    """Delete an agent with its tools, conversations, leads, analytics and keys.

    The agent disappears immediately. The request deletes its records for up to ten seconds. If that is not enough, the
    deletion continues in the background, and `message` reports this. Repeating the request continues the deletion
    immediately. The id cannot be reused until the deletion is complete, and for at least 90 seconds.
    """
    is_complete = cascade.delete(auth.caller().workspace_id, agent_id, _CASCADE_SECONDS, etag.check_preconditions)
    return responses.success(
        "Agent deleted successfully" if is_complete else "Agent deleted; its records are still being deleted"
    )
