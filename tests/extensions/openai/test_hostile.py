"""Requests of hostile callers to the OpenAI operations, and messages of hostile visitors."""

from typing import Any
from urllib.parse import quote

import pytest

from chalicelib.workspaces import store as workspaces
from tests import extensions
from tests.api import Api
from tests.assertions import refused
from tests.builders import message
from tests.extensions.openai.support import CONVERSATION, ITEMS
from tests.operations import ROUTES

extensions.require("openai")

IDS = {"agent_id": "support", "convo_id": "ann", "message_id": "ann-1"}
ROOT = "/agents/support/openai/v1/conversations"
HELLO = {"role": "user", "content": "Hello"}


@pytest.fixture(autouse=True)
def conversations(api: Api, agent_id: str) -> None:
    """Create the conversations `ann` and `ben`, each with a message."""
    for name in ("ann", "ben"):
        path = f"/agents/support/interact/{name}/messages"
        assert api.post(path, {"messages": [message("Hello", mid=f"{name}-1")]}).status == 200


def test_other_credentials_are_rejected_by_every_operation(api: Api) -> None:
    visitor = api.post("/agents/support/interact/ann/visitor-tokens", {"token": {}}).data["token"]
    access = api.post("/v3/tokens", {"token": {"name": "All", "scopes": ["conversations:write"]}}).data["token"]
    assert api.post("/v2/agents/other", {"title": "Other"}).status in (200, 201)
    other = api.get("/v2/agents/other").json["SECRET_API_KEY"]
    stranger = workspaces.create("Strangers").workspace_key
    before = [api.get(f"/v3/agents/support/convos/{name}").text for name in ("ann", "ben")]
    for token, status in ((visitor, 403), (access, 403), (other, 403), (stranger, 404), (None, 401)):
        for route in ROUTES.values():
            if route.get("extension") == "openai":
                body = {"metadata": {}, "items": [HELLO]} if "body" in route else None
                body = {name: body[name] for name in route["body"]} if body else None
                refused(Api(token).call(route["method"], route["path"].format(**IDS), body), status)
    assert [api.get(f"/v3/agents/support/convos/{name}").text for name in ("ann", "ben")] == before


def test_items_belong_to_one_conversation(api: Api) -> None:
    for path in ("/ben/items/ann-1", "/ben/items?after=ann-1", "?after=unknown"):
        refused(api.get(ROOT + path), 404)
    refused(api.delete(f"{ROOT}/ben/items/ann-1"), 404)
    added = api.post(f"{ROOT}/ben/items", {"items": [{**HELLO, "id": "ann-1"}]}).json["data"]
    assert added[0]["content"][0]["text"] == "Hello"
    assert api.get(f"{ROOT}/ann/items").json["data"][0]["id"] == "ann-1"


def test_an_ids_rules_apply_to_pages_of_conversations(api: Api) -> None:
    for after in ("a%23b", "..", "x" * 129, "%F0%9F%98%80"):
        refused(api.get(f"{ROOT}?after={after}"), 400, "after")


@pytest.mark.parametrize("mid", ["m" * 5_000, "a b/é#?", "..", "😀", '"'])
def test_a_visitors_message_id_does_not_stop_the_pages(mid: str, api: Api) -> None:
    visitor = Api(api.post("/agents/support/interact/ann/visitor-tokens", {"token": {}}).data["token"])
    for own in (mid, "last"):
        sent = {"messages": [message("Hello", mid=own)]}
        assert visitor.post("/agents/support/interact/ann/messages", sent).status == 200
    for order, expected in (("asc", ["ann-1", None, "last"]), ("desc", ["last", None, "ann-1"])):
        listed, after = [], ""
        while True:
            body = api.get(f"{ROOT}/ann/items?limit=1&order={order}{after}").json
            listed.append(body["last_id"])
            after = f"&after={quote(body['last_id'], safe='')}"
            if not body["has_more"]:
                break
        assert [one if one in ("ann-1", "last") else None for one in listed] == expected
        assert all(len(one) <= 64 for one in listed)


