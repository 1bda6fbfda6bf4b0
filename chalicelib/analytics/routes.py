"""Analytics over HTTP (§4.2)."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors, storage
from chalicelib.agents import store as agents
from chalicelib.analytics import store
from chalicelib.http import auth, bodies, cors, etag, responses
from chalicelib.http.operation import Operation

if TYPE_CHECKING:
    from chalicelib.analytics import models

routes = Blueprint(__name__)


@routes.route("/v2/agents/{agent_id}/analytics/{convo_id}", methods=["POST"], cors=cors.CORS)  # §4.2
@Operation(
    body="models.AnalyticsRecord",
    headers=("If-Match", "If-None-Match"),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge),
)
def write_analytics(agent_id: str, convo_id: str) -> Response:
    """Write a page load (`load`) or conversation (`convo`) record. It replaces the previous record of the same kind."""
    record: models.AnalyticsRecord = bodies.read()
    identity = (auth.caller().workspace_id, agent_id, convo_id)
    agents.require_cached(*identity[:2])
    row, condition = store.new(*identity), None
    if etag.is_conditional():
        row = etag.check_preconditions(store.find(*identity)) or row
        condition = store.unchanged_since_read(row)
    store.write(row, record.merge_into({}), condition)
    return etag.tagged(responses.success("Analytics added successfully"), row)


@routes.route("/v2/agents/{agent_id}/analytics/{convo_id}", methods=["GET"], cors=cors.CORS)  # §4.2
@Operation(data="models.AnalyticsRecord", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_analytics(agent_id: str, convo_id: str) -> Response:
    """Read a conversation's analytics: its conversation record, merged over its page load record.

    If only one of the records exists, the response contains that record.
    """
    workspace_id = auth.caller().workspace_id
    agent, row = storage.find_many([agents.key(workspace_id, agent_id), store.key(workspace_id, agent_id, convo_id)])
    agents.reread_if_missing(agent, workspace_id, agent_id)
    row = errors.require(row, "analytics record")
    merged = {name: value for record in store.records(row) for name, value in record.items()}
    return etag.tagged(responses.success("Analytics retrieved successfully", merged), row)
