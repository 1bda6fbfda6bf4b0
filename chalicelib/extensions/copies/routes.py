"""Copies of agents: a clone in the same workspace, and a template for import into another workspace."""

from itertools import islice
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors, storage
from chalicelib.agents import rendering, store
from chalicelib.http import auth, bodies, privileges, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import MAX_BODY_BYTES, MAX_BODY_VALUES, Operation

if TYPE_CHECKING:
    from chalicelib.extensions.copies import copies, models, templates
else:
    copies = LazyModule("chalicelib.extensions.copies.copies")
    templates = LazyModule("chalicelib.extensions.copies.templates")

routes = Blueprint(__name__)

_OMITTED = "is unknown to the service and may be secret, so the template omits it"
_VARIABLES = errors.MemberIssue(path="agentTemplate.variables", message=bodies.IGNORED)
_MAX_WARNINGS = 20
# Maximum bytes and values that an import request body may contain in addition to its template.
_AROUND = 100


@routes.route("/v3/agents/{agent_id}/clone", methods=["POST"])
@Operation(data="models.AgentV3", creates=True, warns=True, raises=(errors.NotFound, errors.TooLarge), tag="agents")
def clone_agent(agent_id: str) -> Response:
    """Create an agent with another agent's members and tools. The new agent and its tools get new ids.

    Secret members are copied, except `SECRET_API_KEY`, which is new. If the caller is an access token, `warnings` lists
    this key, because it does not expire. Tool references are changed to the copied tools. The request fails with 413 if
    the agent has more than 96 tools.
    """
    workspace_id = auth.caller().workspace_id
    copy = copies.clone(workspace_id, copies.read_with_all_tools(workspace_id, agent_id))
    return _created("Agent cloned successfully", copy, [])


@routes.route("/v3/agents/{agent_id}/export-template", methods=["GET"])
@Operation(bare="models.ExportedTemplate", warns=True, raises=(errors.NotFound, errors.TooLarge), tag="agents")
def export_template(agent_id: str) -> Response:
    """Read an agent and its tools without secrets or ids, for `POST /v3/agents/import-template`.

    The template refers to a tool by its position in `tools`, such as `tools.0`. Members that are unknown to the service
    may be secret, so they are omitted. If the credential can read secrets, `warnings` lists the omitted members. The
    request fails with 413 if the template would be too large to import: more than 96 tools or more than 2 MB.
    """
    workspace_id = auth.caller().workspace_id
    source = copies.read_with_all_tools(workspace_id, agent_id)
    document, *tool_documents = copies.open_all([store.require_agent(source.agent), *source.tools])
    template = templates.of(workspace_id, document, tool_documents, [tool.tool_id for tool in source.tools])
    text = storage.encode_json(template)
    bodies.check_size("The template", text, MAX_BODY_BYTES - _AROUND, MAX_BODY_VALUES - _AROUND)
    omitted = templates.omitted(document) if privileges.sees_secrets() else ()
    warnings = [errors.MemberIssue(path=path, message=_OMITTED) for path in islice(omitted, _MAX_WARNINGS)]
    body = responses.success_members("Template retrieved successfully", warnings)
    return responses.json_response({**body, "agentTemplate": template})


@routes.route("/v3/agents/import-template", methods=["POST"])
@Operation(
    body="models.TemplateIn",
    data="models.AgentV3",
    creates=True,
    warns=True,
    headers=("Prefer",),
    raises=(store.KeyTaken, errors.TooLarge),
    tag="agents",
)
def import_template() -> Response:
    """Create an agent and its tools from a template.

    Templates are returned by `GET /v3/agents/{agent_id}/export-template`. No member gets a default value, so the new
    agent's template equals the template that you sent, unless you rename the agent with `agentName`. The service
    generates the ids and, unless `agentData` contains one, the `SECRET_API_KEY`. If the caller is an access token,
    `warnings` lists this key, because it does not expire. You may add secrets to a template. Members of `agentData`
    that are unknown to the service are stored as sent, and `warnings` lists them. `variables` are not imported.
    """
    body: models.TemplateIn = bodies.read()
    key_path = templates.path_of(privileges.AGENT_KEY)
    document = privileges.guard_agent_key({}, templates.members(body), key_path)
    copy = templates.create(auth.caller().workspace_id, document, body.agentTemplate)
    ignored = [_VARIABLES] if body.agentTemplate.variables else []
    return _created("Agent imported successfully", copy, ignored)


def _created(message: str, copy: "copies.Copy", ignored: list[errors.MemberIssue]) -> Response:
    warnings = [*ignored, *privileges.warn_of_lasting(f"agent.{privileges.AGENT_KEY}")]
    whole_agent = store.AgentAndTools(copy.row, copy.tools)
    return rendering.with_tools(message, copy.row, rendering.encode(copy.document), whole_agent, warnings)
