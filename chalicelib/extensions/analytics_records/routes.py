"""Routes that list and delete an agent's analytics records by last write time."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.agents import store as agents
from chalicelib.http import auth, cors, pages, parameters, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation

if TYPE_CHECKING:
    from chalicelib.extensions.analytics_records import models, records  # noqa: F401
else:
    records = LazyModule("chalicelib.extensions.analytics_records.records")

routes = Blueprint(__name__)

_V2, _V3 = ("start_ts", "stop_ts"), ("from", "to")


@routes.route("/v2/agents/{agent_id}/analytics", methods=["GET"], cors=cors.CORS)
@Operation(
    data="list[models.ConversationAnalytics]",
    query=("limit", "cursor", *_V2),
    bounded=True,
    raises=(errors.NotFound,),
    tag="analytics",
)
def list_analytics(agent_id: str) -> Response:
    """List an agent's analytics records that were last written in a period, ordered by conversation id.

    Each entry contains a conversation's page load record (`load`) and conversation record (`convo`) as they were
    written. The period applies to `lastModified`, the time of the last write.

    A request examines up to 500 conversations, so a page may be short or empty. While `hasMore` is true, pass
    `nextCursor` as `cursor` to continue.
    """
    workspace_id, time_range = auth.caller().workspace_id, records.TimeRange.from_request(*_V2)
    agents.read_eventually(workspace_id, agent_id)
    examined = records.examine(workspace_id, agent_id, time_range)
    return pages.bounded_page("Analytics retrieved successfully", examined, parameters.limit())


@routes.route("/v2/agents/{agent_id}/analytics", methods=["DELETE"], cors=cors.CORS)
@Operation(
    data="models.DeletedAnalytics",
    query=("cursor", *_V2),
    requires=_V2,
    bounded=True,
    raises=(errors.NotFound,),
    tag="analytics",
)
def delete_analytics(agent_id: str) -> Response:
    """Delete an agent's analytics records that were last written in a period.

    A request examines up to 500 conversations, and deletes the records of up to 100 of them in one transaction. While
    `hasMore` is true, pass `nextCursor` as `cursor` to continue. After an interruption, restart without a cursor.
    Report counts do not change.
    """
    return _delete(agent_id, records.TimeRange.required_from_request(*_V2))


@routes.route("/v3/agents/{agent_id}/analytics", methods=["DELETE"])
@Operation(
    data="models.DeletedAnalytics",
    query=("cursor", *_V3),
    requires=_V3,
    bounded=True,
    raises=(errors.NotFound,),
    tag="analytics",
)
def delete_analytics_v3(agent_id: str) -> Response:
    """Delete an agent's analytics records that were last written in a period, as `DELETE /v2/…` does."""
    return _delete(agent_id, records.TimeRange.required_from_request(*_V3))


def _delete(agent_id: str, time_range: "records.TimeRange") -> Response:
    workspace_id = auth.caller().workspace_id
    agents.read_eventually(workspace_id, agent_id)
    deleted, position = records.delete(workspace_id, agent_id, time_range)
    message, data = "Analytics deleted successfully", {"deleted": deleted}
    body = {"success": True, "message": message, "hasMore": position is not None, "data": data}
    return responses.json_response(body if position is None else {**body, "nextCursor": position})
