"""Creating and reading an agent through the v3 API, and merging changes into it (§4.2).

`tests/contract/test_members.py` tests the members of each form; `tests/agents/test_keys.py` tests the key.
"""

from typing import Any

import pytest

from chalicelib import storage
from chalicelib.workspaces.store import NewWorkspace
from tests.agents.records import NOT_STORED, NOW, row_of, stored_agent, without
from tests.api import Api
from tests.assertions import refused, stored
from tests.conftest import StopClock
from tests.selection import each_value_once, first_case


def test_v3_creates_an_agent_with_a_generated_id(workspace: NewWorkspace, api: Api, stop_clock: StopClock) -> None:
    stop_clock(NOW)
    answer = api.post("/v3/agents", {"agent": {"title": "Support", "ui": {"bgImageVisible": True}}})

    made = answer.data
    assert answer.json["message"] == "Agent created successfully"
    assert made["ID"] == made["id"]
    assert without(made, "ID", "id", "ownerID", "SECRET_API_KEY") == {
        "agentPlatform": "vg",
        "createdAtUNIX": NOW,
        "lastModified": NOW,
        "title": "Support",
        "tools": [],
        "ui": {"bgImageVisible": True},
    }
    assert stored_agent(workspace, made["id"]) == without(made, *NOT_STORED)
    assert api.get(f"/v3/agents/{made['id']}").data == made


def test_each_v3_creation_creates_another_agent(api: Api) -> None:
    made = [api.post("/v3/agents", {"agent": {}}).data for _ in range(3)]
    assert len({agent["id"] for agent in made}) == 3
    assert len({agent["SECRET_API_KEY"] for agent in made}) == 3


def test_a_v3_read_returns_the_envelope(api: Api, agent_id: str) -> None:
    answer = api.get(f"/v3/agents/{agent_id}")
    assert answer.json == {"success": True, "message": "Agent retrieved successfully", "data": answer.data}
    assert answer.data["id"] == agent_id


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", "/v3/agents/unknown", None, id="read"),
        pytest.param("GET", "/v2/agents/unknown", None, id="read v2"),
        pytest.param("PATCH", "/v3/agents/unknown", {"agent": {"title": "x"}}, id="change"),
    ],
)
@first_case
def test_an_unknown_agent_is_not_found(method: str, path: str, body: Any, api: Api) -> None:
    assert refused(api.call(method, path, body) if body is None else api.patch(path, body), 404) == (
        "There is no such agent."
    )


UI = {"bgImageVisible": True, "voice": {"question": "?", "continueBtnLabel": "Go"}}


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        pytest.param({"title": "a", "lang": "de"}, {"title": "b"}, {"title": "b", "lang": "de"}, id="scalar replaces"),
        pytest.param({"title": "a", "lang": "de"}, {"title": None}, {"lang": "de"}, id="null clears"),
        pytest.param(
            {"ui": UI},
            {"ui": {"voice": {"question": "!"}}},
            {"ui": {"bgImageVisible": True, "voice": {"question": "!", "continueBtnLabel": "Go"}}},
            id="objects merge at every depth",
        ),
        pytest.param(
            {"ui": UI},
            {"ui": {"voice": {"question": None}}},
            {"ui": {"bgImageVisible": True, "voice": {"continueBtnLabel": "Go"}}},
            id="null clears inside an object",
        ),
        pytest.param({"ui": UI}, {"ui": {"voice": None}}, {"ui": {"bgImageVisible": True}}, id="null clears an object"),
        pytest.param({"ui": UI}, {"ui": None}, {}, id="null clears an object with objects"),
        pytest.param({"ui": UI}, {"ui": {}}, {"ui": UI}, id="an empty object changes nothing"),
        pytest.param({}, {"ui": {"voice": {}}}, {"ui": {"voice": {}}}, id="an empty object is stored"),
        pytest.param({}, {"ui": UI}, {"ui": UI}, id="an object is added"),
        pytest.param({"kbTags": ["a", "b"]}, {"kbTags": ["c"]}, {"kbTags": ["c"]}, id="lists replace"),
        pytest.param({"kbTags": ["a", "b"]}, {"kbTags": []}, {"kbTags": []}, id="an empty list replaces"),
        pytest.param(
            {"voiceConfig": {"speechGen": {"wordsReplacements": [{"word": "a", "replacement": "b"}]}}},
            {"voiceConfig": {"speechGen": {"wordsReplacements": [{"word": "c"}]}}},
            {"voiceConfig": {"speechGen": {"wordsReplacements": [{"word": "c"}]}}},
            id="lists of objects replace",
        ),
        pytest.param(
            {"vectorDb": {"a": 1, "b": 2}}, {"vectorDb": {"c": None}}, {"vectorDb": {"c": None}}, id="any JSON replaces"
        ),
        pytest.param({"vectorDb": {"a": 1}}, {"vectorDb": None}, {}, id="null clears any JSON"),
    ],
)
def test_a_v3_change_merges(before: Any, change: Any, after: Any, workspace: NewWorkspace, api: Api) -> None:
    made = api.post("/v3/agents", {"agent": before}).data
    always = {name: made[name] for name in ("ID", "id", "ownerID", "SECRET_API_KEY", "agentPlatform", "createdAtUNIX")}
    answer = api.patch(f"/v3/agents/{made['id']}", {"agent": change})

    assert answer.json["message"] == "Agent updated successfully"
    assert without(answer.data, "lastModified") == {**always, **after, "tools": []}
    assert stored_agent(workspace, made["id"]) == without(answer.data, *NOT_STORED)


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        pytest.param(
            [{"id": "a", "name": "A", "kb": {"enabled": True, "maxChunks": 3}}, {"id": "b"}],
            [{"id": "a", "kb": {"maxChunks": 4}}],
            [{"id": "a", "name": "A", "kb": {"enabled": True, "maxChunks": 4}}, {"id": "b"}],
            id="merge into the node with the same id",
        ),
        pytest.param(
            [{"id": "a"}, {"id": "b"}],
            [{"id": "new", "name": "N"}, {"id": "b", "name": "B"}],
            [{"id": "a"}, {"id": "b", "name": "B"}, {"id": "new", "name": "N"}],
            id="keep their order, new nodes are appended",
        ),
        pytest.param(
            [{"id": "a", "name": "A", "conditionData": {"condition": "x"}}],
            [{"id": "a", "name": None, "conditionData": {"condition": None}}],
            [{"id": "a", "conditionData": {}}],
            id="null clears inside",
        ),
        pytest.param(
            [{"id": "a", "childrenNodes": [{"nodeId": "b"}, {"nodeId": "c"}], "toolsIds": ["t"]}],
            [{"id": "a", "childrenNodes": [{"nodeId": "d"}], "toolsIds": []}],
            [{"id": "a", "childrenNodes": [{"nodeId": "d"}], "toolsIds": []}],
            id="lists inside replace",
        ),
        pytest.param([{"id": "a"}], [], [{"id": "a"}], id="an empty list changes nothing"),
        pytest.param([{"id": "a"}], None, None, id="null clears all nodes"),
    ],
)
def test_nodes_merge_by_id(before: Any, change: Any, after: Any, workspace: NewWorkspace, api: Api) -> None:
    made = api.post("/v3/agents", {"agent": {"nodes": before}}).data
    answer = api.patch(f"/v3/agents/{made['id']}", {"agent": {"nodes": change}})
    assert answer.data.get("nodes") == after
    assert stored_agent(workspace, made["id"]).get("nodes") == after


