"""Reports over HTTP: what happened at an agent, counted."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.agents import store as agents
from chalicelib.analytics import asked, reports
from chalicelib.http import auth, messages
from chalicelib.http.operation import operation

if TYPE_CHECKING:
    from chalicelib.analytics import models  # noqa: F401

routes = Blueprint(__name__)


@routes.route("/v3/agents/{agent_id}/analytics", methods=["GET"])
@operation(
    data="models.Report",
    query=asked.NAMES,
    raises=(errors.NotFound,),
    warns=True,
    examples="reports.REPORT_AGENT",
)
def report_agent(agent_id: str) -> Response:
    """Report what happened at an agent: counts by hour, day or month, their totals, and those of the period before.

    A conversation, a new visitor and a handoff (the state becomes `requested_chat`) count when they begin; messages,
    interactions, loads and leads when they happen. What is deleted later still counts. With `by`, `groups` has the same
    for each value of a dimension. A change is counted about 17 minutes later.

    By default the last 30 days; at most 366 days and 750 intervals, 100 with `by`. `from` and `to` are widened to full
    hours. Days begin in the zone `tz`. In one that is not a number of full hours from UTC, they begin at the nearest
    hour, and `warnings` says so.
    """
    wanted, workspace_id = asked.requested(), auth.caller().workspace_id
    agents.read_eventually(workspace_id, agent_id)
    data = reports.of_agents(workspace_id, [agent_id], wanted)
    return messages.success("Analytics retrieved successfully", data, wanted.warnings())
