"""The reports over HTTP: on an agent, on an organisation's agents, or on all agents of the workspace."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.agents import store as agents
from chalicelib.extensions.reports import report, report_query
from chalicelib.extensions.reports.report_query import ReportQuery
from chalicelib.http import auth, files
from chalicelib.http.operation import Operation
from chalicelib.ids import IDENTIFIER
from chalicelib.organisations import store as organisations

if TYPE_CHECKING:
    from chalicelib.extensions.reports import models  # noqa: F401

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
    """Report the counts of an agent by hour, day or month, their totals, and those of the period before.

    A conversation, a new visitor and a handoff (the state becomes `requested_chat`) count when they begin; messages,
    interactions, loads and leads when they happen. Records that are deleted later still count. With `by`, `groups`
    contains the same for each value of a dimension. A change is counted about 17 minutes later. With
    `Accept: text/csv`, the series is a table.

    By default the last 30 days; at most 366 days and 750 intervals, 100 with `by`. `from` and `to` are widened to full
    hours. Days begin in the zone `tz`. If its offset from UTC is not a number of full hours, they begin at the nearest
    hour, and `warnings` contains a warning.
    """
    query, workspace_id = ReportQuery.from_request(), auth.caller().workspace_id
    agents.read_eventually(workspace_id, agent_id)
    return report.respond(workspace_id, [agent_id], query)


@routes.route("/v3/orgs/{org_id}/analytics", methods=["GET"])
@Operation(
    data="models.Report",
    files=_CSV,
    query=report_query.NAMES,
    raises=(errors.NotFound, report.TooManyAgents),
    warns=True,
    tag="analytics",
)
def report_organisation(org_id: str) -> Response:
    """Report the combined counts of an organisation's agents, which are those in its `widgetIDs`.

    At most 500 agents, and 20,000 days of agents, 4,000 with `by`. The days of the period before count, too. So a
    report covers at most 19 days of 500 agents, or 366 days of 27, and with `by` 30 days of 65 agents.
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
    raises=(report.TooManyAgents,),
    warns=True,
    tag="analytics",
)
def report_workspace() -> Response:
    """Report the combined counts of all agents of the workspace.

    At most 500 agents, and 20,000 days of agents, 4,000 with `by`. The days of the period before count, too. So a
    report covers at most 19 days of 500 agents, or 366 days of 27, and with `by` 30 days of 65 agents.
    """
    query, workspace_id = ReportQuery.from_request(), auth.caller().workspace_id
    agent_ids = [entry.agent_id for entry in agents.list_entries(workspace_id, None, report.MAX_AGENTS + 1)]
    report.check_size(agent_ids, query)
    return report.respond(workspace_id, agent_ids, query)
