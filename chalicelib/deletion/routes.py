"""The route that deletes an agent. It is above the resources because it deletes the records of most of them."""

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

    The agent is gone immediately. The request deletes its records for up to ten seconds. If that is not enough, the
    deletion continues in the background, as `message` explains. Sending the request again continues it at once.
    The id cannot be used again for two minutes, or until the deletion is complete.
    """
    done = cascade.delete(auth.caller().workspace_id, agent_id, _CASCADE_SECONDS, etag.check_preconditions)
    return responses.success(
        "Agent deleted successfully" if done else "Agent deleted; its records are still being deleted"
    )
