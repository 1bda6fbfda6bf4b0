"""Leads over HTTP: routes of our own. Nobody changes a lead: what was captured stays as it was."""

from functools import partial
from typing import Any

from chalice.app import Blueprint, Response

from chalicelib.agents import store as agents
from chalicelib.http import auth, etag, messages, pages
from chalicelib.http.operation import operation
from chalicelib.leads import store

routes = Blueprint(__name__)

_NEW = {"channel": "web-chat"}


@routes.route("/v3/leads", methods=["POST"])
@operation(body="models.LeadIn", data="models.Lead")
def create_lead() -> Response:
    """Capture a lead of an agent; webhooks hear of it as `lead_captured`."""
    from chalicelib.leads.models import LeadIn

    given = {**_NEW, **messages.body(LeadIn).lead.merge_into({})}
    workspace_id, agent_id = auth.caller().workspace_id, given["agentId"]
    title = agents.display_name(agents.read(workspace_id, agent_id).open())
    row = store.create(workspace_id, agent_id, {**given, "agentName": title} if title else given)
    return etag.tagged(messages.success("Lead created successfully", _shown(row)), row)


@routes.route("/v3/agents/{agent_id}/leads", methods=["GET"])
@operation(data="list[models.Lead]", query=("limit", "cursor"))
def list_leads(agent_id: str) -> Response:
    """List the leads of an agent, newest first. `nextCursor` is there when there are more."""
    listed = partial(store.listed, auth.caller().workspace_id, agent_id)
    return pages.page("Leads retrieved successfully", listed, _shown)


@routes.route("/v3/leads/{lead_id}", methods=["GET"])
@operation(data="models.Lead", headers=("If-None-Match",))
def read_lead(lead_id: str) -> Response:
    """Read a lead."""
    row = store.read(auth.caller().workspace_id, lead_id)
    return etag.tagged(messages.success("Lead retrieved successfully", _shown(row)), row)


@routes.route("/v3/leads/{lead_id}", methods=["DELETE"])
@operation(headers=("If-Match",))
def delete_lead(lead_id: str) -> Response:
    """Delete a lead."""
    store.delete(etag.require_match(store.find(auth.caller().workspace_id, lead_id), "lead"))
    return messages.success("Lead deleted successfully")


def _shown(row: store.LeadRow) -> dict[str, Any]:
    return {"id": row.lead_id, **row.open()}
