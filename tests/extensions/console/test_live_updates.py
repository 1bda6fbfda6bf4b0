"""The address at which an open conversation page gets what is new, and sends replies."""

import re

import pytest

from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser, live_path
from tests.extensions.console.test_conversations import CONVO, reply
from tests.extensions.console.test_conversations import signed_in as signed_in


def test_news_contain_the_parts_that_follow_the_metadata(signed_in: Browser, workspace_api: Api) -> None:
    path = CONVO + live_path(signed_in.open(CONVO).text)
    changes = {"tags": ["refund"], "state": "ended_chat", "notes": "Call back"}
    assert workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": changes}).status == 200
    news = signed_in.open(path).text
    parts = ["state", "assigned", "assignee", "actions", "voice", "tags", "notes", "duration"]
    assert re.findall('data-part="([a-z]+)"', news) == parts
    assert 'value="refund"' in news and "Ended. A reply reopens it." in news
    assert "Reopen</button>" in news and 'value="end"' not in news


def test_the_live_address_shows_what_is_new_and_otherwise_nothing(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open(CONVO)
    first = CONVO + live_path(page.text)
    assert (signed_in.open(first).status, signed_in.open(first).text) == (204, "")
    reply(signed_in, page, "I am looking at it")
    changed = signed_in.open(first)
    assert (changed.status, "I am looking at it" in changed.text, "look?" in changed.text) == (200, True, False)
    assert "data-reset" not in changed.text and "With a person" in changed.text
    second = CONVO + live_path(changed.text)
    assert signed_in.open(second).status == 204
    workspace_api.post("/v3/agents/support/convos/ann/assign", {"assignToUserId": None})
    assigned = signed_in.open(second).text
    assert '<p class="assigned">AI</p>' in assigned and "With the AI" in assigned and "<article" not in assigned


def test_the_live_address_shows_each_of_two_edits_in_a_second(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    page = signed_in.open(CONVO)
    reply(signed_in, page, "I am looking at it")  # the metadata contains the last message
    (*_, message) = workspace_api.get("/v3/agents/support/convos/ann/messages").data
    path, answers = CONVO + live_path(page.text), []
    for text in ("first", "other"):
        edit = {"message": {"item": {"text": text}}}
        assert workspace_api.patch(f"/v3/agents/support/convos/ann/messages/{message['mid']}", edit).status == 200
        live = signed_in.open(path)
        answers.append((live.status, text in live.text, "data-reset" in live.text, live.text.count("<article")))
        path = CONVO + live_path(live.text)
        assert signed_in.open(path).status == 204
    assert answers == [(200, True, True, 2), (200, True, True, 2)]


@pytest.mark.parametrize("after", ["", "%00", "x" * 3_000, f"9-{'0' * 16}"], ids=["none", "NUL", "long", "unknown"])
def test_the_live_address_shows_the_transcript_whatever_position_it_gets(signed_in: Browser, after: str) -> None:
    answer = signed_in.open(f"{CONVO}/live?after={after}")
    assert (answer.status, "look?" in answer.text, "data-reset" in answer.text) == (200, True, True)


def test_a_script_sends_a_reply_and_gets_what_is_new(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open(CONVO)
    hidden = dict(re.findall(r'<input type="hidden" name="(form|mid)" value="([^"]*)"', page.text))
    path = "/agents/support/interact/ann/messages"
    workspace_api.post(path, {"messages": [{"from": "human", "item": {"text": "Hurry!"}}]})
    for _ in range(2):  # the second request repeats the first, as if its response had been lost
        answer = signed_in.post(CONVO + live_path(page.text), {**hidden, "text": "I am looking at it"})
        assert (answer.status, answer.text.count("<article"), "data-reset" in answer.text) == (200, 2, False)
        assert "Hurry!" in answer.text and "I am looking at it" in answer.text
        assert signed_in.open(CONVO + live_path(answer.text)).status == 204
    changed = signed_in.post(f"{CONVO}/live?after=9-{'0' * 16}", {**hidden, "text": "I am looking at it"})
    assert ("data-reset" in changed.text, changed.text.count("<article")) == (True, 3)
    assert signed_in.post(f"{CONVO}/live", {**hidden, "text": " "}).status == 400
    assert signed_in.post(f"{CONVO}/live", {"text": "Hello"}).status == 403


def test_earlier_messages_are_not_updated(signed_in: Browser) -> None:
    assert "data-live" in signed_in.open(CONVO).text
    assert "data-live" not in signed_in.open(f"{CONVO}?before=1").text
