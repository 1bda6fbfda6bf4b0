"""The creation of a conversation through v3 (§4.1)."""

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
