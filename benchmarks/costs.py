"""What one request to CAMS costs."""

from collections.abc import Callable

from benchmarks.populate import AGENT, Tenant
from chalicelib.workspaces import store as workspaces
from tests.api import Answer
from tests.capacity import metered

Costs = dict[str, float]
"""Metric -> value."""

UNITS = {"requests": "", "read units": "", "write units": ""}


def cost(send: Callable[[], Answer]) -> Costs:
    """Return the requests and units of a request, which must succeed."""
    with metered() as meter:
        succeeded(send())
    return {"requests": meter.total, "read units": meter.reads, "write units": meter.writes}


def succeeded(answer: Answer) -> Answer:
    """Return the answer. Raises AssertionError for an error."""
    if answer.status != 200:
        raise AssertionError(answer.text)
    return answer


def warm_up(tenant: Tenant) -> None:
    """Cache the caller, the agent, and the workspace's retention, which a process looks up once or twice a minute."""
    succeeded(tenant.api.get("/v2/clients"))
    succeeded(tenant.api.post(f"/v2/agents/{AGENT}/analytics/warm", {"record": "load"}))
    workspaces.retention_days(tenant.workspace_id)
