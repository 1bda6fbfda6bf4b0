"""Agents over HTTP (§4.1, §4.2)."""

from functools import partial
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors, ids
from chalicelib.agents import store
from chalicelib.http import auth, cors, etag, messages, pages
from chalicelib.http.lazy import LazyModule
from chalicelib.http.operation import operation
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.agents import record
else:
    record = LazyModule("chalicelib.agents.record")

routes = Blueprint(__name__)

_DEFAULTS = {"agentPlatform": "vg"}


@routes.route("/v3/agents/{agent_id}", methods=["GET"])
@operation(data="record.AgentV3", headers=("If-None-Match",), raises=(errors.NotFound,), examples="agents.READ_AGENT")
def read_agent(agent_id: str) -> Response:
    """Read an agent in the v3 form."""
    row = store.read(auth.caller().workspace_id, agent_id)
    message = "Agent retrieved successfully"
    if auth.caller().read_only:
        return etag.tagged(messages.success(message, _render(agent_id, row.open())), row)
    return etag.tagged(messages.success_text(message, _ids(agent_id), row.text()), row)


@routes.route("/v3/agents", methods=["GET"])
@operation(data="list[record.AgentV3]", query=("limit", "cursor"), examples="agents.LIST_AGENTS")
def list_agents() -> Response:
    """List the agents of the workspace in the v3 form, ordered by id.

    The response has `nextCursor` unless this is the last page. A page of large records may be shorter than `limit`. A
    new or changed agent may appear in the list a second later.
    """
    fetch = partial(store.list_entries, auth.caller().workspace_id)
    message = "Agents retrieved successfully"
    return pages.page(message, fetch, lambda row: _render(row.agent_id, row.open()), store.read_entries)


@routes.route("/v3/agents", methods=["POST"])
@operation(
    body="record.AgentIn",
    data="record.AgentV3",
    creates=True,
    raises=(store.KeyTaken, errors.TooLarge),
    examples="agents.CREATE_AGENT",
)
def create_agent() -> Response:
    """Create an agent. The service generates its id and, unless the body has one, its `SECRET_API_KEY`."""
    body: record.AgentIn = messages.body()
    agent_id = ids.new_id()
    row, document = store.create(auth.caller().workspace_id, agent_id, record.merge_v3(_DEFAULTS, body.agent))
    return etag.tagged(messages.success("Agent created successfully", _v3_form(agent_id, document)), row)


@routes.route("/v3/agents/{agent_id}", methods=["PATCH"])
@operation(
    body="record.AgentIn",
    data="record.AgentV3",
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale, store.KeyTaken, errors.TooLarge),
    examples="agents.CHANGE_AGENT",
)
def change_agent(agent_id: str) -> Response:
    """Change an agent. Objects merge, lists replace, `nodes` merge by id, and `null` clears a member."""
    change: record.AgentIn = messages.body()
    row = etag.require_match(store.find(auth.caller().workspace_id, agent_id), "agent")
    before = row.open()
    after = store.save(row, before, record.merge_v3(before, change.agent))
    return etag.tagged(messages.success("Agent updated successfully", _v3_form(agent_id, after)), row)


@routes.route("/v2/agents/{agent_id}", methods=["GET"], cors=cors.CORS)
@operation(
    whole="record.AgentV2", headers=("If-None-Match",), raises=(errors.NotFound,), examples="agents.READ_AGENT_V2"
)
def read_agent_v2(agent_id: str) -> Response:
    """Read an agent in the v2 form, without envelope."""
    row = store.read(auth.caller().workspace_id, agent_id)
    return etag.tagged(messages.json_response(record.v2_form(row.open())), row)


@routes.route("/v2/agents/{agent_id}", methods=["POST"], cors=cors.CORS)
@operation(
    body="record.AgentV2",
    data="record.AgentV2",
    headers=("If-Match", "If-None-Match"),
    raises=(errors.Stale, store.AgentBeingDeleted, store.KeyTaken, errors.TooLarge),
    examples="agents.SAVE_AGENT",
)
def save_agent(agent_id: str) -> Response:
    """Create or change an agent. Members that you leave out keep their values, and `null` clears a member."""
    change: record.AgentV2 = messages.body()
    workspace_id = auth.caller().workspace_id
    row = etag.check_preconditions(store.find(workspace_id, agent_id))
    if row is None:
        verb = "created"
        row, document = store.create(workspace_id, agent_id, record.merge_v2(_DEFAULTS, change))
    else:
        verb, before = "updated", row.open()
        document = store.save(row, before, record.merge_v2(before, change))
    return etag.tagged(messages.success(f"Agent {verb} successfully", record.v2_form(document)), row)


def _render(agent_id: str, document: Document) -> Document:
    """The v3 form. A read-only token does not see the agent key, which would allow writes."""
    rendered = _v3_form(agent_id, document)
    if auth.caller().read_only:
        rendered.pop("SECRET_API_KEY", None)
    return rendered


def _v3_form(agent_id: str, document: Document) -> Document:
    return {**_ids(agent_id), **document}


def _ids(agent_id: str) -> dict[str, str]:
    return {"ID": agent_id, "id": agent_id}
