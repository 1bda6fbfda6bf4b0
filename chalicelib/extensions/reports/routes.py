"""The report endpoints: for one agent, an organisation's agents, or all agents in the workspace."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.agents import store as agents
from chalicelib.extensions.reports import report_query
from chalicelib.extensions.reports.report_query import ReportQuery, TooManyAgents
from chalicelib.http import auth, files
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.ids import IDENTIFIER
from chalicelib.organisations import store as organisations

if TYPE_CHECKING:
    from chalicelib.extensions.reports import models, report  # noqa: F401
else:
    report = LazyModule("chalicelib.extensions.reports.report")

routes = Blueprint(__name__)

_CSV = (files.MEDIA[files.CSV],)


@routes.route("/v3/agents/{agent_id}/analytics", methods=["GET"])
@Operation(
    data="models.Report",
    files=_CSV,
    query=report_query.NAMES,
    raises=(errors.NotFound,),
    warns=True,
    tag="analytics",
)
def report_agent(agent_id: str) -> Response:
    """Report an agent's counts by hour, day or month, their totals, and the previous period's totals.

    Conversations, new visitors and handoffs (the state becomes `requested_chat`) count when they start. Messages,
    interactions, loads, leads, first answers and ends (the state becomes `ended_chat`) count when they happen. Records
    that are deleted later still count. With `by`, `groups` contains the same counts for each value of a dimension. All
    changes before `countedUntil` are counted. With `Accept: text/csv`, the response is the series as CSV, and
    `countedUntil` is in the header `Cams-Counted-Until`.

    The default period is the last 30 days. A report covers at most 366 days and 750 intervals, or 100 intervals with
    `by`. `from` and `to` are extended to whole hours. Days start at midnight in the time zone `tz`. If the zone's UTC
    offset is not a whole number of hours, days start at the nearest hour, and `warnings` contains a warning.
    """
    query, workspace_id = ReportQuery.from_request(), auth.caller().workspace_id
    agents.read_eventually(workspace_id, agent_id)
    return report.respond(workspace_id, [agent_id], query)


@routes.route("/v3/orgs/{org_id}/analytics", methods=["GET"])
@Operation(
    data="models.Report",
    files=_CSV,
    query=report_query.NAMES,
    raises=(errors.NotFound, TooManyAgents),
    warns=True,
    tag="analytics",
)
def report_organisation(org_id: str) -> Response:
    """Report the combined counts of an organisation's agents, which are those in its `widgetIDs`.

    A report covers at most 500 agents and 20,000 agent-days, or 4,000 agent-days with `by`. The previous period's days
    also count. For example, 500 agents allow 19 days and 27 agents allow 366 days; with `by`, 65 agents allow 30 days.
    """
    query, workspace_id = ReportQuery.from_request(), auth.caller().workspace_id
    widget_ids = organisations.read(workspace_id, org_id).open().get("widgetIDs", ())
    agent_ids = sorted({agent_id for agent_id in widget_ids if IDENTIFIER.fullmatch(agent_id)})
    report.check_size(agent_ids, query)
    return report.respond(workspace_id, agent_ids, query)


@routes.route("/v3/analytics", methods=["GET"])
@Operation(
    data="models.Report",
    files=_CSV,
    query=report_query.NAMES,
    raises=(TooManyAgents,),
    warns=True,
    tag="analytics",
)
def report_workspace() -> Response:
    """Report the combined counts of all agents in the workspace.

    A report covers at most 500 agents and 20,000 agent-days, or 4,000 agent-days with `by`. The previous period's days
    also count. For example, 500 agents allow 19 days and 27 agents allow 366 days; with `by`, 65 agents allow 30 days.
    """
    query, workspace_id = ReportQuery.from_request(), auth.caller().workspace_id
    agent_ids = [entry.agent_id for entry in agents.list_entries(workspace_id, None, report.MAX_AGENTS + 1)]
    report.check_size(agent_ids, query)
    return report.respond(workspace_id, agent_ids, query)
