"""A page of a list costs the same whatever the number of agents in the workspace.

Costs are counted requests, and read units by DynamoDB's published rules.
"""

from operator import gt

import pytest

from chalicelib import ids, storage
from chalicelib.agents import rows
from chalicelib.agents import store as agents
from chalicelib.leads import store as leads
from chalicelib.storage import parent_scoped_ids
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.capacity import metered

START = 1_780_000_000
# The highest requests and read units of a page.
PAGES = {
    "/v3/agents": (2, 11),
    "/v3/agents?sort=lastModified": (2, 11),
    "/v3/agents?q=nothing": (6, 18),
    "/v3/agents?q=nothing&sort=lastModified": (6, 18),
    "/v3/leads": (1, 1),
    "/v3/leads?q=nothing": (6, 19),
    "/v3/convos?inbox=true": (1, 1),
    **extensions.joined("PAGE_COSTS"),
}


def fill(workspace_id: str, number: int) -> None:
    """Store agents with a lead each as the service does, with many rows per request."""
    for start in range(0, number, 1_000):
        numbers = range(start, min(start + 1_000, number))
        storage.save_many([agent_row(workspace_id, one) for one in numbers])
        storage.save_many([lead_row(workspace_id, one) for one in numbers])


def agent_row(workspace_id: str, number: int) -> agents.AgentRow:
    agent_id, second = f"agent-{number:06}", START + number
    row = agents.AgentRow(*rows.keys(workspace_id, agent_id), workspace=workspace_id, agent_id=agent_id)
    row.version_tag = ids.id_at(second * 1_000, 0)
    document = {"title": f"Agent {number}", "description": "Answers questions about orders and refunds."}
    row.seal({**document, "createdAtUNIX": second, "lastModified": second})
    row.summary = storage.seal(row, "summary", document)
    return row


def lead_row(workspace_id: str, number: int) -> leads.LeadRow:
    agent_id, milliseconds = f"agent-{number:06}", (START + number) * 1_000
    row = leads.new(workspace_id, parent_scoped_ids.id_at(agent_id, ids.id_at(milliseconds, 0)))
    row.version_tag = ids.id_at(milliseconds, 0)
    row.seal({"agentId": agent_id, "agentName": f"Agent {number}", "name": "Ann", "createdAt": milliseconds})
    return row


@pytest.mark.usefixtures("pass_time")  # the clock stands still, so the credential stays cached
@pytest.mark.parametrize("number", [10, 1_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_the_cost_of_a_page_is_bounded_for_any_number_of_agents(number: int, api: Api, workspace: NewWorkspace) -> None:
    fill(workspace.workspace_id, number)
    api.get("/v3/tokens")
    costs = {}
    for path in PAGES:
        with metered() as used:
            answer = api.get(path)
        assert answer.status == 200 or answer.json["code"] == "TOO_MANY_AGENTS"
        costs[path] = used.total, used.reads
    assert [path for path, most in PAGES.items() if any(map(gt, costs[path], most))] == [], costs
