"""Together, the list pages contain each of the workspace's agents exactly once, and no other workspace's agents.

`tests/agents/test_list.py` tests the filters and sort orders.
"""

from chalicelib.workspaces.store import NewWorkspace
from tests.agents.records import stored_agent, without
from tests.api import Api
from tests.assertions import refused
from tests.listed_pages import read_pages

# The list


def test_the_pages_contain_every_agent_once_and_none_is_empty(api: Api) -> None:
    ids = sorted(["b", "a@x.y", "c:+=,|~_-", "B", "10", "9"])
    for agent_id in ids:
        api.post(f"/v2/agents/{agent_id}", {})

    for limit in (1, 2, 3, 4, 5, 6, 7, 100):
        assert pages(api, limit) == [ids[start : start + limit] for start in range(0, len(ids), limit)]


def pages(api: Api, limit: int) -> list[list[str]]:
    return [[agent["id"] for agent in page] for page in read_pages(api, "/v3/agents", limit)]


def test_a_page_has_twenty_agents_by_default(api: Api) -> None:
    for number in range(21):
        api.post(f"/v2/agents/{number:02}", {})
    first = api.get("/v3/agents")
    second = api.get(f"/v3/agents?cursor={first.json['nextCursor']}")
    assert [len(page.data) for page in (first, second)] == [20, 1]
    assert "nextCursor" not in second.json


def test_the_list_returns_the_same_records_as_a_read(api: Api, agent_id: str) -> None:
    answer = api.get("/v3/agents")
    assert answer.json["message"] == "Agents retrieved successfully"
    assert answer.data == [without(api.get(f"/v3/agents/{agent_id}").data, "tools")]


def test_the_list_of_a_workspace_without_agents_is_empty(api: Api) -> None:
    expected = {"success": True, "message": "Agents retrieved successfully", "hasMore": False, "data": []}
    assert api.get("/v3/agents").json == expected


def test_a_page_of_large_agents_is_shorter_and_no_agent_is_missing(api: Api) -> None:
    for number in range(8):
        assert api.post(f"/v2/agents/large{number}", {"branding": '"' * 300_000}).status == 200
    found = pages(api, 8)
    assert sorted(one for page in found for one in page) == [f"large{number}" for number in range(8)]
    assert len(found) > 1


# Two workspaces


def test_two_workspaces_use_the_same_agent_id_independently(
    workspace: NewWorkspace, api: Api, other_workspace: NewWorkspace
) -> None:
    other = Api(other_workspace.workspace_key)
    answers = [one.post("/v2/agents/support", {"title": title}) for one, title in ((api, "ours"), (other, "theirs"))]
    assert [answer.json["message"] for answer in answers] == ["Agent created successfully"] * 2
    other.patch("/v3/agents/support", {"agent": {"region": "eu"}})

    assert api.get("/v2/agents/support").json["title"] == "ours"
    assert [agent["title"] for agent in api.get("/v3/agents").data] == ["ours"]
    assert "region" not in stored_agent(workspace)
    assert stored_agent(other_workspace)["title"] == "theirs"


def test_another_workspace_s_agent_is_not_found(api: Api, agent_id: str, other_workspace: NewWorkspace) -> None:
    other = Api(other_workspace.workspace_key)
    refused(other.get(f"/v2/agents/{agent_id}"), 404)
    refused(other.get(f"/v3/agents/{agent_id}"), 404)
    refused(other.patch(f"/v3/agents/{agent_id}", {"agent": {"title": "mine"}}), 404)
    assert other.get("/v3/agents").data == []
