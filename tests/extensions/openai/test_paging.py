"""Pages of items after an item, in both orders. A page must not read the whole transcript."""

import random
from typing import Any

import pytest

from chalicelib.conversations.transcript import message_index, turns
from tests import costs, extensions
from tests.api import Answer, Api
from tests.assertions import refused
from tests.builders import message
from tests.capacity import metered
from tests.selection import first_case

extensions.require("openai")

ITEMS = "/agents/support/openai/v1/conversations/ann/items"
MESSAGES = "/agents/support/interact/ann/messages"
STATE = "/agents/support/interact/ann/state"
STRANGE = ['},{"a":1', "😀é", '"\\', ",{", "}]", ""]


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """Create the agent `support` for every test in this module."""


def strange(start: int, count: int) -> list[dict[str, Any]]:
    """Return messages whose texts have different lengths and look like JSON."""
    chance = random.Random(start)
    return [
        message(STRANGE[number % 6] * chance.choice([1, 5, 60]), mid=f"m{number}", ts=number)
        for number in range(start, start + count)
    ]


def append(api: Api, count: int) -> None:
    """Add messages in requests of 50, which index all messages outside the conversation's item."""
    for start in range(0, count, 50):
        assert api.post(MESSAGES, {"messages": strange(start, min(50, count - start))}).status == 200


def replace(api: Api, count: int) -> None:
    """Store messages as a state, which indexes no message."""
    assert api.post(STATE, {"turns": [{"messages": [one]} for one in strange(0, count)]}).status == 200


def then_delete(api: Api, count: int) -> None:
    """Add messages, and delete some in the middle, so that the index items of later messages are stale."""
    append(api, count + 3)
    middle = count // 2
    assert api.post(STATE, {"delete": {"mids": [f"m{middle + number}" for number in range(3)]}}).status == 200


def then_edit(api: Api, count: int) -> None:
    """Add messages, and make some longer, so that their index items and those of later messages are stale."""
    append(api, count)
    for number in range(count // 2, count, 17):
        change = {"message": {"item": {"message": "},{" * 50}}}
        assert api.patch(f"/v3/agents/support/convos/ann/messages/m{number}", change).status == 200


def page(api: Api, query: str = "", path: str = ITEMS) -> Answer:
    answer = api.get(f"{path}?{query}")
    assert answer.status == 200, answer.text
    return answer


def walk(api: Api, query: str) -> list[str]:
    """Return the ids on all pages."""
    entries, after = [], ""
    while True:
        body = page(api, query + after).json
        assert (body["first_id"], body["last_id"]) == (body["data"][0]["id"], body["data"][-1]["id"])
        entries += [item["id"] for item in body["data"]]
        if not body["has_more"]:
            return entries
        after = f"&after={body['last_id']}"


@first_case
@pytest.mark.parametrize("count", [1, 6, 7, 120])
@pytest.mark.parametrize("store", [append, replace, then_delete, then_edit])
def test_pages_contain_every_item_once(store: Any, count: int, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_CHUNK_BYTES", 601)
    monkeypatch.setattr(turns, "_TAIL_BYTES", 100)
    store(api, count)
    expected = [one["mid"] for one in api.get(f"{MESSAGES}?order=asc").data]
    assert len(expected) == count
    assert walk(api, "order=asc&limit=7") == expected
    assert walk(api, "limit=7") == walk(api, "limit=100&order=desc") == expected[::-1]


def test_every_item_can_be_read_by_its_id(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_CHUNK_BYTES", 601)
    append(api, 60)
    for item in page(api, "limit=100").json["data"]:
        assert page(api, path=f"{ITEMS}/{item['id']}").json == item


def test_an_item_that_is_not_stored_has_no_page_after_it(api: Api) -> None:
    append(api, 3)
    for after in ("m9", "%C3%A9%23%20", "x" * 200):
        refused(api.get(f"{ITEMS}?after={after}"), 404)
    for after in ("", "x" * 201, "m1&after=m1"):
        refused(api.get(f"{ITEMS}?after={after}"), 400, "after")


def test_stale_index_items_are_not_used(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_CHUNK_BYTES", 601)
    append(api, 60)
    expected = walk(api, "order=asc&limit=7")
    real = message_index.MessageIndexRow.from_raw_data

    def stale(item: Any) -> Any:
        row = real(item)
        row.start, row.writing = row.start + 1, "another"
        return row

    monkeypatch.setattr(message_index.MessageIndexRow, "from_raw_data", staticmethod(stale))
    assert walk(api, "order=asc&limit=7") == expected


@pytest.mark.parametrize(
    ("order", "cost"),
    [("asc", "list 20 of 1,000 OpenAI items, asc"), ("desc", "list 20 of 1,000 OpenAI items, desc")],
)
def test_a_page_of_a_long_conversation_does_not_read_all_items(order: str, cost: str, api: Api) -> None:
    for start in range(0, 1_000, 50):
        texts = [f"{number:04} " + random.Random(number).randbytes(200).hex() for number in range(start, start + 50)]
        sent = [message(text, mid=f"m{start + index}") for index, text in enumerate(texts)]
        assert api.post(MESSAGES, {"messages": sent}).status == 200
    page(api)
    with metered() as meter:
        body = page(api, f"order={order}&after=m500").json
    expected = range(501, 521) if order == "asc" else range(499, 479, -1)
    assert [item["id"] for item in body["data"]] == [f"m{number}" for number in expected]
    costs.check(cost, meter)
    with metered() as meter:
        page(api, path=f"{ITEMS}/m500")
    costs.check("read one of 1,000 OpenAI items", meter)
