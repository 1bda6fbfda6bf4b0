"""A list page costs the same for any number of agents in the workspace.

A cost consists of the number of requests and the read units, which are computed by DynamoDB's published rules.
"""

import pytest

from chalicelib import ids, storage
from chalicelib.agents import rows
from chalicelib.agents import store as agents
from chalicelib.leads import store as leads
from chalicelib.storage import parent_scoped_ids
from chalicelib.workspaces.store import NewWorkspace
from tests import costs, extensions
from tests.api import Api
from tests.capacity import metered

START = 1_780_000_000
# Path -> the operation in docs/costs.csv.
PAGES = {
    "/v3/agents": "list 1,000 agents",
    "/v3/agents/search": "search 1,000 agents",
    "/v3/agents/search?search=nothing": "search 1,000 agents for a text that none has",
    "/v3/leads": "list 1,000 leads",
    "/v3/leads?searchTerm=nothing": "filter 1,000 leads",
    "/v3/leads?page=1": "list 1,000 leads on a numbered page",
    "/v3/convos?inbox=true": "list the inbox of 1,000 agents",
    **extensions.joined("PAGE_COSTS"),
}


def fill(workspace_id: str, number: int) -> None:
    """Store agents with one lead each in the service's own layout, many rows per request."""
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


@pytest.mark.usefixtures("midday")  # the clock is stopped, so the credential stays cached
@pytest.mark.parametrize("number", [10, 600, pytest.param(100_000, marks=pytest.mark.long)])
def test_the_cost_of_a_page_is_bounded_for_any_number_of_agents(number: int, api: Api, workspace: NewWorkspace) -> None:
    fill(workspace.workspace_id, number)
    api.get("/v3/tokens")
    for path, operation in PAGES.items():
        with metered() as used:
            answer = api.get(path)
        assert answer.status == 200
        if number >= 1_000:
            costs.check(operation, used)
        else:
            cost = costs.table()[operation]
            assert (used.total, used.reads) <= (cost.requests, cost.reads)
            assert used.reads <= cost.reads
