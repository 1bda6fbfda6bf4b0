"""Creating a conversation through the v3 API (§4.1)."""

from typing import Any

import pytest

from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.conversations.state import MAX_MESSAGES
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conversations.turns import items, message, mids, turns


def test_creating_a_conversation_returns_its_id_title_and_time(api: Api) -> None:
    created = api.post(
        "/v3/agents/support/convos", {"conversation": {"title": "First", "ts": 12, "userID": "ann"}}
    ).data
    assert set(created) == {"id", "title", "createdAt"}
    assert created["title"] == "First"
    assert created["createdAt"].endswith("Z")


def test_a_created_conversation_is_in_the_list_with_its_members(api: Api) -> None:
    given = {"ts": 12, "messagesNum": 3, "title": "First", "userID": "ann"}
    created = api.post("/v3/agents/support/convos", {"conversation": given}).data
    (listed,) = api.get("/v2/agents/support/convos").data
    assert (listed["ID"], listed["userID"], listed["ts"], listed["messagesNum"]) == (created["id"], "ann", 12, 3)
    assert "title" not in listed


@pytest.mark.parametrize(
    ("number", "rule"),
    [
        (-3, "must be greater than or equal to 0"),
        (MAX_MESSAGES + 1, "must be less than or equal to 30000"),
        (1e300, "must be less than or equal to 30000"),
        (1.5, "integer"),
        (True, "integer"),
    ],
)
def test_a_number_of_messages_is_a_whole_number_with_a_limit(number: Any, rule: str, api: Api) -> None:
    before = items()
    answer = api.post("/v3/agents/support/convos", {"conversation": {"messagesNum": number}})
    (issue,) = answer.json["issues"]
    assert (answer.status, issue["path"]) == (400, "conversation.messagesNum")
    assert rule in issue["message"]
    assert items() == before


@pytest.mark.parametrize("number", [0, 7.0, MAX_MESSAGES, None])
def test_a_valid_number_of_messages_is_stored(number: Any, api: Api) -> None:
    api.post("/v3/agents/support/convos", {"conversation": {"messagesNum": number}})
    assert api.get("/v2/agents/support/convos").data[0]["messagesNum"] == (number or 0)


@pytest.mark.parametrize("number", [-3, 1.5, 10**20, 1e300])
def test_a_stored_number_of_messages_of_a_new_conversation_is_harmless(
    number: Any, api: Api, workspace: NewWorkspace
) -> None:
    """An earlier version accepted any number as `messagesNum`."""
    created = api.post("/v3/agents/support/convos", {"conversation": {}}).data["id"]
    with storage.unit_of_work():
        row: Any = storage.find(*store.key(workspace.workspace_id, "support", created)[:3])
        before = store.read_metadata(row)
        store.save_metadata(row, before, {**before, "messagesNum": number})
    path = f"/v3/agents/support/convos/{created}"
    assert (api.get(path).status, api.get(f"{path}/messages").data) == (200, [])
    answer = api.post(f"/agents/support/interact/{created}/state", {"turns": turns(message("a"))})
    assert (answer.json["chatState"]["messagesNum"], len(api.get(f"{path}/messages").data)) == (1, 1)


def test_all_members_of_a_new_conversation_are_optional(api: Api) -> None:
    created = api.post("/v3/agents/support/convos", {"conversation": {}}).data
    assert api.get("/v2/agents/support/convos").data[0]["userID"] == created["id"]


def test_a_conversation_of_an_unknown_agent_is_not_created(api: Api) -> None:
    before = items()
    assert api.post("/v3/agents/unknown/convos", {"conversation": {}}).status == 404
    assert items() == before


def test_the_state_route_accepts_the_id_of_a_created_conversation(api: Api) -> None:
    created = api.post("/v3/agents/support/convos", {"conversation": {"title": "First"}}).data
    answer = api.post(f"/agents/support/interact/{created['id']}/state", {"turns": turns(message("a"))})
    assert mids(answer) == ["a"]
    assert len(api.get("/v2/agents/support/convos").data) == 1
