"""The state route: its responses, the changes that it stores, and the requests that it rejects (§4.3)."""

import json
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.conversations import store, transcript
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conversations.turns import STATE, items, message, mids, turns


def read_stored_state(workspace: NewWorkspace, conversation_id: str = "user-1") -> Any:
    row: Any = storage.find(*store.key(workspace.workspace_id, "support", conversation_id)[:3])
    return row and transcript.read_state(row)


def test_the_answer_has_exactly_the_documented_members(api: Api) -> None:
    answer = api.post(STATE, {"turns": turns(message("a")), "metadata": {"origin": "web-chat"}})
    assert set(answer.json) == {
        "platformName", "success", "message", "chatState", "actionMessages", "turns", "agentData",
        "origin", "userID", "agentID", "oldTurns",
    }  # fmt: skip
    assert (answer.json["platformName"], answer.json["success"]) == ("vg", True)
    assert (answer.json["userID"], answer.json["agentID"], answer.json["origin"]) == ("user-1", "support", "web-chat")
    assert answer.json["agentData"] == api.get("/v2/agents/support").json


@pytest.mark.parametrize("body", [None, {}], ids=["no body", "no member"])
def test_without_a_member_the_route_only_reads(body: Any, api: Api) -> None:
    before = items()
    answer = api.post(STATE, body)
    assert (answer.status, answer.json["turns"], answer.json["oldTurns"]) == (200, [], [])
    assert items() == before


def test_written_turns_are_stored_and_read_back(api: Api, workspace: NewWorkspace) -> None:
    written = api.post(STATE, {"turns": turns(message("a", ts=1), message("b", "bot", ts=2))})
    assert api.post(STATE).json["turns"] == written.json["turns"]
    assert json.loads(read_stored_state(workspace).turns) == written.json["turns"]


def test_old_turns_are_the_turns_before_the_change(api: Api) -> None:
    api.post(STATE, {"turns": turns(message("a"))})
    answer = api.post(STATE, {"turns": turns(message("b"))})
    assert (mids(answer, "oldTurns"), mids(answer)) == (["a"], ["b"])


def test_one_request_deletes_messages_and_merges_metadata(api: Api, workspace: NewWorkspace) -> None:
    api.post(STATE, {"turns": turns(message("a"), message("b"))})
    answer = api.post(STATE, {"delete": {"mids": ["a"]}, "metadata": {"userName": "Ann"}})
    assert mids(answer) == ["b"]
    assert (answer.json["chatState"]["userName"], answer.json["chatState"]["messagesNum"]) == ("Ann", 1)
    assert read_stored_state(workspace).metadata["userName"] == "Ann"


def test_a_change_that_changes_nothing_writes_nothing(api: Api) -> None:
    api.post(STATE, {"turns": turns(message("a")), "metadata": {"userName": "Ann"}})
    before = items()
    api.post(STATE, {"metadata": {"userName": "Ann"}, "delete": {"mids": ["unknown"]}})
    assert items() == before


def test_an_unknown_agent_is_404_in_the_interaction_shape(api: Api) -> None:
    answer = api.post("/agents/unknown/interact/user-1/state", {"turns": []})
    assert (answer.status, answer.json["success"], answer.json["code"]) == (404, False, "NOT_FOUND")
    assert answer.json["appError"] == answer.json["message"]


def test_two_workspaces_may_have_conversations_with_the_same_id(api: Api, other_workspace: NewWorkspace) -> None:
    other = Api(other_workspace.workspace_key)
    other.post("/v2/agents/support", {})
    api.post(STATE, {"turns": turns(message("ours"))})
    assert other.post(STATE).json["turns"] == []


def test_any_members_of_a_turn_are_kept(api: Api) -> None:
    item = {"": None, "deep": [[[{"x": 1e300}]]], "😀": "é\u2028", "big": 10**30, "three": 3, "half": 3.5}
    written = api.post(STATE, {"turns": turns(message("a", item=item, own=[1, {}]))})
    (turn,) = api.post(STATE).json["turns"]
    assert turn == written.json["turns"][0]
    assert (turn["messages"]["item"], turn["messages"]["own"]) == (item, [1, {}])
    assert '"three":3,"half":3.5' in written.text


def test_an_equal_message_can_be_appended_to_the_turns_of_an_answer(api: Api) -> None:
    yes = {"from": "human", "type": "text", "item": {"text": "yes"}}
    read = api.post(STATE, {"turns": turns(yes)}).json["turns"]
    appended = [{"messages": [turn["messages"]]} for turn in read] + turns(yes)
    answer = api.post(STATE, {"turns": appended})
    assert (answer.status, len(set(mids(answer)))) == (200, 2)


def test_deleting_messages_of_an_unknown_conversation_does_not_create_it(api: Api) -> None:
    before = items()
    assert api.post(STATE, {"delete": {"mids": ["a"]}}).status == 200
    assert items() == before
