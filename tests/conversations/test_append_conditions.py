"""Appends that only create a conversation (`If-None-Match: *`), and appends that replace messages (`replace`)."""

from typing import Any

import pytest

from chalicelib.conversations import records
from chalicelib.conversations.transcript import turns
from tests import costs
from tests.api import Answer, Api
from tests.assertions import refused
from tests.builders import message
from tests.capacity import metered

EDGE, V3 = "/agents/support/interact/ann", "/v3/agents/support/convos/ann"
ROUTES = (f"{EDGE}/messages", f"{V3}/messages")
each_route = pytest.mark.parametrize("path", ROUTES)


def part(mid: str, text: str, **members: Any) -> dict[str, Any]:
    return message(text, mid=mid, **members)


def add(api: Api, *messages: dict[str, Any], path: str = ROUTES[0], **members: Any) -> Answer:
    return api.post(path, {"messages": [*messages], **members})


def create(api: Api, *messages: dict[str, Any], path: str) -> Answer:
    headers = {**api._headers, "Content-Type": "application/json", "If-None-Match": "*"}
    return api.call("POST", path, {"messages": [*messages]}, headers)


def texts(api: Api) -> dict[str, str]:
    return {one["mid"]: one["item"]["text"] for one in api.get(f"{ROUTES[0]}?order=asc").data}


# ---- If-None-Match: * ------------------------------------------------------------------------------


@each_route
def test_an_append_can_require_that_the_conversation_is_new(api: Api, path: str) -> None:
    made = create(api, part("m1", "first"), path=path)
    assert made.status == 200
    assert made.headers["etag"] == api.get(V3).headers["etag"]
    refused(create(api, part("m2", "second"), path=path), 412)
    assert texts(api) == {"m1": "first"}


def test_without_the_header_v3_requires_an_existing_conversation(api: Api) -> None:
    refused(add(api, part("m1", "first"), path=ROUTES[1]), 404)
    refused(create(api, part("m1", "first"), path="/v3/agents/none/convos/ann/messages"), 404)


