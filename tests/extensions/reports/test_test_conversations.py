"""Conversations `try-…` with the tag `test` do not count, so that trying an agent costs its customer nothing."""

import random
from typing import Any

import pytest

from tests.api import Api
from tests.extensions.reports.test_reports import REPORT, STATE, Pipeline, counts_with, without_from
from tests.followers import follow

CONVERSATION = "/v3/agents/support/convos/try-ann"
TEST = {"tags": ["sales", "test"]}


@pytest.fixture
def pipeline(agent_id: str, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    return Pipeline(monkeypatch)


def write(api: Api, sender: str, **members: Any) -> None:
    body = {"messages": [{"from": sender, "item": {"text": "Hello"}}], **members}
    assert api.post("/agents/support/interact/try-ann/messages", body).status == 200


def totals(api: Api, pipeline: Pipeline) -> dict[str, Any]:
    pipeline.run()
    counted = without_from(api.get(REPORT).data["totals"])
    counted.pop("averageSeconds", None)  # the messages may be from one second or from two
    return counted


def test_nothing_in_a_test_conversation_counts(api: Api, pipeline: Pipeline) -> None:
    assert api.post(STATE.format("try-ann"), {"metadata": TEST}).status == 200
    write(api, "human", state="requested_chat")
    write(api, "bot", state="human-chatting")
    write(api, "human", state="ended_chat")
    assert totals(api, pipeline) == counts_with()
    assert api.post("/v3/agents/support/usage", {}).data["totals"]["conversations"] == 0


@pytest.mark.parametrize("tags", [None, [], ["Test"], ["tests", "a test"]])
def test_conversations_with_other_tags_count(api: Api, pipeline: Pipeline, tags: list[str] | None) -> None:
    assert api.post(STATE.format("try-ann"), {"metadata": {"tags": tags}}).status == 200
    write(api, "human")
    assert totals(api, pipeline) == counts_with(conversations=1, messages=1, interactions=1)


@pytest.mark.parametrize("conversation_id", ["ann", "retry-ann", "Try-ann"])
def test_a_visitors_conversation_with_the_tag_counts(api: Api, pipeline: Pipeline, conversation_id: str) -> None:
    turns = [{"from": "human", "messages": [{"item": {"text": "Hello"}}]}]
    assert api.post(STATE.format(conversation_id), {"metadata": TEST, "turns": turns}).status == 200
    assert totals(api, pipeline) == counts_with(conversations=1, messages=1, interactions=1)


def test_changes_count_until_the_tag_is_added_and_after_it_is_removed(api: Api, pipeline: Pipeline) -> None:
    write(api, "human")
    assert api.patch(CONVERSATION, {"conversation": {**TEST, "state": "requested_chat"}}).status == 200
    write(api, "bot")
    assert api.patch(CONVERSATION, {"conversation": {"tags": []}}).status == 200
    write(api, "human")
    assert totals(api, pipeline) == counts_with(conversations=1, messages=2, interactions=2)


def test_repeated_and_reordered_records_of_tests_do_not_count(api: Api, pipeline: Pipeline) -> None:
    write(api, "human")
    for text in ("Hello", "Hello?"):
        body = {"turns": [{"from": "human", "messages": [{"item": {"text": text}}]}], "metadata": TEST}
        assert api.post(STATE.format("try-bo"), body).status == 200
    records = pipeline.stream.read("conversations") * 3
    random.Random(1).shuffle(records)
    for record in records:
        follow("conversations", [record])
    assert totals(api, pipeline) == counts_with(conversations=1, messages=1, interactions=1)
