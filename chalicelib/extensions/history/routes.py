"""The history endpoints: a workspace's changes, and the versions of agents and tools."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.agents import rendering
from chalicelib.agents import store as agents
from chalicelib.http import auth, etag, privileges, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.storage import Document
from chalicelib.tools import store as tools

if TYPE_CHECKING:
    from chalicelib.extensions.history import browse, models, restorations, versions
else:
    browse = LazyModule("chalicelib.extensions.history.browse")
    models = LazyModule("chalicelib.extensions.history.models")
    restorations = LazyModule("chalicelib.extensions.history.restorations")
    versions = LazyModule("chalicelib.extensions.history.versions")

routes = Blueprint(__name__)

_PAGE = ("limit", "cursor")


@routes.route("/v3/history", methods=["GET"])
@Operation(
    data="list[models.Change]",
    query=("resource", "from", "to", "by", *_PAGE),
    bounded=True,
)
def list_changes() -> Response:
    """List the changes to agents, tools, clients, organisations, webhooks, tokens and keys, newest first.

    The list also contains erasures, and which people and agent keys an operator viewed in the console.
    With `resource`, the list contains only the changes to that record. A change contains its author and the paths of
    the changed members, never their values. A change appears within a few seconds and is kept for 400 days. A request
    examines at most 500 changes, so a page may be short or even empty. While `hasMore` is true, pass `nextCursor` as
    `cursor` to continue.
    """
    return browse.list_changes()


@routes.route("/v3/agents/{agent_id}/versions", methods=["GET"])
@Operation(
    data="list[models.Version]",
    query=_PAGE,
    bounded=True,
    raises=(errors.NotFound,),
    tag="agents",
)
def list_agent_versions(agent_id: str) -> Response:
    """List the versions of an agent, which may be deleted, newest first. A version appears within a few seconds."""
    workspace_id = auth.caller().workspace_id
    return browse.list_versions("agents", agent_id, lambda: agents.read(workspace_id, agent_id))


@routes.route("/v3/agents/{agent_id}/versions/{number}", methods=["GET"])
@Operation(data="models.AgentV3", raises=(errors.NotFound,), tag="agents")
def read_agent_version(agent_id: str, number: str) -> Response:
    """Read a version of an agent, which may be deleted, in the v3 form without tools."""
    workspace_id = auth.caller().workspace_id
    document = versions.read("agents", agent_id, number, lambda: agents.find(workspace_id, agent_id))
    return responses.success("Version retrieved successfully", rendering.v3_form(workspace_id, agent_id, document))


@routes.route("/v3/agents/{agent_id}/versions/{number}/restore", methods=["POST"])
@Operation(
    data="models.AgentV3",
    query=("keep",),
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge),
    tag="agents",
)
def restore_agent(agent_id: str, number: str) -> Response:
    """Restore a version of an agent. The restored content becomes a new version.

    Secret members, such as `SECRET_API_KEY`, and those in `keep` keep their current values. The agent's tools are not
    restored.
    """
    agent = agents.find_with_tools(auth.caller().workspace_id, agent_id)
    row = etag.require_match(agent.agent, "agent")
    before = row.open()
    version = versions.read("agents", agent_id, number, lambda: row)
    restored = versions.restore(models.AgentV3, version, before, versions.kept_members())
    with restorations.restoring(number):
        after = agents.save(row, before, restored)
    return rendering.with_tools("Version restored successfully", row, rendering.encode(after), agent)


@routes.route("/v3/tools/{tool_id}/versions", methods=["GET"])
@Operation(
    data="list[models.Version]",
    query=_PAGE,
    bounded=True,
    raises=(errors.NotFound,),
    tag="tools",
)
def list_tool_versions(tool_id: str) -> Response:
    """List the versions of a tool, which may be deleted, newest first. A version appears within a few seconds."""
    workspace_id = auth.caller().workspace_id
    return browse.list_versions("tools", tool_id, lambda: tools.read(workspace_id, tool_id))


@routes.route("/v3/tools/{tool_id}/versions/{number}", methods=["GET"])
@Operation(data="models.Tool", raises=(errors.NotFound,), tag="tools")
def read_tool_version(tool_id: str, number: str) -> Response:
    """Read a version of a tool, which may be deleted."""
    workspace_id = auth.caller().workspace_id
    document = versions.read("tools", tool_id, number, lambda: tools.find(workspace_id, tool_id))
    return responses.success("Version retrieved successfully", _tool(tool_id, document))


@routes.route("/v3/tools/{tool_id}/versions/{number}/restore", methods=["POST"])
@Operation(
    data="models.Tool",
    query=("keep",),
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge),
    tag="tools",
)
def restore_tool(tool_id: str, number: str) -> Response:
    """Restore a version of a tool. The restored content becomes a new version.

    Secret members and those in `keep` keep their current values. Fields are matched by `id`.
    """
    row = etag.require_match(tools.find(auth.caller().workspace_id, tool_id), "tool")
    before = row.open()
    version = versions.read("tools", tool_id, number, lambda: row)
    restored = versions.restore(models.Tool, version, before, versions.kept_members())
    with restorations.restoring(number):
        after = tools.save(row, before, restored)
    return etag.tagged(responses.success("Version restored successfully", _tool(tool_id, after)), row)


def _tool(tool_id: str, document: Document) -> Document:
    return {"id": tool_id, **privileges.visible(document, lambda: models.Tool)}
