"""`conversation_state_changed` and `conversation_assigned`: one event per change, with the actor of the change."""

from typing import Any

import pytest

from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.webhooks import change
from chalicelib.workspaces.store import NewWorkspace
from infra import event_filters
from infra.operator import prices
from tests import generated_docs
from tests.api import Api
from tests.builders import webhook_body
from tests.capacity import metered
from tests.clients.test_clients import noise
from tests.webhooks.pipeline import Inbox, Stream, drain, events_of, fan_out
from tests.webhooks.test_conversation_price import invocations

PAGE = generated_docs.ROOT / "docs/webhooks.md"
STATE = "/agents/support/interact/ann/state"
CONVERSATION = "/v3/agents/support/convos/ann"
CHANGED, ASSIGNED = "conversation_state_changed", "conversation_assigned"
IDS = {"agentId": "support", "convoId": "ann"}


@pytest.fixture(autouse=True)
def conversation(stream: Stream, agent_id: str, api: Api) -> None:
    """Create a conversation without a state, and skip its stream records."""
    assert api.post(STATE, {"turns": []}).status == 200
    assert api.post("/v2/clients/bo", {"name": "Bo"}).status == 200
    stream.read()


def events(stream: Stream) -> list[tuple[str, Any]]:
    """Return the types and payloads of the new events, without times and actors. The function's filter applies."""
    records = [one for one in stream.read("conversations") if event_filters.of_function("fan_out_conversations")(one)]
    return [(one.type, {**IDS, **without(one.payload)}) for one in events_of(records)]


def without(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name not in ("createdAt", "actor")}


def set_state(api: Api, state: str | None) -> None:
    assert api.patch(CONVERSATION, {"conversation": {"state": state}}).status == 200


def test_each_change_of_the_state_causes_an_event(stream: Stream, api: Api) -> None:
    set_state(api, "requested_chat")
    set_state(api, "requested_chat")
    assert api.post(STATE, {"metadata": {"state": "ended_chat", "userName": "Ann"}}).status == 200
    assert api.patch(CONVERSATION, {"conversation": {"title": "Order"}}).status == 200
    assert api.post(STATE, {"metadata": {"userName": "Bo"}}).status == 200
    set_state(api, None)
    assert events(stream) == [
        (CHANGED, {**IDS, "after": "requested_chat", "state": "requested_chat"}),
        (CHANGED, {**IDS, "before": "requested_chat", "after": "ended_chat", "state": "ended_chat"}),
        (CHANGED, {**IDS, "before": "ended_chat"}),
    ]


def test_an_assignment_causes_an_event_for_each_changed_member(stream: Stream, api: Api) -> None:
    def assign(to: str | None, **state: str) -> None:
        assert api.post(f"{CONVERSATION}/assign", {"assignToUserId": to, **state}).status == 200

    assign("bo")
    assign(None, state="human-chatting")
    assign(None)
    with_person = {**IDS, "state": "human-chatting"}
    assert events(stream) == [
        (CHANGED, {**with_person, "after": "human-chatting", "assignee": "bo"}),
        (ASSIGNED, {**with_person, "after": "bo", "assignee": "bo"}),
        (ASSIGNED, {**with_person, "before": "bo"}),
        (CHANGED, {**IDS, "before": "human-chatting", "after": "ai-chatting", "state": "ai-chatting"}),
    ]


def test_a_new_conversation_with_a_state_causes_an_event(stream: Stream, api: Api) -> None:
    created = api.post("/v3/agents/support/convos", {"conversation": {"state": "requested_chat"}}).data["id"]
    expected = (
        CHANGED,
        {"agentId": "support", "convoId": created, "after": "requested_chat", "state": "requested_chat"},
    )
    assert events(stream) == [expected]
    assert api.delete(f"/v3/agents/support/convos/{created}").status == 200
    assert events(stream) == []


@pytest.mark.parametrize("text", ["Hello", noise(60_000)], ids=["in the item", "in a separate item"])
def test_a_write_can_contain_messages_and_a_transfer(text: str, stream: Stream, api: Api) -> None:
    turns = [{"from": "human", "messages": [{"item": {"text": text}}]}]
    body = {"turns": turns, "metadata": {"state": "requested_chat"}}
    assert api.post(STATE, body).status == 200
    assert sorted(type_ for type_, _ in events(stream)) == [CHANGED, "message_received"]
    assert api.post("/agents/support/interact/ann/messages", {"messages": [{"from": "bot"}]}).status == 200
    assert events(stream) == []


def test_the_actor_is_the_credential_of_the_change(stream: Stream, api: Api, workspace: NewWorkspace) -> None:
    token = api.post("/v3/tokens", {"token": {"name": "back#office"}}).data
    agent_key = api.get("/v2/agents/support").json["SECRET_API_KEY"]
    set_state(api, "a")
    set_state(Api(token["token"]), "b")
    assert Api(agent_key).post(STATE, {"metadata": {"state": "c"}}).status == 200
    changes = events_of(stream.read("conversations"))
    key, access, agent = (event.payload["actor"] for event in changes)
    assert (key["kind"], key.keys()) == ("workspace", {"kind", "id", "name"})
    assert access == {"kind": "access", "id": token["id"], "name": "back#office"}
    assert agent["kind"] == "agent"
    for secret in (token["token"], agent_key, workspace.workspace_key):
        assert secret not in repr([event.payload for event in changes])


def test_a_write_without_a_credential_has_no_actor(stream: Stream, workspace: NewWorkspace) -> None:
    row = store.find(store.key(workspace.workspace_id, "support", "ann").partition)
    assert row is not None
    before = store.read_metadata(row)
    with storage.unit_of_work():
        store.save_metadata(row, before, {**before, "state": "ended_chat"})
    (event,) = events_of(stream.read("conversations"))
    assert without(event.payload) == {**IDS, "after": "ended_chat", "state": "ended_chat"}
    assert "actor" not in event.payload


def test_the_previous_release_reads_a_transfer_as_a_write_without_messages(stream: Stream, api: Api) -> None:
    set_state(api, "requested_chat")
    (record,) = stream.read("conversations")
    image = change.from_record(record).new
    assert image is not None
    assert store.read_received(image)[1]["messages"] == []


def test_the_page_has_the_price_of_a_change_without_subscribers(stream: Stream, api: Api) -> None:
    set_state(api, "requested_chat")
    records = stream.read("conversations")
    with metered() as meter:
        fan_out(records)
    price = prices.units(meter.reads, meter.writes) + sum(invocations("fan_out_conversations", 1))
    assert (meter.total, f"{price * 1e6:.2f} dollars" in PAGE.read_text(encoding="utf-8")) == (1, True), price


def test_only_endpoints_that_list_the_types_receive_them(stream: Stream, api: Api, inbox: Inbox) -> None:
    others = ("message_received", "agent_updated", "client_updated")
    api.post("/v3/webhooks", webhook_body(inbox.url("both"), CHANGED, ASSIGNED))
    api.post("/v3/webhooks", webhook_body(inbox.url("one"), ASSIGNED))
    api.post("/v3/webhooks", webhook_body(inbox.url("none"), *others))
    assert api.post(f"{CONVERSATION}/assign", {"assignToUserId": "bo"}).status == 200
    fan_out(stream.read("conversations"))
    drain()
    received = sorted((post.path, post.body["type"]) for post in inbox.posts)
    assert received == [("/both", ASSIGNED), ("/both", CHANGED), ("/one", ASSIGNED)]
