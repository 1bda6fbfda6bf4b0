"""Analytics over HTTP (§4.2)."""

from chalice.app import Blueprint, Response

from chalicelib import auth, errors, http, storage
from chalicelib.agents import store as agents
from chalicelib.analytics import store
from chalicelib.openapi.operation import operation

routes = Blueprint(__name__)


@routes.route("/v2/agents/{agent_id}/analytics/{convo_id}", methods=["POST"], cors=http.CORS)
@operation(body="models.AnalyticsRecord")
def write_analytics(agent_id: str, convo_id: str) -> Response:
    """Record a page load (`load`) or a conversation (`convo`); the last record of each kind counts."""
    from chalicelib.analytics.models import AnalyticsRecord

    workspace_id = auth.caller().workspace_id
    document = http.body(AnalyticsRecord).merge_into({})
    agents.require_known(workspace_id, agent_id)
    store.write(workspace_id, agent_id, convo_id, document["record"], document)
    return http.success("Analytics added successfully")


@routes.route("/v2/agents/{agent_id}/analytics/{convo_id}", methods=["GET"], cors=http.CORS)
@operation(data="models.AnalyticsRecord")
def read_analytics(agent_id: str, convo_id: str) -> Response:
    """Read the conversation record, completed with what only the page load has; a page load alone is answered too."""
    workspace_id = auth.caller().workspace_id
    keys = [agents.key(workspace_id, agent_id), *store.keys(workspace_id, agent_id, convo_id)]
    agent, *records = storage.find_many(keys)
    agents.found(agent)
    known = [row.open() for row in records if row]
    if not known:
        raise errors.NotFound.of("analytics record")
    return http.success(
        "Analytics retrieved successfully", {name: value for one in known for name, value in one.items()}
    )
