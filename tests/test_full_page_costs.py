"""The costs of lists in docs/costs.csv, counted with full pages of 20 records that take about 1 KB each."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib.http.parameters import PAGE_SIZE
from chalicelib.workspaces import store as workspaces
from tests import costs
from tests.api import Api
from tests.builders import lead_body, message, state_body
from tests.capacity import metered
from tests.engines import new_engine

_LETTERS = "abcdefghijklmnopqrstuvwxyz      "


def text(number: int) -> str:
    """Return a text of 1,000 characters that compression makes about a third shorter."""
    return "".join(random.Random(number).choices(_LETTERS, k=1_000))


def create(api: Api, path: str, body: Any) -> Any:
    """Send a request that must succeed. Return the response's data."""
    answer = api.post(path, body)
    assert answer.status == 200, answer.text
    return answer.json.get("data")


# Path to create a record -> its body.
RECORDS: dict[str, Callable[[int], Any]] = {
    "/v3/agents": lambda number: {"agent": {"title": f"Agent {number}", "vg_systemPrompt": text(number)}},
    "/v3/agents/support/tools": lambda number: {"tool": {"name": f"Tool {number}", "description": text(number)}},
    "/v3/clients": lambda number: {"client": {"name": text(number), "orgId": "acme"}},
    "/v3/orgs": lambda number: {"organisation": {"name": text(number)}},
    "/v3/leads": lambda number: lead_body(name=text(number)),
}
# Operation in docs/costs.csv -> its path. A second page exists, so that each page is full.
LISTS = {
    "list agents": "/v3/agents",
    "search agents": "/v3/agents/search?limit=20",
    "list tools": "/v3/agents/support/tools?limit=20",
    "list conversations": "/v3/agents/support/convos",
    "list conversations, page 1": "/v2/agents/support/convos",
    "list conversations by cursor": "/v2/agents/support/convos?cursor={cursor}",
    "list the inbox": "/v3/convos?inbox=true",
    "list messages": "/v3/agents/support/convos/user-0/messages",
    "list clients": "/v3/clients",
    "list organisations": "/v3/orgs",
    "list organisations on a numbered page": "/v3/orgs?page=1",
    "list the agents of an organisation": "/v3/orgs/acme/agents",
    "list the clients of an organisation": "/v3/orgs/acme/clients",
    "list leads of an agent": "/v3/agents/support/leads",
    "list deliveries": "/v3/webhooks/{webhook_id}/deliveries",
}


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[Api, dict[str, str]]]:
    """Provide the API of a workspace with more than a page of each record, and the path values of the lists."""
    with new_engine():
        api = Api(workspaces.create("Costs").workspace_key)
        create(api, "/v2/agents/support", {"title": "Support"})
        create(api, "/v2/orgs/acme", {"name": "Acme"})
        for path, body in RECORDS.items():
            for number in range(PAGE_SIZE + 1):
                create(api, path, body(number))
        for number in range(2 * PAGE_SIZE + 1):
            path = f"/agents/support/interact/user-{number}/state"
            create(api, path, {**state_body(text(number)), "metadata": {"userName": "Ann", "state": "human-chatting"}})
        more = [message(text(number)) for number in range(PAGE_SIZE)]
        create(api, "/v3/agents/support/convos/user-0/messages", {"messages": more})
        agents = [agent["id"] for agent in api.get("/v3/agents?limit=21").data]
        create(api, "/v2/orgs/acme", {"name": "Acme", "widgetIDs": agents})
        webhook = {"webhook": {"url": "https://example.com/hooks", "events": ["lead_captured"]}}
        webhook_id = create(api, "/v3/webhooks", webhook)["id"]
        for _ in range(PAGE_SIZE + 1):
            create(api, f"/v3/webhooks/{webhook_id}/test", {})
        cursor = api.get("/v2/agents/support/convos").json["nextCursor"]
        yield api, {"webhook_id": webhook_id, "cursor": cursor}


@pytest.mark.parametrize("operation", LISTS)
def test_a_full_page_has_the_listed_cost(operation: str, service: tuple[Api, dict[str, str]]) -> None:
    api, values = service
    path = LISTS[operation].format(**values)
    answer = api.get(path)  # also caches the credential
    assert len(answer.json.get("agents") or answer.data) == PAGE_SIZE
    with metered() as meter:
        api.get(path)
    costs.check(operation, meter)
