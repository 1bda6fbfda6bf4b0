"""The requests and capacity units of an operation."""

from collections.abc import Callable
from typing import Any

from benchmarks.populate import AGENT, Tenant
from chalicelib.workspaces import store as workspaces
from tests.api import Answer
from tests.capacity import metered

METRICS = ("requests", "read units", "write units")
Costs = dict[str, float]
"""Metric -> value."""


def cost(act: Callable[[], object], client: Any = None) -> Costs:
    """Return what an operation costs at a DynamoDB client, by default the service's own."""
    with metered(client) as meter:
        act()
    return dict(zip(METRICS, (meter.total, meter.reads, meter.writes), strict=True))


def require_success(answer: Answer) -> Answer:
    """Return the response. Raise AssertionError for an error."""
    if answer.status != 200:
        raise AssertionError(answer.text)
    return answer


def warm_up(tenant: Tenant) -> None:
    """Cache the caller, the agent and the workspace's retention, which a process reads once or twice a minute."""
    require_success(tenant.api.get("/v2/clients"))
    require_success(tenant.api.post(f"/v2/agents/{AGENT}/analytics/warm", {"record": "load"}))
    workspaces.retention_days(tenant.workspace_id)
