"""Deleting an agent also deletes all its records, and the id can then be reused."""

from typing import Any

import pytest

from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused
from tests.builders import lead_body
from tests.conftest import PassTime
from tests.conversations.test_retention import clear_deleted
from tests.deletion.cascades import HUMAN, LIST, fill, items, second_run
from tests.webhooks import pipeline
from tests.webhooks.conftest import stream as stream


def test_a_deleted_agent_leaves_no_item(
    api: Api, workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = ("agents", "conversations", "leads", "analytics", "credentials", "workspaces")
    before = {str(item) for item in items(*tables)}
    key = api.post("/v2/agents/support", {}).json["data"]["SECRET_API_KEY"]
    api.post("/v2/agents/support", {"SECRET_API_KEY": tokens.new(tokens.AGENT)})  # replaces the first key
    fill(api)

    def remaining_items() -> list[dict[str, Any]]:
        return [item for item in items(*tables) if str(item) not in before and "last_used_at" not in item]

    answer = api.delete("/v3/agents/support")
    assert answer.json == {"success": True, "message": "Agent deleted successfully"}
    assert [item.keys() for item in remaining_items()] == [
        {"partition", "item", "workspace", "agent_id", "deleted_at", "version_tag", "changed_by"}
    ]
    assert credentials.list_active(workspace.workspace_id, tokens.AGENT) == []
    assert Api(key).get("/v2/agents/support").status in (401, 404)
    second_run(pass_time)
    assert remaining_items() == []


def test_a_deleted_agent_is_404_on_every_route(api: Api, agent_id: str) -> None:
    api.delete("/v3/agents/support")
    assert api.get("/v3/agents/support").status == 404
    assert api.get(LIST).status == 404
    assert api.get("/v3/agents/support/tools").status == 404
    assert api.post("/v3/agents/support/tools", {"tool": {"name": "t"}}).status == 404
    assert api.post("/v3/agents/support/convos", {"conversation": {}}).status == 404
    assert api.post("/agents/support/interact/ann/state", {"turns": HUMAN}).status == 404
    assert api.post("/v2/agents/support/analytics/ann", {"record": "load"}).status == 404
    assert api.post("/v3/leads", lead_body()).status == 404
    assert api.get("/v3/agents/support/leads").status == 404
    assert api.patch("/v3/agents/support", {"agent": {"title": "New"}}).status == 404
    assert api.delete("/v3/agents/support/convos/ann").status == 404


def test_a_deletion_does_not_affect_other_agents(api: Api, agent_id: str) -> None:
    api.post("/v2/agents/support2", {})
    api.post("/agents/support2/interact/ann/state", {"turns": HUMAN})
    api.post("/v3/agents/support2/tools", {"tool": {"name": "t"}})
    api.delete("/v3/agents/support")
    assert len(api.get("/v2/agents/support2/convos").data) == len(api.get("/v3/agents/support2/tools").data) == 1


def test_a_new_agent_with_the_id_of_a_deleted_one_is_empty(api: Api, agent_id: str, pass_time: PassTime) -> None:
    fill(api)
    api.delete("/v3/agents/support")
    refused(api.post("/v2/agents/support", {}), 409, code="AGENT_BEING_DELETED")
    second_run(pass_time)
    assert api.post("/v2/agents/support", {}).status == 200
    assert (api.get(LIST).data, api.get("/v3/agents/support/tools").data) == ([], [])
    assert api.get("/v2/agents/support/analytics/ann").status == 404


def test_received_messages_with_items_of_their_own_are_deleted(
    api: Api, agent_id: str, stream: pipeline.Stream
) -> None:
    turns = [{"from": "human", "messages": [{"item": {"text": f"{number}"}} for number in range(1_000)]}]
    assert api.post("/agents/support/interact/ann/state", {"turns": turns}).status == 200
    assert [item for item in items("conversations") if item["item"]["S"].startswith("received#")]
    api.delete("/v3/agents/support")
    clear_deleted(stream)
    assert items("conversations") == []


def test_lists_of_agents_skip_tombstones_and_fill_their_pages(api: Api) -> None:
    for number in range(12):
        api.post(f"/v2/agents/a{number:02}", {})
    for number in (0, 1, 2, 3, 4, 6, 7, 11):
        assert api.delete(f"/v3/agents/a{number:02}").status == 200
    pages: list[list[str]] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = api.get(f"/v3/agents?limit=2{cursor}")
        pages.append([one["id"] for one in answer.data])
        cursor = f"&cursor={answer.json['nextCursor']}" if "nextCursor" in answer.json else None
    assert pages == [["a05", "a08"], ["a09", "a10"]]
