"""The usage endpoint: each agent's daily counts."""

import json
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib.extensions.reports import report_query, usage
from chalicelib.http import auth, files, pages, parameters
from chalicelib.http.operation import Operation

if TYPE_CHECKING:
    from chalicelib.extensions.reports import models  # noqa: F401

routes = Blueprint(__name__)

_COLUMNS = ("agentId", "day", *usage.NAMES)


@routes.route("/v3/usage", methods=["GET"])
@Operation(
    data="list[models.Usage]",
    files=(files.MEDIA[files.CSV],),
    query=("limit", "cursor", "from", "to"),
    bounded=True,
    tag="analytics",
)
def list_usage() -> Response:
    """List each agent's conversations, messages, interactions, deliveries and leads by UTC day.

    The default period is the last 30 days, and the maximum is 366 days. `from` and `to` are extended to whole days.
    Agents are sorted by id. The last entry, without `agentId`, contains the deliveries that belong to no agent, such as
    those for client events. With `Accept: text/csv`, the response is CSV with a row for each agent and day, and the
    `Link` header contains the URL of the next page.

    A page has at most 20 agents, even with a higher `limit`. While `hasMore` is true, pass `nextCursor` as `cursor` to
    continue. Counts are delayed by about 17 minutes.
    """
    limit, cursor, (start, end) = parameters.limit(), parameters.cursor(), report_query.bounds(usage.DAY_SECONDS)
    limit = min(limit, usage.MAX_AGENTS)
    examined = usage.examine(auth.caller().workspace_id, start, end, cursor, limit)
    if not report_query.prefers_csv():
        return pages.bounded_page("Usage retrieved successfully", examined, limit)
    records, position = pages.take_bounded(examined, limit)
    heading = "" if cursor else files.heading(files.CSV, _COLUMNS)
    return files.response(files.CSV, heading + usage.table(map(json.loads, records)), position)
