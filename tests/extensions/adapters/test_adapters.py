"""Sessions of agent frameworks: creation with a chosen id, and deletions with an agent key."""

from typing import Any

import pytest

from chalicelib.conversations import records
from tests import costs, extensions
from tests.agents.records import without
from tests.api import Answer, Api
from tests.assertions import refused
from tests.builders import message
from tests.capacity import metered
from tests.conftest import PassTime

extensions.require("adapters")

EDGE, V3 = "/agents/support/interact/ann", "/v3/agents/support/convos/ann"


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """Create the agent `support` for every test in this module."""


@pytest.fixture
def adapter(api: Api) -> Api:
    """Return a client with the agent's key."""
    return Api(api.get("/v2/agents/support").json["SECRET_API_KEY"])


def put(api: Api, path: str = V3, **members: Any) -> Answer:
    return api.call("PUT", path, {"conversation": members})


def add(api: Api, *mids: str) -> None:
    assert api.post(f"{EDGE}/messages", {"messages": [message(mid, mid=mid, ts=1) for mid in mids]}).status == 200


def test_a_conversation_is_created_and_then_changed(api: Api) -> None:
    made = put(api, title="Order", userName="Ann")
    assert (made.status, made.json["message"]) == (201, "Conversation created successfully")
    assert made.json["data"] | {"messages": []} == api.get(V3).data
    assert made.headers["etag"] == api.get(V3).headers["etag"]
    assert (made.json["data"]["ID"], made.json["data"]["userID"], made.json["data"]["messagesNum"]) == ("ann", "ann", 0)
    changed = put(api, title="Another")
    assert (changed.status, changed.data) == (200, made.json["data"] | {"title": "Another"})
    again = put(api, title="Another")
    assert (again.status, again.headers["etag"]) == (200, changed.headers["etag"])
    assert put(api, "/v3/agents/support/convos/empty").status == 201


def test_a_change_keeps_the_messages_and_the_state(api: Api) -> None:
    put(api, state="requested_chat")
    add(api, "m1")
    kept = put(api, title="Order").data | {"messagesNum": 1, "state": "requested_chat"}
    assert kept == without(api.get(V3).data, "messages")


def test_if_none_match_only_creates(api: Api) -> None:
    headers = {**api._headers, "Content-Type": "application/json", "If-None-Match": "*"}
    assert api.call("PUT", V3, {"conversation": {}}, headers).status == 201
    refused(api.call("PUT", V3, {"conversation": {"title": "x"}}, headers), 412)
    changing = {**api._headers, "Content-Type": "application/json", "If-Match": "*"}
    refused(api.call("PUT", f"{V3}-2", {"conversation": {}}, changing), 412)


def test_a_creation_never_replaces_a_concurrent_creation(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    real = records.save

    def save_after_another_request(*arguments: Any) -> Any:
        monkeypatch.undo()
        add(api, "m1")
        return real(*arguments)

    monkeypatch.setattr(records, "save", save_after_another_request)
    answer = put(api, title="Order")
    assert (answer.status, answer.data["title"], answer.data["messagesNum"]) == (200, "Order", 1)


def test_an_access_token_with_the_scope_creates_appends_and_reads(api: Api) -> None:
    def token(*scopes: str) -> Api:
        return Api(api.post("/v3/tokens", {"token": {"name": "adapter", "scopes": scopes}}).data["token"])

    writer, reader = token("conversations:write"), token("conversations:read")
    assert put(writer).status == 201
    assert writer.post(f"{V3}/messages", {"messages": [message("Hello", mid="m1")]}).status == 200
    assert [one["mid"] for one in reader.get(f"{V3}/messages?order=asc").data] == ["m1"]
    assert "conversations:write" in refused(put(reader), 403)
    assert "conversations:write" in refused(put(token("agents:write")), 403)
    assert refused(put(writer, "/v3/agents/none/convos/ann"), 404)


def test_an_expired_conversation_is_replaced(api: Api, pass_time: PassTime) -> None:
    assert api.patch("/v3/agents/support", {"agent": {"retention": {"days": 1}}}).status == 200
    put(api, title="Old")
    add(api, "m1")
    pass_time(86_400)
    made = put(api, userName="Ann")
    assert (made.status, made.json["data"].get("title"), made.json["data"]["messagesNum"]) == (201, None, 0)
    assert api.get(f"{V3}/messages").data == []
    pass_time(86_400)
    assert api.get(V3).status == 404


def test_an_agent_key_pops_the_newest_message_and_clears_the_conversation(api: Api, adapter: Api) -> None:
    add(adapter, "m1", "m2")
    (newest,) = adapter.get(f"{EDGE}/messages?limit=1").data
    assert adapter.delete(f"{EDGE}/messages/{newest['mid']}").status == 200
    refused(adapter.delete(f"{EDGE}/messages/{newest['mid']}"), 404)
    assert [one["mid"] for one in adapter.get(f"{EDGE}/messages?order=asc").data] == ["m1"]
    assert adapter.delete(EDGE).json == {"success": True, "message": "Conversation deleted successfully"}
    refused(adapter.delete(EDGE), 404)
    assert api.get(V3).status == 404


@pytest.mark.parametrize("path", ["", "/messages/m1"])
def test_a_deletion_needs_the_agent_s_own_key(api: Api, adapter: Api, path: str) -> None:
    add(api, "m1")
    visitor = Api(api.post(f"{EDGE}/visitor-tokens", {"token": {}}).data["token"])
    api.post("/v2/agents/other", {"title": "Other"})
    other = Api(api.get("/v2/agents/other").json["SECRET_API_KEY"])
    for caller in (visitor, other, Api(api.post("/v3/tokens", {"token": {"name": "all"}}).data["token"])):
        refused(caller.delete(EDGE + path), 403)
    assert adapter.delete(EDGE + path).status == 200


def test_a_deletion_with_an_outdated_tag_deletes_nothing(api: Api, adapter: Api) -> None:
    add(api, "m1")
    tag = adapter.get(f"{EDGE}/messages").headers["etag"]
    add(api, "m2")
    for path in (EDGE, f"{EDGE}/messages/m1"):
        refused(adapter.call("DELETE", path, headers={**adapter._headers, "If-Match": tag}), 412)
    assert api.get(V3).data["messagesNum"] == 2


def test_the_costs(api: Api, adapter: Api) -> None:
    put(api, f"{V3}-2")  # reads the workspace's retention days
    adapter.get(f"{EDGE}/messages")
    with metered() as meter:
        assert put(api, title="Order").status == 201
    costs.check("save a new conversation with a chosen id", meter)
    add(api, "m1", "m2")
    with metered() as meter:
        assert adapter.delete(f"{EDGE}/messages/m2").status == 200
    costs.check("delete a message at the edge", meter)
    with metered() as meter:
        assert adapter.delete(EDGE).status == 200
    costs.check("delete a conversation at the edge", meter)
