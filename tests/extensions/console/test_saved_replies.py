"""Saved replies: people write them on an agent's page, and insert them into a reply."""

import re
from typing import Any

import pytest

from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.test_event_lines import CONVO, converse

AGENT = "/agents/support"
PAGE = f"{AGENT}/replies"
_MENU = re.compile(r'<div class="saved">.*?</div>', re.DOTALL)


def saved_replies(text: str) -> list[tuple[str, str]]:
    """Return the text and the name of each saved reply beside the composer."""
    menus = _MENU.findall(text)
    return re.findall('<option value="([^"]+)">([^<]*)</option>', menus[0]) if menus else []


def composed(text: str) -> str:
    """Return the text in the field for a reply."""
    (field,) = re.findall(r'<textarea id="text"[^>]*>\n([^<]*)</textarea>', text)
    return str(field)


def test_people_write_saved_replies_on_the_agents_page(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    page = signed_in.open(CONVO).text
    assert (saved_replies(page), f'{PAGE}">Add saved replies' in page) == ([], True)
    form, texts = signed_in.open(PAGE), {"savedReplies.0": "Hello <b>\r\nHow are you?", "savedReplies.1": " "}
    assert "Saved." in signed_in.submit(form, PAGE, texts).text
    assert workspace_api.get("/v3/agents/support").data["savedReplies"] == ["Hello <b>\nHow are you?"]
    refused = signed_in.submit(form, PAGE, {"savedReplies.0": "Late"})
    assert (refused.status, ">\nLate</textarea>" in refused.text) == (412, True)
    text = "Hello &lt;b&gt;\nHow are you?"
    assert saved_replies(signed_in.open(CONVO).text) == [(text, text)]


def test_without_the_script_a_button_inserts_the_text(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    page = signed_in.open(CONVO)
    answer = signed_in.submit(page, CONVO, {"action": "insert", "text": "Hi, ", "saved": "thanks <3", "note": "n"})
    assert (answer.status, composed(answer.text)) == (200, "Hi, thanks &lt;3")
    assert ">\nn</textarea>" in answer.text
    assert signed_in.submit(page, CONVO, {"action": "insert", "text": "", "saved": ""}).status == 200
    assert len(workspace_api.get("/v3/agents/support/convos/ann/messages").json["data"]) == 1


@pytest.mark.parametrize("value", [5, "text", {"a": "b"}, [1, None, ["x"]], ["x" * 100_000]])
def test_the_api_may_store_anything_in_the_member(value: Any, signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    assert workspace_api.patch("/v3/agents/support", {"agent": {"savedReplies": value}}).status == 200
    assert saved_replies(signed_in.open(CONVO).text) == []
    assert "do not fit on a page" in signed_in.open(PAGE).text
    signed_in.submit(signed_in.open(AGENT), AGENT, {"title": "Renamed"})
    agent = workspace_api.get("/v3/agents/support").data
    assert (agent["title"], agent["savedReplies"]) == ("Renamed", value)


def test_a_page_contains_at_most_200_saved_replies(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    for number, shown in ((200, 200), (201, 0)):
        texts = [*map(str, range(number))]
        assert workspace_api.patch("/v3/agents/support", {"agent": {"savedReplies": texts}}).status == 200
        assert len(saved_replies(signed_in.open(CONVO).text)) == shown


def test_an_empty_form_removes_all_saved_replies(signed_in: Browser, workspace_api: Api) -> None:
    assert workspace_api.patch("/v3/agents/support", {"agent": {"savedReplies": ["a"]}}).status == 200
    form = signed_in.open(PAGE)
    assert signed_in.submit(form, PAGE, {}).status == 200
    assert workspace_api.get("/v3/agents/support").data["savedReplies"] == ["a"]
    signed_in.submit(form, PAGE, {"savedReplies.0": ""})
    assert "savedReplies" not in workspace_api.get("/v3/agents/support").data
