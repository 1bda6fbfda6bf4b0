"""Analytics over HTTP (§4.2)."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors, storage
from chalicelib.agents import store as agents
from chalicelib.analytics import store
from chalicelib.http import auth, cors, etag, messages
from chalicelib.http.operation import operation

if TYPE_CHECKING:
    from chalicelib.analytics import models

routes = Blueprint(__name__)


@routes.route("/v2/agents/{agent_id}/analytics/{convo_id}", methods=["POST"], cors=cors.CORS)
@operation(
    body="models.AnalyticsRecord",
    headers=("If-Match", "If-None-Match"),
    raises=(errors.NotFound, errors.TooLarge),
    examples="analytics.WRITE_ANALYTICS",
)
def write_analytics(agent_id: str, convo_id: str) -> Response:
    """Record a page load (`load`) or a conversation (`convo`); the last record of each kind counts."""
    record: models.AnalyticsRecord = messages.body()
    place = (auth.caller().workspace_id, agent_id, convo_id)
    agents.require_known(*place[:2])
    row, condition = store.new(*place), None
    if etag.is_conditional():
        row = etag.check_preconditions(store.find(*place)) or row
        condition = store.unchanged_since_read(row)
    store.write(row, record.merge_into({}), condition)
    return etag.tagged(messages.success("Analytics added successfully"), row)


@routes.route("/v2/agents/{agent_id}/analytics/{convo_id}", methods=["GET"], cors=cors.CORS)
@operation(
    data="models.AnalyticsRecord",
    headers=("If-None-Match",),
    raises=(errors.NotFound,),
    examples="analytics.READ_ANALYTICS",
)
def read_analytics(agent_id: str, convo_id: str) -> Response:
    """Read the conversation record, completed with what only the page load has; a page load alone is answered too."""
    workspace_id = auth.caller().workspace_id
    agent, row = storage.find_many([agents.key(workspace_id, agent_id), store.key(workspace_id, agent_id, convo_id)])
    agents.require_found(agent)
    if row is None:
        raise errors.NotFound.of("analytics record")
    whole = {name: value for one in store.records(row) for name, value in one.items()}
    return etag.tagged(messages.success("Analytics retrieved successfully", whole), row)
