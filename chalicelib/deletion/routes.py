"""The deletion of an agent over HTTP; it stands above the resources whose records it deletes."""

from chalice.app import Blueprint, Response

from chalicelib.deletion import cascade
from chalicelib.http import auth, etag, messages
from chalicelib.http.operation import operation

routes = Blueprint(__name__)

_CASCADE_SECONDS = 10.0


@routes.route("/v3/agents/{agent_id}", methods=["DELETE"])
@operation(tag="agents", headers=("If-Match",))
def delete_agent(agent_id: str) -> Response:
    """Delete an agent with its tools, conversations, leads, analytics and keys.

    It is gone at once. What it had is swept for ten seconds; where that is not enough the message says so, and the
    sweep goes on behind the scenes, or with the same request once more. Until all is swept its id cannot be used again.
    """
    done = cascade.delete(auth.caller().workspace_id, agent_id, _CASCADE_SECONDS, etag.check_preconditions)
    return messages.success("Agent deleted successfully" if done else "Agent deleted; what it had is still being swept")
