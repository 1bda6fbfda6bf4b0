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
    form, texts = signed_in.open(PAGE), {"savedReplies.0.text": "Hello <b>\r\nHow are you?", "savedReplies.1.text": " "}
    assert "Saved." in signed_in.submit(form, PAGE, texts).text
    assert workspace_api.get("/v3/agents/support").data["savedReplies"] == ["Hello <b>\nHow are you?"]
    refused = signed_in.submit(form, PAGE, {"savedReplies.0.text": "Late"})
    assert (refused.status, ">\nLate</textarea>" in refused.text) == (412, True)
    text = "Hello &lt;b&gt;\nHow are you?"
    assert saved_replies(signed_in.open(CONVO).text) == [(text, text)]


def test_a_saved_reply_may_have_a_name(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    typed = {"savedReplies.0.name": "Hours <b>", "savedReplies.0.text": "From 9 to 17.", "savedReplies.1.text": "Bye"}
    signed_in.submit(signed_in.open(PAGE), PAGE, typed)
    stored = workspace_api.get("/v3/agents/support").data["savedReplies"]
    assert stored == [{"name": "Hours <b>", "text": "From 9 to 17."}, "Bye"]
    options = [("From 9 to 17.", "Hours &lt;b&gt;: From 9 to 17."), ("Bye", "Bye")]
    assert saved_replies(signed_in.open(CONVO).text) == options
    refused = signed_in.submit(signed_in.open(PAGE), PAGE, {**typed, "savedReplies.0.text": " "})
    assert (refused.status, 'id="wrong-savedReplies.0.text">Write a text' in refused.text) == (400, True)
    assert 'value="Hours &lt;b&gt;"' in refused.text


def test_replies_are_added_removed_and_moved_in_the_form(signed_in: Browser, workspace_api: Api) -> None:
    """Nothing is saved until the person saves the form."""
    workspace_api.patch("/v3/agents/support", {"agent": {"savedReplies": ["a", "b"]}})
    page, typed = signed_in.open(PAGE), {"savedReplies.0.text": "a", "savedReplies.1.text": "b changed"}
    for action, expected in (
        ("add", ["a", "b changed", ""]),
        ("remove.0", ["b changed"]),
        ("up.1", ["b changed", "a"]),
        ("up.0", None),
        ("up.x", None),
    ):
        answer = signed_in.submit(page, PAGE, {**typed, "action": action})
        assert (answer.status, texts(answer.text)) == (200, expected or ["a", "b changed"])
        assert ('class="changed"' in answer.text) is (expected is not None)
        if expected:
            assert workspace_api.get("/v3/agents/support").data["savedReplies"] == ["a", "b"]
    moved = signed_in.submit(signed_in.open(PAGE), PAGE, {**typed, "action": "up.1"})
    signed_in.submit(moved, PAGE, {f"savedReplies.{place}.text": text for place, text in enumerate(texts(moved.text))})
    assert workspace_api.get("/v3/agents/support").data["savedReplies"] == ["b changed", "a"]


def texts(page: str) -> list[str]:
    """Return the texts in the form for saved replies."""
    return re.findall(r'<textarea id="savedReplies[^>]*>\n([^<]*)</textarea>', page)


def test_without_the_script_a_button_inserts_the_text(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    page = signed_in.open(CONVO)
    answer = signed_in.submit(page, CONVO, {"action": "insert", "text": "Hi, ", "saved": "thanks <3", "note": "n"})
    assert (answer.status, composed(answer.text)) == (200, "Hi, thanks &lt;3")
    assert ">\nn</textarea>" in answer.text
    assert signed_in.submit(page, CONVO, {"action": "insert", "text": "", "saved": ""}).status == 200
    assert len(workspace_api.get("/v3/agents/support/convos/ann/messages").json["data"]) == 1


@pytest.mark.parametrize(
    "value",
    [5, "text", {"a": "b"}, [1, None, ["x"]], ["x" * 100_000], [{"name": "a"}], [{"name": 1, "text": "a"}]],
)
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
    signed_in.submit(form, PAGE, {"savedReplies.0.text": ""})
    assert "savedReplies" not in workspace_api.get("/v3/agents/support").data