@each_value_once
@pytest.mark.parametrize(
    ("nodes", "path"),
    [
        pytest.param([{"id": "a"}, {"id": "b"}, {"id": "a"}], "agent.nodes.2.id", id="duplicated"),
    ],
)
@pytest.mark.parametrize("target", ["/v3/agents", "/v3/agents/support"], ids=["create", "change"])
def test_a_node_with_a_duplicated_id_is_refused(nodes: Any, path: str, target: str, api: Api, agent_id: str) -> None:
    before = stored()
    answer = (api.post if target == "/v3/agents" else api.patch)(target, {"agent": {"title": "x", "nodes": nodes}})
    refused(answer, 400, path)
    assert stored() == before


def test_the_owner_of_an_agent_is_the_workspace(workspace: NewWorkspace, api: Api, agent_id: str) -> None:
    """The v3 form of every agent contains the owner; the v2 form never does (§2.4, §2.5)."""
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support"]})
    agents = [
        api.get("/v3/agents/support").data,
        api.patch("/v3/agents/support", {"agent": {"title": "Sales"}}).data,
        api.post("/v3/agents", {"agent": {"ownerID": "me"}}).data,
        *api.get("/v3/agents").data,
        *api.get("/v3/agents/search").json["agents"],
        *api.get("/v3/orgs/acme/agents").data,
    ]
    assert len(agents) == 8
    assert {one["ownerID"] for one in agents} == {workspace.workspace_id}
    assert "ownerID" not in api.get("/v2/agents/support").json
    refused(api.post("/v2/agents/support", {"ownerID": "me"}), 400, "ownerID")


def test_the_owner_that_an_earlier_version_stored_is_not_shown(
    workspace: NewWorkspace, api: Api, agent_id: str
) -> None:
    """Earlier versions accepted any `ownerID` that a caller sent."""
    with storage.unit_of_work():
        row = row_of(workspace)
        row.seal({**row.open(), "ownerID": "me", "title": 'An "ownerID"'})
        storage.put(row)
    for path in ("/v3/agents/support", "/v3/agents"):
        assert api.get(path).text.count('"ownerID":') == 1
        assert f'"ownerID":"{workspace.workspace_id}"' in api.get(path).text
    assert api.patch("/v3/agents/support", {"agent": {"lang": "de"}}).data["ownerID"] == workspace.workspace_id


@pytest.mark.parametrize(
    ("member", "value"),
    [("ID", "other"), ("id", "other"), ("ownerID", "other"), ("createdAtUNIX", 5), ("lastModified", 5)],
)
def test_read_only_members_are_accepted_and_ignored(
    member: str, value: Any, workspace: NewWorkspace, api: Api, agent_id: str
) -> None:
    before, tag = api.get(f"/v3/agents/{agent_id}").data, row_of(workspace).version_tag
    assert api.patch(f"/v3/agents/{agent_id}", {"agent": {member: value}}).data == before
    made = api.post("/v3/agents", {"agent": {member: value}}).data
    assert made[member] != value
    assert (api.get("/v3/agents/other").status, row_of(workspace).version_tag) == (404, tag)
