"""Agents as copies: a clone in the same workspace, and a template that another one imports."""

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.agents import answer, copies, store
from chalicelib.http import auth, privileges
from chalicelib.http.operation import operation

routes = Blueprint(__name__)


@routes.route("/v3/agents/{agent_id}/clone", methods=["POST"])
@operation(
    data="record.AgentV3",
    creates=True,
    warns=True,
    raises=(errors.NotFound, errors.TooLarge),
    examples="agent_copies.CLONE_AGENT",
)
def clone_agent(agent_id: str) -> Response:
    """Create an agent with the members and the tools of another one. Agent and tools get new ids.

    Secret members are copied, but the new agent has a `SECRET_API_KEY` of its own. That key does not expire, so
    `warnings` names it to an access token. References to the tools lead to their copies. An agent with more than 96
    tools is 413.
    """
    workspace_id = auth.caller().workspace_id
    made = copies.clone(workspace_id, copies.read_whole(workspace_id, agent_id))
    return _created("Agent cloned successfully", made, [])


def _created(message: str, made: copies.Copy, warnings: list[errors.Issue]) -> Response:
    warnings = [*warnings, *privileges.warn_of_lasting(f"agent.{privileges.AGENT_KEY}")]
    found = store.AgentAndTools(made.row, made.tools)
    return answer.with_tools(message, made.row, answer.encode(made.document), found, warnings)
