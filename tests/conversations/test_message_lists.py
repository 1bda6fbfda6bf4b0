"""Lists of messages in both orders, on both routes, in pages and as whole transcripts."""

import json
import random
from typing import Any

import pytest

from chalicelib.conversations.transcript import parser, turns
from chalicelib.http import responses
from tests import costs
from tests.api import Api
from tests.assertions import refused
from tests.builders import message
from tests.capacity import metered
from tests.engine_requests import counted
from tests.listed_pages import flatten, follow_cursors, read_pages
from tests.selection import first_case

EDGE, V3 = "/agents/support/interact/ann", "/v3/agents/support/convos/ann"
LISTS = (f"{EDGE}/messages", f"{V3}/messages")
# Operation in docs/costs.csv -> its query.
COSTS = {
    "read a transcript of 1,000 messages": "order=asc",
    "list the oldest 100 of 1,000 messages": "order=asc&limit=100",
}
STRANGE = ['},{"a":1', "😀é", '"\\', ",{", "}]", ""]


@pytest.fixture
def adapter(api: Api) -> Api:
    """Return a client with the agent's key."""
    return Api(api.get("/v2/agents/support").json["SECRET_API_KEY"])


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split a transcript into many chunks that end anywhere, also in a character."""
    monkeypatch.setattr(turns, "_CHUNK_BYTES", 601)
    monkeypatch.setattr(turns, "_TAIL_BYTES", 100)


def add(api: Api, count: int, start: int = 0) -> None:
    """Add messages in requests of 50. Their texts have different lengths and look like JSON."""
    chance = random.Random(1)
    made = [
        message(STRANGE[number % 6] * chance.choice([1, 5, 60]), mid=f"m{number}", ts=number)
        for number in range(start, start + count)
    ]
    for first in range(0, count, 50):
        answer = api.post(f"{EDGE}/messages", {"messages": made[first : first + 50]})
        assert answer.status == 200, answer.text


def mids(messages: list[dict[str, Any]]) -> list[str]:
    return [one["mid"] for one in messages]


@first_case
@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("limit", [7, 40, 100])
def test_pages_in_both_orders_have_every_message_once(api: Api, small_chunks: None, limit: int, path: str) -> None:
    add(api, 120)
    expected = [f"m{number}" for number in range(120)]
    assert mids(flatten(read_pages(api, f"{path}?order=asc", limit))) == expected
    assert mids(flatten(read_pages(api, f"{path}?order=desc", limit))) == expected[::-1]
    assert mids(api.get(f"{path}?order=asc").data) == expected
    assert api.get(f"{path}?limit=3").json == api.get(f"{path}?limit=3&order=desc").json


def test_an_agent_key_reads_whole_pages_at_the_edge(api: Api, adapter: Api) -> None:
    add(adapter, 25)
    whole = adapter.get(f"{LISTS[0]}?order=asc")
    assert (mids(whole.data), whole.json["hasMore"]) == ([f"m{number}" for number in range(25)], False)
    assert whole.headers["etag"] == api.get(V3).headers["etag"]
    assert len(adapter.get(LISTS[0]).data) == 20
    assert adapter.get("/agents/other/interact/ann/messages").status == 403
    assert adapter.get(LISTS[1]).status == 403


def test_a_cursor_continues_while_messages_are_appended(api: Api) -> None:
    add(api, 6)
    first = api.get(f"{LISTS[0]}?order=asc&limit=4").json
    add(api, 3, start=6)
    rest = api.get(f"{LISTS[0]}?order=asc&cursor={first['nextCursor']}").json
    assert (mids(first["data"]), mids(rest["data"])) == (["m0", "m1", "m2", "m3"], ["m4", "m5", "m6", "m7", "m8"])
    assert api.get(f"{LISTS[0]}?order=asc&cursor=999999999").json["data"] == []


def test_an_empty_conversation_has_an_empty_page(api: Api) -> None:
    made = api.post("/v3/agents/support/convos", {"conversation": {"messagesNum": 9}}).data["id"]
    answer = api.get(f"/v3/agents/support/convos/{made}/messages?order=asc").json
    assert (answer["data"], answer["hasMore"], "nextCursor" in answer) == ([], False, False)


def test_uneven_messages_need_a_second_read(api: Api, small_chunks: None) -> None:
    """Large messages come first, so the estimated length contains too few messages."""
    for number in range(12):
        text = "x" * (2_000 if number < 6 else 1)
        api.post(f"{EDGE}/messages", {"messages": [message(text, mid=f"m{number}")]})
    with counted() as requests:
        assert mids(api.get(f"{LISTS[1]}?order=asc&limit=5").data) == [f"m{number}" for number in range(5)]
    assert requests == {"BatchGetItem": 3}


def test_the_last_page_reads_no_chunk(api: Api, small_chunks: None) -> None:
    add(api, 120)
    with counted() as requests:
        assert mids(api.get(f"{LISTS[1]}?order=asc&cursor=119").data) == ["m119"]
    assert requests == {"BatchGetItem": 1}


def test_a_transcript_that_exceeds_a_response_continues(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stored conversation fits, unless a release with a higher limit stored it."""
    add(api, 120)
    expected = api.get(f"{LISTS[0]}?order=asc").data
    monkeypatch.setattr(responses, "RESPONSE_LIMIT", responses.ENVELOPE + 3_000)
    pages = [page.data for page in follow_cursors(api, f"{LISTS[0]}?order=asc")]
    assert (flatten(pages), len(pages) > 2) == (expected, True)


@pytest.mark.parametrize("query", ["order=", "order=ASC", "order=newest", "order=asc&order=asc", "order=asc&after="])
def test_an_unknown_order_is_refused(api: Api, query: str) -> None:
    add(api, 1)
    for path in LISTS:
        refused(api.get(f"{path}?{query}"), 400, "after" if "after" in query else "order")


def test_any_beginning_of_any_turns_is_parsed() -> None:
    texts = [{"messages": {"mid": str(number), "item": {"text": text}}} for number, text in enumerate(STRANGE)]
    text = json.dumps([*texts, {"from": "bot"}, {"messages": {"mid": "last"}}], ensure_ascii=False).encode()
    text = text.replace(b", ", b",").replace(b": ", b":")
    complete = parser.all_messages(text)
    for length in range(len(text) + 1):
        messages = parser.first_messages(text[:length])
        assert messages == complete[: len(messages)]
    assert parser.first_messages(text) == complete


def test_a_whole_transcript_costs_one_request_for_the_row_and_one_for_the_chunks(api: Api) -> None:
    add(api, 1)
    chance = random.Random(2)
    sent = [message(chance.randbytes(150).hex(), mid=f"m{number}", ts=1) for number in range(1_000)]
    assert api.patch(LISTS[1], {"turns": [{"messages": [one]} for one in sent]}).status == 200
    for name, query in COSTS.items():
        with metered() as meter:
            listed = api.get(f"{LISTS[0]}?{query}").data
        assert mids(listed) == mids(sent)[: len(listed)]
        costs.check(name, meter)