@each_route
def test_one_of_two_concurrent_creations_fails(api: Api, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = records.save

    def save_second(*arguments: Any) -> Any:
        monkeypatch.undo()
        assert create(api, part("m1", "winner"), path=path).status == 200
        return real(*arguments)

    monkeypatch.setattr(records, "save", save_second)
    refused(create(api, part("m1", "loser"), path=path), 412)
    assert texts(api) == {"m1": "winner"}


# ---- replace ---------------------------------------------------------------------------------------


@each_route
def test_a_message_grows_under_its_mid(api: Api, path: str) -> None:
    add(api, part("m1", "Hello", ts=1, **{"from": "human"}), part("m2", "It", ts=2, own=1, **{"from": "bot"}))
    grown = add(api, part("m2", "It is", **{"from": "bot"}), part("m3", "new"), path=path, replace=True)
    assert grown.data[0] == {**part("m2", "It is"), "from": "bot", "ts": 2}
    assert texts(api) == {"m1": "Hello", "m2": "It is", "m3": "new"}
    assert api.get(f"{ROUTES[0]}?order=asc").data[1:] == grown.data
    conversation = api.get(V3).data
    assert (conversation["messagesNum"], conversation["interactionsNum"]) == (3, 1)
    assert conversation["lastMessage"] == "new"


def test_a_message_keeps_the_sender_and_time_that_the_change_omits(api: Api) -> None:
    add(api, part("m1", "Hello", ts=5, **{"from": "human"}))
    assert add(api, part("m1", "Hi"), replace=True).data == [{**part("m1", "Hi"), "from": "human", "ts": 5}]
    changed = add(api, part("m1", "Hi", ts=6, **{"from": "bot"}), replace=True)
    assert (changed.data[0]["from"], changed.data[0]["ts"]) == ("bot", 6)
    assert api.get(V3).data["interactionsNum"] == 0


@pytest.mark.parametrize("replace", [None, False, True])
def test_an_equal_message_changes_nothing(api: Api, replace: bool | None) -> None:
    tag = add(api, part("m1", "Hello")).headers["etag"]
    again = add(api, part("m1", "Hello"), replace=replace)
    assert (again.status, again.headers["etag"]) == (200, tag)
    other = add(api, part("m1", "Other"), replace=replace)
    assert texts(api) == {"m1": "Other" if replace else "Hello"}
    assert (other.headers["etag"] == tag) is not bool(replace)


def test_a_replaced_message_is_not_new(api: Api) -> None:
    api.patch("/v3/agents/support", {"agent": {"messagesLimit": 1}})
    add(api, part("m1", "Hello", **{"from": "human"}))
    assert add(api, part("m1", "Hello again", **{"from": "human"}), replace=True).status == 200
    refused(add(api, part("m1", "Bye"), part("m2", "More"), replace=True), 429)
    assert texts(api) == {"m1": "Hello again"}


def test_messages_in_chunks_are_replaced(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_CHUNK_BYTES", 600)
    monkeypatch.setattr(turns, "_TAIL_BYTES", 100)
    for number in range(40):
        add(api, part(f"m{number}", "x" * 50))
    expected = {f"m{number}": "x" * 50 for number in range(40)}
    for number in (0, 17, 39, 17):
        expected[f"m{number}"] += f" grown é {number}"
        assert add(api, part(f"m{number}", expected[f"m{number}"]), replace=True).status == 200
        expected[f"n{number}"] = "after"
        assert add(api, part(f"n{number}", "after")).status == 200
        assert texts(api) == expected
    again = add(api, *(part(f"m{number}", "ignored") for number in range(40)))
    assert [one["item"]["text"] for one in again.data] == [expected[f"m{number}"] for number in range(40)]


def test_a_grown_message_has_the_limit_of_a_transcript(api: Api) -> None:
    add(api, part("m1", "x" * 1_900_000))
    add(api, part("m2", "short"))
    refused(add(api, part("m2", "y" * 300_000), replace=True), 413)
    assert texts(api)["m2"] == "short"


def test_a_reply_grows_although_it_is_the_newest_message_or_a_person_has_taken_over(api: Api) -> None:
    add(api, part("m1", "Hello", **{"from": "human"}))
    add(api, part("m2", "It"), inReplyTo="m1")
    assert add(api, part("m2", "It is"), inReplyTo="m1", replace=True).status == 200
    late = add(api, part("m2", "It is 1"), part("m3", "new"), inReplyTo="m1", replace=True)
    assert (late.status, late.json["code"]) == (409, "OUTDATED")
    api.post(f"{EDGE}/state", {"metadata": {"state": "human-chatting"}})
    assert add(api, part("m2", "It is 5"), inReplyTo="m1", replace=True).status == 200
    assert texts(api) == {"m1": "Hello", "m2": "It is 5"}


def test_pollers_get_the_grown_message(api: Api) -> None:
    first = add(api, part("m1", "Hello"), path=f"{ROUTES[0]}?after=")
    add(api, part("m2", "It"))
    grown = add(api, part("m2", "It is"), path=f"{ROUTES[0]}?after={first.json['after']}", replace=True)
    assert (grown.json["reset"], [one["item"]["text"] for one in grown.data]) == (False, ["It is"])
    second = api.get(f"{ROUTES[0]}?after={grown.json['after']}")
    add(api, part("m2", "It is 5"), replace=True)
    assert api.get(f"{ROUTES[0]}?after={second.json['after']}").json["reset"] is True


def test_a_visitor_cannot_replace(api: Api) -> None:
    add(api, part("m1", "bot's", **{"from": "bot"}))
    visitor = Api(api.post(f"{EDGE}/visitor-tokens", {"token": {}}).data["token"])
    assert "replace" in refused(add(visitor, part("m1", "mine"), replace=True), 403)
    assert add(visitor, part("m2", "mine"), replace=False).status == 200
    assert texts(api) == {"m1": "bot's", "m2": "mine"}


def test_the_cost_of_a_replacement(api: Api) -> None:
    add(api, part("m1", "Hello"), part("m2", "It"))
    with metered() as meter:
        add(api, part("m2", "It is"), replace=True)
    costs.check("replace a message", meter)
