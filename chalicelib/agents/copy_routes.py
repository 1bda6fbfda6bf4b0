"""Agents as copies: a clone in the same workspace, and a template that another one imports."""

from itertools import islice
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors, storage
from chalicelib.agents import copies, rendering, store
from chalicelib.http import auth, bodies, json_text, privileges
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import MAX_BODY_BYTES, MAX_BODY_VALUES, Operation

if TYPE_CHECKING:
    from chalicelib.agents import record, templates
else:
    templates = LazyModule("chalicelib.agents.templates")

routes = Blueprint(__name__)

_OMITTED = "is not known to the service and may be secret; the template does not have it"
_MAX_WARNINGS = 20
# Bytes, and members, of the request body around a template.
_AROUND = 100


@routes.route("/v3/agents/{agent_id}/clone", methods=["POST"])
@Operation(data="record.AgentV3", creates=True, warns=True, raises=(errors.NotFound, errors.TooLarge))
def clone_agent(agent_id: str) -> Response:
    """Create an agent with the members and the tools of another one. Agent and tools get new ids.

    Secret members are copied, except `SECRET_API_KEY`, which is new. That key does not expire: if the caller is an
    access token, `warnings` lists it. References to the tools refer to their copies. An agent with more than 96 tools
    is 413.
    """
    workspace_id = auth.caller().workspace_id
    copy = copies.clone(workspace_id, copies.read_with_all_tools(workspace_id, agent_id))
    return _created("Agent cloned successfully", copy)


@routes.route("/v3/agents/{agent_id}/template", methods=["GET"])
@Operation(data="record.Template", warns=True, raises=(errors.NotFound, errors.TooLarge))
def read_template(agent_id: str) -> Response:
    """Read an agent and its tools without secrets and ids, for `POST /v3/agents/import`.

    A reference to a tool is its place in `tools`, such as `tools.0`. Members that the service does not know may be
    secret, so they are left out. If the credential is shown secrets, `warnings` lists them. A template that could not
    be imported is 413: one with more than 96 tools, or more than 2 MB.
    """
    source = copies.read_with_all_tools(auth.caller().workspace_id, agent_id)
    document, *tool_documents = copies.open_all([store.require_agent(source.agent), *source.tools])
    template = templates.of(document, tool_documents, [tool.tool_id for tool in source.tools])
    text = storage.encode_json(template).decode()
    bodies.check_size("The template", text.encode(), MAX_BODY_BYTES - _AROUND, MAX_BODY_VALUES - _AROUND)
    omitted = templates.omitted(document) if privileges.sees_secrets() else ()
    locations = islice(omitted, _MAX_WARNINGS)
    warnings = [errors.MemberIssue(path=bodies.dotted(location), message=_OMITTED) for location in locations]
    return json_text.success("Template retrieved successfully", text, warnings)


@routes.route("/v3/agents/import", methods=["POST"])
@Operation(
    body="record.TemplateIn",
    data="record.AgentV3",
    creates=True,
    warns=True,
    headers=("Prefer",),
    raises=(store.KeyTaken, errors.TooLarge),
)
def import_agent() -> Response:
    """Create an agent and its tools from a template, as `GET /v3/agents/{agent_id}/template` returns it in `data`.

    No member gets a default, so the template of the new agent equals the sent template. The service generates the ids
    and, unless the template has one, the `SECRET_API_KEY`. That key does not expire: if the caller is an access token,
    `warnings` lists it. You may add secrets to a template. Members that the service does not know are stored as sent,
    and `warnings` lists them.
    """
    body: record.TemplateIn = bodies.read()
    document = privileges.guard_agent_key({}, templates.members(body.template), f"template.{privileges.AGENT_KEY}")
    copy = templates.create(auth.caller().workspace_id, document, body.template)
    return _created("Agent imported successfully", copy)


def _created(message: str, copy: copies.Copy) -> Response:
    warnings = privileges.warn_of_lasting(f"agent.{privileges.AGENT_KEY}")
    whole_agent = store.AgentAndTools(copy.row, copy.tools)
    return rendering.with_tools(message, copy.row, rendering.encode(copy.document), whole_agent, warnings)
