"""Appending messages to a conversation: the stored items, the responses and the counts."""

from typing import Any

import pytest

from tests.api import Api

EDGE = "/agents/support/interact/ann/messages"
V3 = "/v3/agents/support/convos/ann/messages"
STATE = "/agents/support/interact/ann/state"


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """Create the agent `support` for every test in this module."""


def message(mid: str, sender: str = "human", **members: Any) -> dict[str, Any]:
    return {"mid": mid, "from": sender, "type": "text", "item": {"text": mid}, **members}


def mids(api: Api) -> list[str]:
    return [turn["messages"]["mid"] for turn in api.post(STATE).json["turns"]]


def test_messages_are_added_in_order_and_the_first_creates_the_conversation(api: Api) -> None:
    first = api.post(EDGE, {"messages": [message("a"), message("b", "bot")]})
    second = api.post(V3, {"messages": [message("c", ts=5)]})
    assert [one["mid"] for one in first.data] == ["a", "b"]
    assert second.data == [message("c", ts=5)]
    state = api.post(STATE)
    assert mids(api) == ["a", "b", "c"]
    assert state.headers["etag"] == second.headers["etag"] != first.headers["etag"]
    assert (state.json["chatState"]["messagesNum"], state.json["chatState"]["interactionsNum"]) == (3, 2)
    assert state.json["chatState"]["lastMessageTS"] == 5


def test_an_unknown_conversation_is_404_in_v3(api: Api) -> None:
    assert api.post(V3, {"messages": [message("a")]}).status == 404
    assert mids(api) == []


def test_a_stored_message_is_answered_as_it_is_stored(api: Api) -> None:
    api.post(EDGE, {"messages": [message("a", own=1)]})
    again = api.post(EDGE, {"messages": [message("a", own=2), message("b")]})
    assert [one.get("own") for one in again.data] == [1, None]
    assert mids(api) == ["a", "b"]
    tag = again.headers["etag"]
    assert api.post(EDGE, {"messages": [message("b")]}).headers["etag"] == tag


def test_a_message_without_mid_gets_a_new_one(api: Api) -> None:
    same = {"messages": [{"from": "human", "item": {"text": "hi"}}]}
    first, second = api.post(EDGE, same).data, api.post(EDGE, same).data
    assert mids(api) == [first[0]["mid"], second[0]["mid"]]
    assert first[0]["mid"] != second[0]["mid"]


# ---- long conversations ---------------------------------------------------------------------------


def long_text(number: int, size: int = 300) -> str:
    return f"message {number} " + "lorem ipsum é " * (size // 14)


def fill(api: Api, count: int, size: int = 300) -> list[str]:
    """Store messages through the state route; return their ids."""
    messages = [message(f"m{number}", item={"text": long_text(number, size)}) for number in range(count)]
    assert api.post(STATE, {"turns": [{"from": "human", "messages": messages}]}).status == 200
    return [one["mid"] for one in messages]


def test_a_repeated_message_is_found_wherever_it_is_stored(api: Api) -> None:
    """A message is stored in the conversation's own item, or in a chunk that the state route or an append wrote."""
    expected = fill(api, 700)
    for start in range(700, 1400, 50):
        added = [message(f"m{number}", item={"text": long_text(number)}) for number in range(start, start + 50)]
        assert api.post(EDGE, {"messages": added}).status == 200
        expected += [one["mid"] for one in added]
    assert mids(api) == expected
    for start in range(0, 1400, 50):
        again = [message(f"m{number}", item={"text": "changed"}) for number in range(start, start + 50)]
        answer = api.post(EDGE, {"messages": again})
        assert [one["item"]["text"] for one in answer.data] == [long_text(n) for n in range(start, start + 50)]
    assert mids(api) == expected


# ---- rejected requests, and changes to single messages -----------------------------------------------------


def test_a_message_is_changed_in_place_and_is_not_new(api: Api) -> None:
    api.post(EDGE, {"messages": [message("a", own=1), message("b")]})
    before = api.post(STATE).json
    changed = api.patch(f"{V3}/a", {"message": {"item": {"text": "new"}, "own": None, "mid": "a", "ts": 5}})
    expected = {"mid": "a", "from": "human", "type": "text", "item": {"text": "new"}, "ts": 5}
    assert changed.data == expected
    state = api.post(STATE)
    assert state.json["turns"] == [{"from": "human", "messages": expected, "ts": 5}, before["turns"][1]]
    assert state.headers["etag"] == changed.headers["etag"]
    assert state.json["chatState"]["firstMessageTS"] == 5


def test_the_sender_of_a_message_is_that_of_its_turn(api: Api) -> None:
    api.post(EDGE, {"messages": [message("a")]})
    api.patch(f"{V3}/a", {"message": {"from": "bot"}})
    assert api.post(STATE).json["turns"][0]["from"] == "bot"
    assert "from" not in api.patch(f"{V3}/a", {"message": {"from": None}}).data
    assert "from" not in api.post(STATE).json["turns"][0]


def test_an_unchanged_message_is_not_written(api: Api) -> None:
    tag = api.post(EDGE, {"messages": [message("a")]}).headers["etag"]
    assert api.patch(f"{V3}/a", {"message": {"type": "text"}}).headers["etag"] == tag


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PATCH", "/a", {"message": {"mid": "other"}}, 200),
        ("PATCH", "/a", {"message": {"mid": None}}, 200),
        ("PATCH", "/unknown", {"message": {}}, 404),
        ("DELETE", "/unknown", None, 404),
        ("POST", "", {"messages": []}, 400),
        ("POST", "", {"messages": [message("x"), message("x")]}, 400),
        ("POST", "", {"messages": [{}] * 51}, 400),
        ("PATCH", "", {"turns": [{"messages": [message("x"), message("x")]}]}, 400),
    ],
)
def test_a_refused_request_or_another_mid_changes_nothing(
    method: str, path: str, body: Any, status: int, api: Api
) -> None:
    tag = api.post(EDGE, {"messages": [message("a")]}).headers["etag"]
    assert api.call(method, V3 + path, body).status == status
    assert api.post(STATE).headers["etag"] == tag


