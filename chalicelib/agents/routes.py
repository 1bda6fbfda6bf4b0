"""Agents over HTTP (§4.1, §4.2)."""

from functools import partial

from chalice.app import Blueprint, Response

from chalicelib import clock, storage
from chalicelib.agents import store
from chalicelib.http import auth, cors, etag, messages, pages
from chalicelib.http.operation import operation
from chalicelib.storage import Document

routes = Blueprint(__name__)

_NEW = {"agentPlatform": "vg"}


@routes.route("/v3/agents/{agent_id}", methods=["GET"])
@operation(data="record.AgentV3", headers=("If-None-Match",))
def read_agent(agent_id: str) -> Response:
    """Read an agent in the v3 form."""
    row = store.read(auth.caller().workspace_id, agent_id)
    return etag.tagged(messages.success("Agent retrieved successfully", _shown(agent_id, row.open())), row)


@routes.route("/v3/agents", methods=["GET"])
@operation(data="list[record.AgentV3]", query=("limit", "cursor"))
def list_agents() -> Response:
    """List the workspace's agents in the v3 form, in the order of their ids.

    `nextCursor` is there when there are more. A page of large records is shorter than `limit`.
    """
    listed = partial(store.listed, auth.caller().workspace_id)
    return pages.page("Agents retrieved successfully", listed, lambda row: _shown(row.agent_id, row.open()))


@routes.route("/v3/agents", methods=["POST"])
@operation(body="record.AgentIn", data="record.AgentV3")
def create_agent() -> Response:
    """Create an agent; its id and its `SECRET_API_KEY` are made here, unless the body brings the latter."""
    from chalicelib.agents import record

    agent_id = clock.new_id()
    document = record.merge_v3(_NEW, messages.body(record.AgentIn).agent)
    row, created = store.create(auth.caller().workspace_id, agent_id, document)
    return etag.tagged(messages.success("Agent created successfully", _v3_form(agent_id, created)), row)


@routes.route("/v3/agents/{agent_id}", methods=["PATCH"])
@operation(body="record.AgentIn", data="record.AgentV3", headers=("If-Match",))
def change_agent(agent_id: str) -> Response:
    """Change an agent: objects merge, lists replace, `nodes` merge by id, `null` clears."""
    from chalicelib.agents import record

    change = messages.body(record.AgentIn).agent

    def changed() -> tuple[store.AgentRow, Document]:
        row = etag.require_match(store.find(auth.caller().workspace_id, agent_id), "agent")
        return row, store.save(row, before := row.open(), record.merge_v3(before, change))

    row, document = storage.retry_on_conflict(changed)
    return etag.tagged(messages.success("Agent updated successfully", _v3_form(agent_id, document)), row)


@routes.route("/v2/agents/{agent_id}", methods=["GET"], cors=cors.CORS)
@operation(whole="record.AgentV2", headers=("If-None-Match",))
def read_agent_v2(agent_id: str) -> Response:
    """Read an agent in the v2 form, unwrapped."""
    from chalicelib.agents import record

    row = store.read(auth.caller().workspace_id, agent_id)
    return etag.tagged(messages.answer(record.v2_form(row.open())), row)


@routes.route("/v2/agents/{agent_id}", methods=["POST"], cors=cors.CORS)
@operation(body="record.AgentV2", data="record.AgentV2", headers=("If-Match", "If-None-Match"))
def save_agent(agent_id: str) -> Response:
    """Create the agent of this id, or edit it: members that are left out stay, `null` clears."""
    from chalicelib.agents import record

    change = messages.body(record.AgentV2)

    def saved() -> tuple[str, store.AgentRow, Document]:
        row = etag.check_preconditions(store.find(auth.caller().workspace_id, agent_id))
        if row is None:
            return "created", *store.create(auth.caller().workspace_id, agent_id, record.merge_v2(_NEW, change))
        return "updated", row, store.save(row, before := row.open(), record.merge_v2(before, change))

    done, row, document = storage.retry_on_conflict(saved)
    return etag.tagged(messages.success(f"Agent {done} successfully", record.v2_form(document)), row)


def _shown(agent_id: str, document: Document) -> Document:
    """The v3 form. A token that may only read is not shown the agent's own key: that one may write."""
    shown = _v3_form(agent_id, document)
    if auth.caller().read_only:
        shown.pop("SECRET_API_KEY", None)
    return shown


def _v3_form(agent_id: str, document: Document) -> Document:
    """The document as v3 shows it."""
    return {"ID": agent_id, "id": agent_id, **document}
