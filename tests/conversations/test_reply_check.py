"""`inReplyTo`: an author replies only to the newest message, and not while a person is chatting."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.conversations import reply_check
from tests.api import Answer, Api
from tests.assertions import refused
from tests.capacity import Meter, metered
from tests.conversations.turns import STATE, message, mids, turns
from tests.selection import first_case

EDGE = "/agents/support/interact/user-1/messages"
V3 = "/v3/agents/support/convos/user-1/messages"
ASSIGN = "/v3/agents/support/convos/user-1/assign"
ROUTES = pytest.mark.parametrize("route", [EDGE, V3])
# A question from the user, as the conversation in an error shows it.
QUESTION = {"mid": "question", "from": "human", "ts": 5}


def ask(api: Api, mid: str = "question") -> None:
    assert api.post(EDGE, {"messages": [message(mid, ts=5)]}).status == 200


def reply(api: Api, mid: str = "answer", to: Any = "question", route: str = EDGE) -> Answer:
    return api.post(route, {"messages": [message(mid, "bot", ts=6)], "inReplyTo": to})


def take_over(api: Api) -> None:
    assert api.post(ASSIGN, {"assignToUserId": None, "state": "human-chatting"}).status == 200


def new_client(api: Api) -> str:
    assert api.post("/v2/clients/agent-ann", {"name": "Ann", "email": "ann@example.com"}).status == 200
    return "agent-ann"


def rejected(answer: Answer, code: str) -> Any:
    """Assert a rejected reply. Return the conversation in the error."""
    conversation = answer.json.pop("conversation")
    refused(answer, 409, code=code)
    return conversation


@ROUTES
def test_a_reply_to_the_newest_message_is_added(route: str, api: Api) -> None:
    ask(api)
    assert reply(api, route=route).data == [message("answer", "bot", ts=6)]
    assert reply(api, "more", to="answer", route=route).status == 200
    assert mids(api.post(STATE)) == ["question", "answer", "more"]


@ROUTES
def test_a_reply_to_an_earlier_message_is_rejected_with_the_newest_one(route: str, api: Api) -> None:
    ask(api, "earlier")
    ask(api)
    expected = {"state": None, "chatAssignedTo": None, "newest": QUESTION}
    for seen in ("earlier", "unknown", ""):
        assert rejected(reply(api, to=seen, route=route), "OUTDATED") == expected
    assert mids(api.post(STATE)) == ["earlier", "question"]


@ROUTES
def test_a_reply_is_rejected_while_a_person_is_chatting(route: str, api: Api) -> None:
    ask(api)
    client_id = new_client(api)
    assert api.post(ASSIGN, {"assignToUserId": client_id}).status == 200
    expected = {"state": "human-chatting", "chatAssignedTo": client_id, "newest": QUESTION}
    assert rejected(reply(api, route=route), "HUMAN_CHATTING") == expected
    assert rejected(reply(api, to="earlier", route=route), "HUMAN_CHATTING") == expected
    assert api.post(route, {"messages": [message("by a person", "bot")]}).status == 200
    assert mids(api.post(STATE)) == ["question", "by a person"]


def test_a_reply_without_an_earlier_message_is_rejected(api: Api) -> None:
    assert rejected(reply(api), "OUTDATED") == {"state": None, "chatAssignedTo": None, "newest": None}
    assert api.get("/v2/agents/support/convos").data == []
    api.post(STATE, {"metadata": {"state": "requested_chat"}})
    assert rejected(reply(api), "OUTDATED") == {"state": "requested_chat", "chatAssignedTo": None, "newest": None}
    assert reply(api, to=None).status == 200


@ROUTES
def test_a_repeated_reply_is_answered_as_it_is_stored(route: str, api: Api) -> None:
    ask(api)
    first = reply(api, route=route)
    ask(api, "next question")
    take_over(api)
    assert reply(api, route=route).data == first.data
    repeated_and_new = {"messages": [message("answer"), message("new")], "inReplyTo": "question"}
    assert rejected(api.post(route, repeated_and_new), "HUMAN_CHATTING")["newest"]["mid"] == "next question"


@pytest.mark.parametrize(
    ("change", "code"),
    [(take_over, "HUMAN_CHATTING"), (lambda api: ask(api, "next"), "OUTDATED")],
    ids=["state", "newest"],
)
@first_case
def test_the_check_holds_for_the_version_that_is_written(
    change: Callable[[Api], None], code: str, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(api)
    check, changes = reply_check.require_turn, iter([change])

    def check_before_the_change(*arguments: Any) -> None:
        check(*arguments)
        for change in changes:
            change(api)

    monkeypatch.setattr(reply_check, "require_turn", check_before_the_change)
    assert rejected(reply(api), code)
    assert "answer" not in mids(api.post(STATE))


def test_another_change_does_not_reject_a_reply(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(api)
    check, names = reply_check.require_turn, iter(["Ann"])

    def check_before_the_change(*arguments: Any) -> None:
        check(*arguments)
        for name in names:
            assert api.post(STATE, {"metadata": {"userName": name}}).status == 200

    monkeypatch.setattr(reply_check, "require_turn", check_before_the_change)
    assert reply(api).status == 200


def test_the_newest_message_is_found_in_a_long_conversation(api: Api) -> None:
    """The newest message may begin in a chunk, and turns without messages may follow it."""
    many = [message(f"m{number}", text="x" * 400) for number in range(400)]
    for size in (10, 20_000, 200_000):
        last = message("last", text="x" * size)
        assert api.post(STATE, {"turns": [*turns(*many, last), {"from": "human"}]}).status == 200
        assert rejected(reply(api, to="m399"), "OUTDATED")["newest"]["mid"] == "last"
        assert reply(api, to="last").status == 200
        assert rejected(reply(api, "again", to="last"), "OUTDATED")["newest"]["mid"] == "answer"


def test_the_check_costs_nothing(api: Api) -> None:
    def cost(body: Any, code: str | None = None) -> Meter:
        with metered() as meter:
            assert api.post(EDGE, {"messages": [message("answer", "bot")], **body}).json.get("code") == code
        api.delete(f"{V3}/answer")
        return meter

    ask(api)
    plain, checked = cost({}), cost({"inReplyTo": "question"})
    assert (checked.requests, checked.reads, checked.writes) == (plain.requests, plain.reads, plain.writes)
    assert cost({"inReplyTo": "other"}, "OUTDATED").writes == 0


def test_a_visitor_sees_only_what_its_state_shows(api: Api) -> None:
    ask(api)
    client_id = new_client(api)
    assert api.post(ASSIGN, {"assignToUserId": client_id, "state": "other"}).status == 200
    issued = api.post("/agents/support/interact/user-1/visitor-tokens", {"token": {}}).data["token"]
    body = {"messages": [{"mid": "mine", "item": {"text": "Hi"}}], "inReplyTo": "earlier"}
    assert rejected(Api(issued).post(EDGE, body), "OUTDATED") == {"state": "other", "newest": QUESTION}