def test_the_limits_of_the_agent_and_of_the_messages_hold(api: Api) -> None:
    api.patch("/v3/agents/support", {"agent": {"limits": {"maxInteractionsPerUserId": 2}}})
    assert api.post(EDGE, {"messages": [message("a"), message("b")]}).status == 200
    refused = api.post(EDGE, {"messages": [message("b"), message("c")]})
    assert (refused.status, refused.json["limit"]["used"]) == (429, 2)
    assert api.post(EDGE, {"messages": [message("b"), message("c", "bot")]}).status == 200
    assert api.delete(f"{V3}/a").status == 200
    assert api.post(EDGE, {"messages": [message("a")]}).status == 200
    assert mids(api) == ["b", "c", "a"]


def test_a_conversation_has_at_most_30000_messages(api: Api) -> None:
    full = [{"mid": str(number)} for number in range(29_999)]
    assert api.post(STATE, {"turns": [{"messages": full}]}).status == 200
    assert api.post(EDGE, {"messages": [message("a"), message("b")]}).status == 413
    assert api.post(EDGE, {"messages": [message("a")]}).status == 200
    assert api.post(EDGE, {"messages": [message("b")]}).status == 413


def test_the_turns_of_a_conversation_stay_readable(api: Api) -> None:
    for number in range(2):
        big = message(str(number), item={"text": "é" * 400_000})
        assert api.post(EDGE, {"messages": [big]}).status == 200
    assert api.post(EDGE, {"messages": [message("2", item={"text": "é" * 400_000})]}).status == 413
    assert api.post(EDGE, {"messages": [message("3")]}).status == 200
    assert mids(api) == ["0", "1", "3"]


def test_every_message_has_an_id_an_item_and_a_time(api: Api) -> None:
    (added,) = api.post(EDGE, {"messages": [{"from": None, "item": None}]}).data
    assert added.keys() == {"mid", "item", "ts"}
    assert added["item"] == {}
    assert api.get(V3).data == [added]


def test_replacing_and_deleting_messages(api: Api) -> None:
    api.post(EDGE, {"messages": [message("a"), message("b")]})
    replaced = api.patch(V3, {"turns": [{"messages": [message("b", ts=1), {"from": "bot", "ts": 2}]}]})
    made = replaced.data[1]["mid"]
    assert replaced.data == [message("b", ts=1), {"mid": made, "from": "bot", "item": {}, "ts": 2}]
    assert api.delete(f"{V3}/b").status == 200
    assert mids(api) == [made]
