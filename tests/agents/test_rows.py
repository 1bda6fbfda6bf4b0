"""The partition that stores an agent and its tools, and the index that lists a workspace's agents."""

import random
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.agents import rows, store
from chalicelib.agents.rows import AgentOrToolRow, AgentRow
from chalicelib.storage import parent_scoped_ids
from chalicelib.tools.store import ToolRow
from chalicelib.workspaces.store import NewWorkspace
from tests import capacity
from tests.agents.records import row_of, without
from tests.api import Api
from tests.assertions import refused
from tests.capacity import metered

SALES, SUPPORT = "/v3/agents/sales/tools", "/v3/agents/support/tools"
INDEX_QUERY, PORTION = {"Query": 1}, {"BatchGetItem": 1}


def noise(length: int) -> str:
    """Return text that hardly compresses."""
    return b64encode(random.Random(length).randbytes(length)).decode()[:length]


def entries(workspace: NewWorkspace) -> list[AgentRow]:
    return [*store.list_entries(workspace.workspace_id, None, 100)]


# ---- the partition --------------------------------------------------------------------------------


@pytest.fixture
def colliding(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Create two agents whose ids share a prefix, each with a tool; return the tool ids."""
    monkeypatch.setattr(parent_scoped_ids, "_prefix", lambda _: "0" * 11)
    for agent in ("sales", "support"):
        assert api.post(f"/v2/agents/{agent}", {"title": agent}).status == 200
    assert len({rows.keys("w", agent)[0] for agent in ("sales", "support")}) == 1
    return {path: api.post(path, {"tool": {"name": path}}).data["id"] for path in (SALES, SUPPORT)}


def test_agents_with_the_same_prefix_keep_their_own_records(api: Api, colliding: dict[str, str]) -> None:
    for path, tool_id in colliding.items():
        assert [tool["id"] for tool in api.get(path).data] == [tool_id]
        assert [tool["id"] for tool in api.get(f"{path}?limit=1").data] == [tool_id]
        assert api.get(f"/v3/tools/{tool_id}").data["name"] == path
    assert {one["id"]: one.get("title") for one in api.get("/v3/agents").data} == {
        "sales": "sales",
        "support": "support",
    }


def test_deleting_an_agent_keeps_the_tools_of_another_with_the_same_prefix(
    api: Api, colliding: dict[str, str], workspace: NewWorkspace
) -> None:
    assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
    refused(api.get(SUPPORT), 404)
    refused(api.get(f"/v3/tools/{colliding[SUPPORT]}"), 404)
    assert [tool["id"] for tool in api.get(SALES).data] == [colliding[SALES]]
    assert store.find_tombstone(workspace.workspace_id, "support") is not None


def test_a_query_of_the_partition_returns_each_item_in_its_class(
    api: Api, agent_id: str, workspace: NewWorkspace
) -> None:
    api.post(SUPPORT, {"tool": {"name": "Look up"}})
    partition, _ = rows.keys(workspace.workspace_id, agent_id)
    agent, tool = storage.query(AgentOrToolRow, partition)
    assert isinstance(agent, AgentRow)
    assert isinstance(tool, ToolRow)
    assert (agent.agent_id, tool.agent_id, tool.open()["name"]) == (agent_id, agent_id, "Look up")


# ---- the index ------------------------------------------------------------------------------------


def test_an_entry_of_the_index_has_a_sealed_summary(
    api: Api, workspace: NewWorkspace, other_workspace: NewWorkspace
) -> None:
    given = {"title": "Support", "description": "Helps.", "starred": True, "deployed": False}
    made = api.post("/v3/agents", {"agent": {**given, "vg_systemPrompt": "secret"}}).data
    (entry,) = entries(workspace)
    assert storage.unseal(entry, "summary") == {**given, "createdAtUNIX": made["createdAtUNIX"]}
    assert set(entry.attribute_values) == {"partition", "item", "workspace", "agent_id", "summary"}
    assert b"Support" not in entry.summary
    assert entries(other_workspace) == []

    assert api.patch(f"/v3/agents/{made['id']}", {"agent": {"title": None, "starred": False}}).status == 200
    (entry,) = entries(workspace)
    changed = {"description": "Helps.", "starred": False, "deployed": False}
    assert storage.unseal(entry, "summary") == {**changed, "createdAtUNIX": made["createdAtUNIX"]}


@pytest.mark.parametrize(("change", "entries_written"), [({"vg_prompt": "Be brief."}, 2), ({"title": "New"}, 3)])
def test_a_change_writes_the_index_by_id_only_if_the_summary_changes(
    change: dict[str, str], entries_written: int, api: Api, agent_id: str
) -> None:
    """A changed version tag moves the entry in the index that is sorted by last change.

    Moving an entry takes two writes.
    """
    with metered() as meter:
        assert api.patch(f"/v3/agents/{agent_id}", {"agent": change}).status == 200
    assert meter.writes == 1 + entries_written


def test_the_index_has_neither_tools_nor_tombstones(api: Api, agent_id: str, workspace: NewWorkspace) -> None:
    api.post(SUPPORT, {"tool": {"name": "Look up"}})
    api.post("/v2/agents/sales", {})
    assert [entry.agent_id for entry in entries(workspace)] == ["sales", "support"]
    api.delete("/v3/agents/support")
    assert [entry.agent_id for entry in entries(workspace)] == ["sales"]
    assert store.list_tombstones(workspace.workspace_id) == ["support"]


def test_an_entry_has_at_most_one_kilobyte(api: Api, workspace: NewWorkspace) -> None:
    """Long texts are truncated, so each entry write costs one unit."""
    path = f"/v2/agents/{'a' * 128}"
    texts = {"title": noise(5_000), "description": noise(6_000)}
    for title in (texts, {"lang": "de"}):
        with metered() as meter:
            assert api.post(path, title).status == 200
    (entry,) = entries(workspace)
    summary = storage.unseal(entry, "summary")
    assert {name: summary[name] for name in texts} == {name: text[:200] for name, text in texts.items()}
    for index in ("by_workspace", "by_change"):
        item = storage.sdk_client("dynamodb").query(
            TableName=storage.table("agents"),
            IndexName=index,
            KeyConditionExpression="workspace = :w",
            ExpressionAttributeValues={":w": {"S": workspace.workspace_id}},
        )["Items"][0]
        assert capacity.size(item) <= 1024
    whole = capacity.size(row_of(workspace, "a" * 128).serialize())
    assert meter.writes == -(-whole // 1024) + 2


# ---- the list -------------------------------------------------------------------------------------


def create_large(api: Api, number: int) -> list[str]:
    """Create agents of about 30 KB each."""
    ids = [f"a{position:02}" for position in range(number)]
    for one in ids:
        assert api.post(f"/v2/agents/{one}", {"vg_systemPrompt": noise(40_000), "title": one}).status == 200
    return ids


def test_a_page_reads_only_the_agents_that_it_shows(api: Api) -> None:
    ids = create_large(api, 22)
    with metered() as meter:
        assert [one["id"] for one in api.get("/v3/agents?limit=20").data] == ids[:20]
    assert meter.requests == INDEX_QUERY | PORTION
    with metered() as small:
        assert [one["id"] for one in api.get("/v3/agents?limit=2").data] == ids[:2]
    assert small.requests == INDEX_QUERY | PORTION
    assert meter.reads < 10 * small.reads


def test_a_page_stops_reading_when_the_answer_is_full(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = create_large(api, 30)
    monkeypatch.setattr(store, "_PORTION", 5)
    monkeypatch.setattr("chalicelib.http.responses.RESPONSE_LIMIT", 300_000)
    listed_ids: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        with metered() as meter:
            answer = api.get(f"/v3/agents?limit=100{cursor}")
        listed_ids += [one["id"] for one in answer.data]
        assert 0 < meter.requests["BatchGetItem"] <= 2
        assert meter.reads < 60  # reading the complete list takes more than 100 requests
        cursor = f"&cursor={answer.json['nextCursor']}" if "nextCursor" in answer.json else None
    assert listed_ids == ids


def test_an_agent_that_the_index_still_lists_after_its_deletion_is_omitted(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcdef":
        api.post(f"/v2/agents/{name}", {})
    listed = store.list_entries

    def stale(workspace_id: str, after: str | None, limit: int) -> Iterator[AgentRow]:
        found = [*listed(workspace_id, after, limit)]
        for name in "abdef":
            api.delete(f"/v3/agents/{name}")
        return iter(found)

    monkeypatch.setattr(store, "list_entries", stale)
    answer = api.get("/v3/agents?limit=2").json  # it skips the two deleted agents
    assert ([one["id"] for one in answer["data"]], answer["hasMore"]) == (["c"], False)


def test_the_list_shows_whole_agents(api: Api) -> None:
    given: dict[str, Any] = {"title": noise(500), "nodes": [{"id": "n"}], "ui": {"bgImageVisible": True}}
    made = api.post("/v3/agents", {"agent": given}).data
    assert api.get("/v3/agents").data == [without(made, "tools")]
    assert made.items() >= given.items()
