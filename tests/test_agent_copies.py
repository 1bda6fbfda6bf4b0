"""Clones and templates of agents: what they keep, what is new, and that they are made whole or not at all."""

import random
from typing import Any

from chalicelib.agents import copies
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.capacity import metered
from tests.contract.test_members import document
from tests.evidence import refused
from tests.test_agents import without

Document = dict[str, Any]

SERVICE_SET = ("ID", "id", "createdAtUNIX", "lastModified", "SECRET_API_KEY", "tools")
TOOL_SET = ("id", "agentId", "userId", "createdAt", "updatedAt")
FIFTY = 50


def whole_agent(api: Api, tools: int = FIFTY) -> Document:
    """An agent with every member and these tools with every member, to all of which it refers; as it is read."""
    made = api.post(
        "/v3/agents", {"agent": {**document("agent_v3", 2, whole=True), "SECRET_API_KEY": "own", "tools": []}}
    )
    agent_id = made.data["id"]
    for number in range(tools):
        tool = {**document("tool", number, whole=True), "name": f"tool {number}"}
        tool["fields"][0]["agentId"] = agent_id
        api.post(f"/v3/agents/{agent_id}/tools", {"tool": tool}).data  # noqa: B018 - fails where it is no success
    ids = [tool["id"] for tool in api.get(f"/v3/agents/{agent_id}/tools").data]
    nodes = [{"id": f"node {number}", "toolsIds": [one]} for number, one in enumerate(ids)]
    change = {"assignedToolsIds": [*reversed(ids), "of another agent"], "nodes": nodes}
    return dict(api.patch(f"/v3/agents/{agent_id}", {"agent": change}).data)


def references(agent: Document) -> list[list[str]]:
    """The references of an agent to its tools, as their places in its list of tools."""
    places = {tool["id"]: str(place) for place, tool in enumerate(agent["tools"])}
    lists = [agent.get("assignedToolsIds", []), *(node.get("toolsIds", []) for node in agent.get("nodes", []))]
    return [[places.get(one, one) for one in each] for each in lists]


def nodes_of(agent: Document) -> list[Document]:
    return [without(node, "toolsIds") for node in agent["nodes"]]


# ---- clones --------------------------------------------------------------------------------------


def test_a_clone_has_every_member_and_tool_with_new_ids_and_a_new_key(api: Api) -> None:
    source = whole_agent(api)
    with metered() as used:
        answer = api.post(f"/v3/agents/{source['id']}/clone")
    clone = answer.data
    assert used.requests == {"Query": 1, "TransactWriteItems": 1}
    assert answer.json["message"] == "Agent cloned successfully"
    assert api.get(f"/v3/agents/{clone['id']}").data == clone
    assert api.get(f"/v3/agents/{source['id']}").data == source

    refers = ("assignedToolsIds", "nodes")
    assert without(clone, *SERVICE_SET, *refers) == without(source, *SERVICE_SET, *refers)
    assert nodes_of(clone) == nodes_of(source)
    assert references(clone) == references(source)
    assert references(clone)[0] == [*map(str, reversed(range(FIFTY))), "of another agent"]
    assert clone["ID"] == clone["id"] != source["id"]
    assert Api(clone["SECRET_API_KEY"]).get(f"/v2/agents/{clone['id']}").status == 200

    assert len({tool["id"] for tool in [*clone["tools"], *source["tools"]]}) == 2 * FIFTY
    for new, old in zip(clone["tools"], source["tools"], strict=True):
        assert {field["agentId"] for field in new["fields"]} == {new["agentId"]} == {clone["id"]}
        fields = [{**field, "agentId": source["id"]} for field in new["fields"]]
        assert {**without(new, *TOOL_SET), "fields": fields} == without(old, *TOOL_SET)
        assert api.get(f"/v3/tools/{new['id']}").data == new


def test_a_clone_keeps_unknown_members(api: Api) -> None:
    source = api.post("/v3/agents", {"agent": {"newer": {"a": [1.0, None]}}}).data
    assert api.post(f"/v3/agents/{source['id']}/clone").data["newer"] == {"a": [1.0, None]}


def test_a_clone_has_a_key_if_the_agent_has_none(api: Api, agent_id: str) -> None:
    api.patch(f"/v3/agents/{agent_id}", {"agent": {"SECRET_API_KEY": None}})
    assert api.post(f"/v3/agents/{agent_id}/clone").data["SECRET_API_KEY"].startswith("cams_agent_")


def test_a_token_with_scopes_clones_secrets_that_it_is_not_shown(api: Api, agent_id: str) -> None:
    api.patch(f"/v3/agents/{agent_id}", {"agent": {"igAccessToken": "hidden"}})
    holder = Api(api.post("/v3/tokens", {"token": {"name": "x", "scopes": ["agents:write"]}}).data["token"])
    answer = holder.post(f"/v3/agents/{agent_id}/clone")
    assert "hidden" not in answer.text
    assert "SECRET_API_KEY" not in answer.data
    assert [one["path"] for one in answer.json["warnings"]] == ["agent.SECRET_API_KEY"]
    assert api.get(f"/v3/agents/{answer.data['id']}").data["igAccessToken"] == "hidden"


def test_an_agent_with_more_tools_than_a_transaction_creates_is_refused(api: Api, agent_id: str) -> None:
    for _ in range(copies.MAX_TOOLS):
        api.post(f"/v3/agents/{agent_id}/tools", {"tool": {"name": "x"}})
    headers = {**api._headers, "Idempotency-Key": "k"}
    assert len(api.call("POST", f"/v3/agents/{agent_id}/clone", None, headers).data["tools"]) == copies.MAX_TOOLS
    api.post(f"/v3/agents/{agent_id}/tools", {"tool": {"name": "x"}})
    message = refused(api.post(f"/v3/agents/{agent_id}/clone"), 413)
    assert message == "The agent has more than 96 tools."


def test_tools_of_more_than_a_megabyte_are_cloned_and_more_than_4_mb_refused(api: Api, agent_id: str) -> None:
    chance = random.Random(1)

    def add() -> None:
        noise = chance.randbytes(300_000).hex()
        api.post(f"/v3/agents/{agent_id}/tools", {"tool": {"name": "x", "description": noise}}).data  # noqa: B018

    for _ in range(5):
        add()
    with metered() as used:
        clone = api.post(f"/v3/agents/{agent_id}/clone").data
    assert used.requests["Query"] <= 3
    assert used.requests["TransactWriteItems"] == 1
    assert len(clone["tools"]) == 5
    for _ in range(8):
        add()
    with metered() as used:
        assert refused(api.post(f"/v3/agents/{agent_id}/clone"), 413) == "The agent and its tools are too large."
    assert used.requests["Query"] <= 6


def test_a_clone_of_another_workspace_s_agent_is_not_found(
    api: Api, agent_id: str, other_workspace: NewWorkspace
) -> None:
    other = Api(other_workspace.workspace_key)
    refused(other.post(f"/v3/agents/{agent_id}/clone"), 404)
    assert (other.get("/v3/agents").data, len(api.get("/v3/agents").data)) == ([], 1)
