"""Agents over HTTP (§4.1, §4.2)."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors, ids
from chalicelib.agents import answer, browse, filters, store
from chalicelib.http import auth, bodies, cors, etag, pages, parameters, privileges, references, responses
from chalicelib.http.lazy import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.storage import Document
from chalicelib.tools import store as tools

if TYPE_CHECKING:
    from chalicelib.agents import forms, keys, record
else:
    forms = LazyModule("chalicelib.agents.forms")
    record = LazyModule("chalicelib.agents.record")
    keys = LazyModule("chalicelib.agents.keys")

routes = Blueprint(__name__)
references.declare("agent", store.key, store.is_active)

_DEFAULTS = {"agentPlatform": "vg"}
_KEY = f"agent.{privileges.AGENT_KEY}"


@routes.route("/v3/agents/{agent_id}", methods=["GET"])
@Operation(data="record.AgentV3", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_agent(agent_id: str) -> Response:
    """Read an agent in the v3 form, with its tools.

    If the tools are too large for the response, `tools` is absent, and `message` says so: list them in pages.
    """
    stored = store.find_with_tools(auth.caller().workspace_id, agent_id)
    row = store.require_found(stored.agent)
    text = row.text() if privileges.sees_secrets() else answer.encode(row.open())
    return answer.with_tools("Agent retrieved successfully", row, text, stored)


@routes.route("/v3/agents", methods=["GET"])
@Operation(data="list[record.AgentV3]", query=("limit", "cursor", *filters.NAMES), bounded=True)
def list_agents() -> Response:
    """List the agents of the workspace that match all given filters, in the v3 form, ordered by id.

    With `sort=lastModified`, the latest change is first. `q` is found in the title, and in the first 200 characters of
    the description. A request examines up to 500 agents, so a page may be short, or empty: as long as `hasMore` is
    true, continue with `nextCursor` as `cursor`. A new or changed agent may appear in the list a second later.
    """
    limit, matching, workspace_id = parameters.limit(), filters.AgentFilters.from_request(), auth.caller().workspace_id
    if filters.is_sorted():
        agents = browse.by_change(workspace_id, matching, filters.version_tag(), limit)
    else:
        agents = browse.by_id(workspace_id, matching, parameters.cursor(), limit)
    return pages.bounded_page("Agents retrieved successfully", agents, limit)


@routes.route("/v3/agents", methods=["POST"])
@Operation(
    body="record.NewAgentIn",
    data="record.AgentV3",
    creates=True,
    warns=True,
    headers=("Prefer",),
    raises=(store.KeyTaken, errors.TooLarge),
)
def create_agent() -> Response:
    """Create an agent, and its tools if the body has any.

    The service generates its id and, unless the body has one, its `SECRET_API_KEY`. That key does not expire, so
    `warnings` names it to an access token. Members that the service does not know are stored as sent, and `warnings`
    names them.
    """
    body: record.NewAgentIn = bodies.read()
    workspace_id, agent_id = auth.caller().workspace_id, ids.new_id()
    members = privileges.guard_agent_key({}, forms.merge_v3(_DEFAULTS, body.agent), _KEY)
    members.pop("tools", None)
    row, document = store.create(workspace_id, agent_id, members)
    created = [tool.merge_into(tools.DEFAULTS) for tool in body.agent.tools or ()]
    made = store.AgentAndTools(row, tools.create(workspace_id, agent_id, created))
    warnings = privileges.warn_of_lasting(_KEY)
    return answer.with_tools("Agent created successfully", row, answer.encode(document), made, warnings)


@routes.route("/v3/agents/{agent_id}", methods=["PATCH"])
@Operation(
    body="record.AgentIn",
    data="record.AgentV3",
    warns=True,
    headers=("If-Match", "Prefer"),
    raises=(errors.NotFound, errors.Stale, store.KeyTaken, errors.TooLarge),
)
def change_agent(agent_id: str) -> Response:
    """Change an agent. Objects merge, lists replace, `nodes` merge by id, and `null` clears a member.

    `tools` is ignored, and `warnings` lists it: change each tool by its own route. Members that the service does not
    know replace what is stored under their name, and `warnings` names them. Only the workspace key sets
    `SECRET_API_KEY`.
    """
    change: record.AgentIn = bodies.read()
    stored = store.find_with_tools(auth.caller().workspace_id, agent_id)
    row = etag.require_match(stored.agent, "agent")
    before = row.open()
    merged = privileges.keep_sent_back(before, forms.merge_v3(before, change.agent), lambda: record.AgentV3)
    guarded = privileges.guard_agent_key(before, merged, _KEY)
    after = store.save(row, keys.without_unusable(row, before, change.agent), guarded)
    return answer.with_tools("Agent updated successfully", row, answer.encode(after), stored)


@routes.route("/v2/agents/{agent_id}", methods=["GET"], cors=cors.CORS)
@Operation(bare="record.AgentV2", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_agent_v2(agent_id: str) -> Response:
    """Read an agent in the v2 form. The response is the agent itself, without envelope."""
    row = store.read(auth.caller().workspace_id, agent_id)
    return etag.tagged(responses.json_response(_v2_form(row.open())), row)


@routes.route("/v2/agents/{agent_id}", methods=["POST"], cors=cors.CORS)
@Operation(
    body="record.AgentV2",
    data="record.AgentV2",
    warns=True,
    headers=("If-Match", "If-None-Match", "Prefer"),
    raises=(errors.Stale, store.AgentBeingDeleted, store.KeyTaken, errors.TooLarge),
)
def save_agent(agent_id: str) -> Response:
    """Create or change an agent. Members that you leave out keep their values, and `null` clears a member.

    Only the workspace key sets `SECRET_API_KEY`. Members that the service does not know are stored as sent, and
    `warnings` names them.
    """
    change: record.AgentV2 = bodies.read()
    workspace_id = auth.caller().workspace_id
    row = etag.check_preconditions(store.find(workspace_id, agent_id))
    if row is None:
        verb = "created"
        members = privileges.guard_agent_key({}, forms.merge_v2(_DEFAULTS, change))
        row, document = store.create(workspace_id, agent_id, members)
    else:
        verb, before = "updated", row.open()
        after = privileges.guard_agent_key(before, forms.merge_v2(before, change))
        document = store.save(row, keys.without_unusable(row, before, change), after)
    success = responses.success(f"Agent {verb} successfully", _v2_form(document))
    return etag.tagged(success, row)


def _v2_form(document: Document) -> Document:
    return privileges.for_agent_key(forms.v2_form(document))
