"""A visitor token cannot set message times, and can rename its conversation only at a limited rate."""

from typing import Any

import pytest

from chalicelib import clock
from tests.api import Api
from tests.assertions import refused, stored
from tests.builders import message, state_body
from tests.conftest import PassTime
from tests.engine_requests import counted

STATE = "/agents/support/interact/ann/state"
MESSAGES = "/agents/support/interact/ann/messages"
TIMES = ("ts", "firstMessageTS", "lastMessageTS", "lastModified")


@pytest.fixture
def holder(api: Api, agent_id: str) -> Api:
    """Return a caller that has a visitor token for a conversation that does not exist yet."""
    return Api(api.post("/agents/support/interact/ann/visitor-tokens", {"token": {}}).data["token"])


def rename(caller: Api, name: str) -> Any:
    return caller.post(STATE, {"metadata": {"userName": name}})


# ---- times ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ts", [1, 4_000_000_000, -5.5, None])
def test_the_ts_of_a_message_is_the_time_of_the_service(
    api: Api, holder: Api, pass_time: PassTime, ts: float | None
) -> None:
    for text in ("First", "Second"):
        pass_time(60)
        answer = holder.post(MESSAGES, {"messages": [message(text, ts=ts, mid=text)]})
        assert (answer.status, answer.data[0]["ts"]) == (200, clock.seconds())
    now, state = clock.seconds(), api.post(STATE).json
    assert [turn["ts"] for turn in state["turns"]] == [now - 60, now]
    assert not [turn for turn in state["turns"] if "ts" in turn["messages"]]
    assert [state["chatState"][name] for name in TIMES] == [now - 60, now - 60, now, now]


@pytest.mark.parametrize("metadata", [{"ts": 1}, {"ts": 4_000_000_000, "userName": "Ann"}])
def test_the_ts_of_the_metadata_is_ignored(api: Api, holder: Api, pass_time: PassTime, metadata: Any) -> None:
    api.post(STATE, state_body("Hello"))
    began = clock.seconds()
    pass_time(60)
    answer = holder.post(STATE, {"metadata": metadata})
    assert (answer.status, answer.json["chatState"]["ts"]) == (200, began)
    assert answer.json["chatState"].get("userName") == metadata.get("userName")


def test_a_ts_alone_creates_no_conversation(api: Api, holder: Api) -> None:
    before = stored()["cams-conversations"]
    assert holder.post(STATE, {"metadata": {"ts": 1}}).status == 200
    assert stored()["cams-conversations"] == before


def test_the_key_of_the_agent_still_sets_times(api: Api, agent_id: str) -> None:
    key = Api(api.get("/v2/agents/support").json["SECRET_API_KEY"])
    assert key.post(MESSAGES, {"messages": [message("Hello", ts=7)]}).data[0]["ts"] == 7
    assert key.post(STATE, {"metadata": {"ts": 5}}).json["chatState"]["ts"] == 5


def test_only_a_server_sets_the_channel_of_a_message(api: Api, holder: Api) -> None:
    key = Api(api.get("/v2/agents/support").json["SECRET_API_KEY"])
    callers = {"visitor": holder, "server": key}
    sent = {name: one.post(MESSAGES, {"messages": [message(name, channel="chatapp")]}) for name, one in callers.items()}
    assert {name: answer.data[0].get("channel") for name, answer in sent.items()} == {
        "visitor": None,
        "server": "chatapp",
    }


# ---- renames --------------------------------------------------------------------------------------


def test_a_visitor_renames_itself_ten_times_in_a_row_then_once_in_six_minutes(
    api: Api, holder: Api, pass_time: PassTime
) -> None:
    assert [rename(holder, f"Ann {number}").status for number in range(10)] == [200] * 10
    before = stored()
    answer = rename(holder, "Once more")
    said = refused(answer, 429, interaction=True, platform="vg")
    assert said == (
        "A visitor token can change the metadata 10 times in a row, then once in 360 seconds; try again in 360 seconds."
    )
    assert answer.json["limit"] == {"name": "visitorChanges", "max": 10, "used": 10, "left": 0}
    assert stored() == before
    pass_time(359)
    assert "try again in 1 seconds." in refused(rename(holder, "Once more"), 429, interaction=True, platform="vg")
    pass_time(1)
    assert [rename(holder, f"Later {number}").status for number in range(2)] == [200, 429]
    pass_time(24 * 360)
    assert [rename(holder, f"Tomorrow {number}").status for number in range(11)] == [200] * 10 + [429]


@pytest.mark.parametrize("name", ["userName", "userEmail", "userPhone"])
def test_every_member_that_a_visitor_changes_counts(api: Api, holder: Api, pass_time: PassTime, name: str) -> None:
    statuses = [holder.post(STATE, {"metadata": {name: str(number)}}).status for number in range(11)]
    assert statuses == [200] * 10 + [429]


def test_another_token_of_the_conversation_does_not_help(api: Api, holder: Api, pass_time: PassTime) -> None:
    assert [rename(holder, f"Ann {number}").status for number in range(11)][-1] == 429
    another = Api(api.post("/agents/support/interact/ann/visitor-tokens", {"token": {}}).data["token"])
    assert rename(another, "Once more").status == 429


def test_only_a_change_of_a_visitor_counts(api: Api, holder: Api, pass_time: PassTime) -> None:
    for number in range(12):
        assert rename(api, f"By the server {number}").status == 200
        assert rename(holder, f"By the server {number}").status == 200  # changes nothing
        assert holder.post(MESSAGES, {"messages": [message(f"Hello {number}")]}).status == 200
    assert [rename(holder, f"Ann {number}").status for number in range(11)] == [200] * 10 + [429]
    assert rename(api, "By the server").status == 200
    assert rename(holder, "Once more").status == 429  # other writes do not reset the count
    assert holder.post(MESSAGES, {"messages": [message("Still here")]}).status == 200


def test_a_rename_costs_no_further_request(api: Api, holder: Api, pass_time: PassTime) -> None:
    rename(holder, "Ann")
    rename(holder, "Anna")
    with counted() as accepted:
        assert rename(holder, "Anne").status == 200
    for number in range(10):
        rename(holder, str(number))
    with counted() as rejected:
        assert rename(holder, "Once more").status == 429
    assert (accepted, rejected) == ({"BatchGetItem": 1, "PutItem": 1}, {"BatchGetItem": 1})
