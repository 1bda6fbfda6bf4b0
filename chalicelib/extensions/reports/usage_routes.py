"""The usage endpoints: the daily counts of one agent, or of each agent."""

import json
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.extensions.reports import report_query
from chalicelib.http import auth, bodies, files, pages, parameters, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation

if TYPE_CHECKING:
    from chalicelib.extensions.reports import models, recent_counts, report, usage
else:
    recent_counts = LazyModule("chalicelib.extensions.reports.recent_counts")
    report = LazyModule("chalicelib.extensions.reports.report")
    usage = LazyModule("chalicelib.extensions.reports.usage")

routes = Blueprint(__name__)

_RETRIEVED = "Usage retrieved successfully"


@routes.route("/v3/agents/{agent_id}/usage", methods=["POST"])
@Operation(
    body="models.UsageQuery",
    body_optional=True,
    data="models.Usage",
    members=("countedUntil",),
    reads=True,
    raises=(errors.NotFound,),
    tag="analytics",
)
def report_usage(agent_id: str) -> Response:
    """Return an agent's conversations, messages, interactions, deliveries and leads by UTC day.

    The default period is the last 30 days, and the maximum is 366 days. `from` and `to` are extended to whole days. A
    deleted agent's usage can be read if the agent was deleted after `from` and its id is not in use. It
    lacks the changes that arrived after the deletion.
    """
    body: models.UsageQuery = bodies.read()
    since, until = (body.range.from_, body.range.to) if body.range else (None, None)
    since, until = report_query.seconds_in(since, "range.from"), report_query.seconds_in(until, "range.to")
    start, end = report_query.widened(since, until, usage.DAY_SECONDS, "range.from")
    workspace_id = auth.caller().workspace_id
    recent = recent_counts.read(workspace_id, [agent_id], start, end)
    data = usage.read(recent, agent_id, start, end)
    body_members = {**responses.success_members(_RETRIEVED), "countedUntil": recent.counted_until}
    return responses.json_response({**body_members, "data": data})


@routes.route("/v3/usage", methods=["GET"])
@Operation(
    data="list[models.Usage]",
    files=(files.MEDIA[files.CSV],),
    query=("limit", "cursor", "from", "to"),
    bounded=True,
    members=("countedUntil",),
    tag="analytics",
)
def list_usage() -> Response:
    """List each agent's conversations, messages, interactions, deliveries and leads by UTC day.

    The default period is the last 30 days, and the maximum is 366 days. `from` and `to` are extended to whole days.
    Agents are sorted by id. Deleted agents with usage in the period follow them, with `deletedAt`. The last entry,
    without `agentId`, contains the deliveries that belong to no agent, such as
    those for client events. With `Accept: text/csv`, the response is CSV with a row for each agent and day, and the
    `Link` header contains the URL of the next page.

    A page has at most 20 agents, even with a higher `limit`. While `hasMore` is true, pass `nextCursor` as `cursor` to
    continue. `countedUntil` has the same meaning as in reports. In CSV responses, it is in the header
    `Cams-Counted-Until`.
    """
    limit, cursor, (start, end) = parameters.limit(), parameters.cursor(), report_query.bounds(usage.DAY_SECONDS)
    workspace_id, limit = auth.caller().workspace_id, min(limit, usage.MAX_AGENTS)
    owners = usage.list_owners(workspace_id, cursor, limit, start)
    recent = recent_counts.read(workspace_id, usage.agents_of(owners[:limit]), start, end)
    examined = usage.examine(recent, owners, start, end)
    if not report_query.prefers_csv():
        return pages.bounded_page(_RETRIEVED, examined, limit, lambda _: {"countedUntil": recent.counted_until})
    records, position = pages.take_bounded(examined, limit)
    heading = "" if cursor else files.heading(files.CSV, ("agentId", "day", *usage.NAMES))
    response = files.response(files.CSV, heading + usage.table(map(json.loads, records)), position)
    response.headers |= report.counted_until(recent)
    return response
