"""A person's message takes over a conversation in the same commit (`assignToUserId` and `state`)."""

from typing import Any

import pytest

from chalicelib import clock
from chalicelib.workspaces import store as workspaces
from tests.api import Answer, Api
from tests.assertions import refused
from tests.capacity import metered
from tests.conftest import StopClock
from tests.conversations.turns import message

EDGE, V3 = "/agents/support/interact/user-1/messages", "/v3/agents/support/convos/user-1/messages"
CONVERSATION = "/v3/agents/support/convos/user-1"
ROUTES = pytest.mark.parametrize("route", [EDGE, V3])


@pytest.fixture
def waiting(api: Api) -> Api:
    """Return an API client of a workspace with two clients and a conversation that is waiting for a person."""
    for client_id in ("ann", "bo"):
        assert api.post(f"/v2/clients/{client_id}", {"name": client_id}).status == 200
    assert api.post(EDGE, {"messages": [message("question")], "state": "requested_chat"}).status == 200
    return api


def write(api: Api, mid: str, route: str = V3, **members: Any) -> Answer:
    return api.post(route, {"messages": [message(mid, "bot")], **members})


def voice(api: Api) -> tuple[str | None, str | None]:
    """Return the conversation's state and assignee."""
    record = api.get(CONVERSATION).data
    return record["state"], record.get("chatAssignedTo")


@ROUTES
def test_a_message_assigns_the_conversation_to_its_author(waiting: Api, route: str) -> None:
    assert voice(waiting) == ("requested_chat", None)
    assert write(waiting, "m1", route).status == 200
    assert voice(waiting) == ("requested_chat", None)
    assert write(waiting, "m2", route, assignToUserId="ann").status == 200
    assert voice(waiting) == ("human-chatting", "ann")
    assert write(waiting, "m3", route, assignToUserId="bo").status == 200
    assert voice(waiting) == ("human-chatting", "ann")
    assert write(waiting, "m4", route, inReplyTo="m3").json["code"] == "HUMAN_CHATTING"


def test_a_message_reopens_an_ended_conversation(waiting: Api) -> None:
    assert waiting.patch(CONVERSATION, {"conversation": {"state": "ended_chat"}}).status == 200
    assert write(waiting, "m1", assignToUserId="ann").status == 200
    assert voice(waiting) == ("human-chatting", "ann")


def test_a_message_sets_a_state_without_an_assignee(waiting: Api) -> None:
    assert write(waiting, "m1", state="human-chatting").status == 200
    assert voice(waiting) == ("human-chatting", None)
    assert write(waiting, "m2", state="ended_chat", assignToUserId="bo").status == 200
    assert voice(waiting) == ("ended_chat", "bo")


def test_a_repeated_message_takes_nothing_over_again(waiting: Api) -> None:
    write(waiting, "m1", assignToUserId="ann")
    waiting.post(f"{CONVERSATION}/assign", {"assignToUserId": None})
    assert write(waiting, "m1", assignToUserId="ann").status == 200
    assert voice(waiting) == ("ai-chatting", None)


def test_a_message_of_an_unknown_client_changes_nothing(waiting: Api) -> None:
    Api(workspaces.create("Rival").workspace_key).post("/v2/clients/eve", {"name": "Eve"})
    before = waiting.get(CONVERSATION).data
    for client_id in ("eve", "unknown"):
        refused(write(waiting, "m1", assignToUserId=client_id), 404)
    assert waiting.get(CONVERSATION).data == before


@pytest.mark.parametrize("members", [{"assignToUserId": "ann"}, {"state": "human-chatting"}], ids=str)
def test_a_visitor_assigns_nobody(waiting: Api, members: dict[str, str]) -> None:
    token = waiting.post("/agents/support/interact/user-1/visitor-tokens", {"token": {}}).data["token"]
    refused(Api(token).post(EDGE, {"messages": [message("m1")], **members}), 403)
    assert voice(waiting) == ("requested_chat", None)


def test_a_takeover_costs_no_request(waiting: Api, stop_clock: StopClock) -> None:
    stop_clock(clock.milliseconds() / 1000)  # a later second would change the index key
    with metered() as alone:
        write(waiting, "m1")
    with metered() as taking:
        write(waiting, "m2", assignToUserId="ann")
    assert taking.requests == alone.requests and taking.writes <= alone.writes