def test_a_visitor_who_guesses_an_items_id_cannot_suppress_the_item(api: Api) -> None:
    visitor = Api(api.post("/agents/support/interact/ann/visitor-tokens", {"token": {}}).data["token"])
    guessed = {"messages": [message("Hello", mid="call-2")]}
    assert visitor.post("/agents/support/interact/ann/messages", guessed).status == 200
    call = {"type": "function_call", "call_id": "1", "name": "book", "arguments": "{}"}
    refused(
        api.post(f"{ROOT}/ann/items", {"items": [{**call, "id": "call-1"}, {**call, "id": "call-2"}]}),
        400,
        "items.1.id",
    )
    assert len(api.get(f"{ROOT}/ann/items").json["data"]) == 2
    repeated = [{**call, "id": "call-1"}, {**HELLO, "id": "call-2"}]
    for _ in range(2):
        assert api.post(f"{ROOT}/ann/items", {"items": repeated}).status == 200
    assert [one["id"] for one in api.get(f"{ROOT}/ann/items").json["data"]] == ["call-1", "call-2", "ann-1"]


def test_members_of_an_item_are_not_members_of_the_message(api: Api) -> None:
    item: dict[str, Any] = {"type": "x", "from": "human", "ts": 1, "mid": "m", "channel": "web", "id": "own"}
    assert api.post(f"{ROOT}/ann/items", {"items": [item]}).status == 200
    stored = api.get("/v3/agents/support/convos/ann/messages").data[0]
    assert (stored["from"], stored["mid"], stored["channel"]) == ("bot", "own", "openai") and stored["ts"] > 1
    changed = {"message": {"item": {"type": "x", "id": "forged"}}}
    assert api.patch("/v3/agents/support/convos/ann/messages/own", changed).status == 200
    assert api.get(f"{ROOT}/ann/items?limit=1").json["last_id"] == "own"


def test_a_repeated_key_returns_the_first_response_and_stores_once(api: Api) -> None:
    headers = {**api.event("GET", "/")["headers"], "Content-Type": "application/json", "Idempotency-Key": "one"}
    path = ITEMS.format(**IDS)
    first, second = (api.call("POST", path, {"items": [HELLO]}, headers) for _ in range(2))
    assert first.status == 200 and first.json == second.json
    refused(api.call("POST", path, {"items": [HELLO, HELLO]}, headers), 409, code="IDEMPOTENCY_KEY_REUSED")
    assert len(api.get(path).json["data"]) == 2


def test_a_body_beyond_the_limits_is_rejected(api: Api) -> None:
    path = ITEMS.format(**IDS)
    refused(api.post(path, {"items": [{"type": "x", "text": "x" * 2_000_000}]}), 413)
    refused(api.post(path, {"items": [{"type": "x", "list": [0] * 80_000}]}), 413)
    refused(api.post(path, {"items": [HELLO] * 21}), 400, "items")
    refused(api.post(path, b'{"items": [{"type": "x", "text": "\\ud800"}]}'), 400, "")
    assert len(api.get(path).json["data"]) == 1


def test_a_deleted_agent_has_no_conversations(api: Api) -> None:
    assert api.delete("/v3/agents/support").status == 200
    for route in (ROOT, CONVERSATION.format(**IDS), ITEMS.format(**IDS)):
        refused(api.get(route), 404)
    refused(api.post(ROOT, {}), 404)
    refused(api.post(ITEMS.format(**IDS), {"items": [HELLO]}), 404)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_visitors_message_id_does_not_repeat_pages(order: str, api: Api) -> None:
    """A visitor cannot choose two message ids with the same item id, one page apart."""
    visitor = Api(api.post("/agents/support/interact/ben/visitor-tokens", {"token": {}}).data["token"])

    def send(mid: str) -> None:
        sent = {"messages": [message("Hello", mid=mid)]}
        assert visitor.post("/agents/support/interact/ben/messages", sent).status == 200

    send("a/b")
    strange = api.get(f"{ROOT}/ben/items?limit=1").json["last_id"]
    for mid in ("1", "2", strange, "4", "5"):
        send(mid)
    pages, after = list[list[str]](), ""
    while len(pages) < 9:
        body = api.get(f"{ROOT}/ben/items?limit=3&order={order}{after}").json
        pages.append([item["id"] for item in body["data"]])
        after = f"&after={quote(body['last_id'], safe='')}"
        if not body["has_more"]:
            break
    listed = [mid for page in pages for mid in page]
    assert len(listed) == len(set(listed)) == 7
