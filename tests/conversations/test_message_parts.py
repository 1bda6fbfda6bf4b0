"""Texts in the parts of messages, which agent frameworks store."""

import csv
import io
from typing import Any

import pytest

from chalicelib.conversations import new_messages
from chalicelib.extensions import has
from tests.api import Api
from tests.builders import PART_ITEMS

EDGE, V3 = "/agents/support/interact/ann", "/v3/agents/support/convos/ann"
each_item = pytest.mark.parametrize("item", PART_ITEMS.values(), ids=PART_ITEMS)


@each_item
def test_the_text_reaches_lists_searches_and_exports(api: Api, item: dict[str, Any]) -> None:
    assert api.post(f"{EDGE}/messages", {"messages": [{"from": "human", "item": item}]}).status == 200
    (listed,) = api.get("/v3/agents/support/convos?q=hello").data
    assert listed["lastMessage"] == "Hello\nAnn"
    if not has("transcripts"):
        return
    assert len(api.get("/v3/agents/support/convos/search?q=ann").data) == 1
    (row,) = csv.DictReader(io.StringIO(api.get("/v3/agents/support/convos/export?format=csv").text))
    assert row["transcript"] == "human: Hello\nAnn"


@each_item
def test_the_text_is_the_content_of_the_event(item: dict[str, Any]) -> None:
    turn = {"from": "human", "messages": {"mid": "m1", "item": item}, "ts": 1}
    (received,), _ = new_messages.find_new_messages([turn], (), new_messages.Totals())
    assert received["content"] == "Hello\nAnn"


@pytest.mark.parametrize(
    "item",
    [
        {"content": []},
        {"parts": [5, None, "text", {"text": 5}, {"text": None}, {"type": "reasoning", "text": "Hm"}, [{"text": "a"}]]},
        {"content": [{"type": "tool_use", "name": "find", "input": {"text": "1010"}}]},
        {"content": {"parts": [{}]}},
    ],
)
def test_an_item_without_such_a_text_is_shown_as_json(item: dict[str, Any]) -> None:
    assert new_messages.text_of(item).startswith("{")


def test_a_launch_message_with_a_text_in_parts_counts_as_the_user_s() -> None:
    turn = {"from": "human", "messages": {"mid": "m1", "type": "launch", "item": PART_ITEMS["UIMessage"]}, "ts": 1}
    assert new_messages.is_of_user(turn)
    turn["messages"]["item"] = {"parts": [{"type": "step-start"}]}  # type: ignore[index]
    assert not new_messages.is_of_user(turn)
