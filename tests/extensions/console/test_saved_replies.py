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
    options = re.findall('<option value="([^"]+)">(.*?)</option>', menus[0], re.DOTALL) if menus else []
    return [(value, re.sub("<[^>]+>", "", shown)) for value, shown in options]


def composed(text: str) -> str:
    """Return the text in the field for a reply."""
    (field,) = re.findall(r'<textarea id="text"[^>]*>\n([^<]*)</textarea>', text)
    return str(field)


def test_people_write_saved_replies_on_the_agents_page(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    page = signed_in.open(CONVO).text
    assert (saved_replies(page), f'{PAGE}?from=/convos/support/ann" title="Add saved replies"' in page) == ([], True)
    assert re.findall("<option[^>]* disabled><strong>([^<]*)<", page) == ["No saved replies for this agent yet"]
    form, texts = signed_in.open(PAGE), {"reply.0.text": "Hello <b>\r\nHow are you?", "reply.1.text": " "}
    assert "Saved." in signed_in.submit(form, PAGE, texts).text
    assert workspace_api.get("/v3/agents/support").data["savedReplies"] == ["Hello <b>\nHow are you?"]
    refused = signed_in.submit(form, PAGE, {"reply.0.text": "Late"})
    assert (refused.status, ">\nLate</textarea>" in refused.text) == (412, True)
    text = "Hello &lt;b&gt;\nHow are you?"
    assert saved_replies(signed_in.open(CONVO).text) == [(text, text)]


def test_a_saved_reply_may_have_a_name(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    typed = {"reply.0.name": "Hours <b>", "reply.0.text": "From 9 to 17.", "reply.1.text": "Bye"}
    signed_in.submit(signed_in.open(PAGE), PAGE, typed)
    stored = workspace_api.get("/v3/agents/support").data["savedReplies"]
    assert stored == [{"name": "Hours <b>", "text": "From 9 to 17."}, "Bye"]
    options = [("From 9 to 17.", "Hours &lt;b&gt;: From 9 to 17."), ("Bye", "Bye")]
    assert saved_replies(signed_in.open(CONVO).text) == options
    refused = signed_in.submit(signed_in.open(PAGE), PAGE, {**typed, "reply.0.text": " "})
    assert (refused.status, 'id="wrong-reply.0.text">Write a text' in refused.text) == (400, True)
    assert 'value="Hours &lt;b&gt;"' in refused.text


def test_replies_are_removed_and_moved_in_the_form(signed_in: Browser, workspace_api: Api) -> None:
    """Nothing is saved until the person saves the form, which ends with an empty reply."""
    store(workspace_api, ["a", "b"])
    page, typed = signed_in.open(PAGE), {"reply.0.text": "a", "reply.1.text": "b changed", "reply.2.text": ""}
    assert texts(page.text) == ["a", "b", ""]
    for action, expected in (
        ("remove.0", ["b changed", ""]),
        ("up.1", ["b changed", "a", ""]),
        ("example", ["a", "b changed", "We are open every day from 9 to 17.", ""]),
    ):
        answer = signed_in.submit(page, PAGE, {**typed, "action": action})
        assert (answer.status, texts(answer.text), 'class="changed"' in answer.text) == (200, expected, True)
        assert stored(workspace_api) == ["a", "b"]
    for action in ("up.x", "remove.", "remove.3", "up.-1", "delete"):
        answer = signed_in.submit(page, PAGE, {**typed, "action": action})
        assert (answer.status, texts(answer.text)) == (400, ["a", "b changed", ""])
        assert "Enter your changes again" in answer.text
    moved = signed_in.submit(signed_in.open(PAGE), PAGE, {**typed, "action": "up.1"})
    signed_in.submit(moved, PAGE, {f"reply.{place}.text": text for place, text in enumerate(texts(moved.text))})
    assert stored(workspace_api) == ["b changed", "a"]


def test_a_change_elsewhere_is_shown_once_and_then_replaced(signed_in: Browser, workspace_api: Api) -> None:
    store(workspace_api, ["a", {"name": "Hours", "text": "9 to 17"}])
    page, typed = signed_in.open(PAGE), {"reply.0.text": "a", "reply.1.name": "Hours", "reply.1.text": "8 to 16"}
    store(workspace_api, ["a", {"name": "Hours", "text": "10 to 18"}])
    conflict = signed_in.submit(page, PAGE, typed)
    assert (conflict.status, texts(conflict.text)) == (412, ["a", "8 to 16", ""])
    assert "Someone else has saved this" in conflict.text
    assert "<del>- 10 to 18</del><ins>+ 8 to 16</ins>" in conflict.text
    assert "<h3>Saved replies › <code>Hours</code>" in conflict.text
    assert stored(workspace_api) == ["a", {"name": "Hours", "text": "10 to 18"}]
    assert "Saved." in signed_in.submit(conflict, PAGE, typed).text
    assert stored(workspace_api) == ["a", {"name": "Hours", "text": "8 to 16"}]


def test_other_changes_of_the_agent_are_no_conflict(signed_in: Browser, workspace_api: Api) -> None:
    store(workspace_api, ["a"])
    page = signed_in.open(PAGE)
    assert workspace_api.patch("/v3/agents/support", {"agent": {"title": "Renamed"}}).status == 200
    assert "Saved." in signed_in.submit(page, PAGE, {"reply.0.text": "b"}).text
    agent = workspace_api.get("/v3/agents/support").data
    assert (agent["title"], agent["savedReplies"]) == ("Renamed", ["b"])


def test_a_format_that_the_console_does_not_show_is_not_replaced(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open(PAGE)
    store(workspace_api, {"hours": "9 to 17"})
    refused = signed_in.submit(page, PAGE, {"reply.0.text": "b"})
    assert (refused.status, "Change them with the API" in refused.text) == (412, True)
    assert stored(workspace_api) == {"hours": "9 to 17"}


@pytest.mark.parametrize(
    ("number", "text", "rule"),
    [
        (201, "a", "At most 200 saved replies are possible, and there are 201"),
        (2, "a" * 50_000, "these have 100,500. Shorten"),
    ],
)
def test_replies_that_the_console_would_not_show_are_refused(
    number: int, text: str, rule: str, signed_in: Browser, workspace_api: Api
) -> None:
    store(workspace_api, ["a"])
    typed = {f"reply.{place}.text": text for place in range(number)}
    refused = signed_in.submit(signed_in.open(PAGE), PAGE, typed)
    assert (refused.status, "Saved replies: " in refused.text, rule in refused.text) == (400, True, True)
    assert (len(texts(refused.text)) >= number, stored(workspace_api)) == (True, ["a"])
    largest = dict([*typed.items()][: number - 1])
    assert "Saved." in signed_in.submit(refused, PAGE, largest).text
    assert len(texts(signed_in.open(PAGE).text)) == min(number, 200)


def store(api: Api, value: Any) -> None:
    """Replace the agent's saved replies through the API."""
    assert api.patch("/v3/agents/support", {"agent": {"savedReplies": value}}).status == 200


def stored(api: Api) -> Any:
    """Return the agent's saved replies."""
    return api.get("/v3/agents/support").data["savedReplies"]


def texts(page: str) -> list[str]:
    """Return the texts in the form for saved replies."""
    return re.findall(r'<textarea id="reply[^>]*>\n([^<]*)</textarea>', page)


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
    store(workspace_api, value)
    assert saved_replies(signed_in.open(CONVO).text) == []
    assert "do not fit on a page" in signed_in.open(PAGE).text
    signed_in.submit(signed_in.open(AGENT), AGENT, {"title": "Renamed"})
    agent = workspace_api.get("/v3/agents/support").data
    assert (agent["title"], agent["savedReplies"]) == ("Renamed", value)


def test_a_page_contains_at_most_200_saved_replies(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    for number, shown in ((200, 200), (201, 0)):
        store(workspace_api, [*map(str, range(number))])
        assert len(saved_replies(signed_in.open(CONVO).text)) == shown


def test_forms_of_another_version_change_nothing(signed_in: Browser, workspace_api: Api) -> None:
    """Two versions run at the same time during a deployment. Another version's form has none of the fields."""
    store(workspace_api, ["a"])
    form = signed_in.open(PAGE)
    for sent in ({}, {"savedReplies.0": "b"}, {"answer.0.text": "b"}):
        answer = signed_in.submit(form, PAGE, sent)
        assert (answer.status, "Nothing was saved" in answer.text, texts(answer.text)) == (400, True, ["a", ""])
        assert stored(workspace_api) == ["a"]


def test_an_order_that_changed_elsewhere_is_not_overwritten(signed_in: Browser, workspace_api: Api) -> None:
    store(workspace_api, ["a", "b", {"name": "c", "text": "d\ne"}])
    page = signed_in.open(PAGE)
    typed = {"reply.0.text": "a", "reply.1.text": "b", "reply.2.name": "c", "reply.2.text": "d\ne"}
    store(workspace_api, [{"name": "c", "text": "d\ne"}, "a", "b"])
    conflict = signed_in.submit(page, PAGE, typed)
    assert (conflict.status, texts(conflict.text)) == (412, ["a", "b", "d\ne", ""])
    assert "Someone else has saved this" in conflict.text
    assert "<del>- c – d – e</del>" in conflict.text and "<ins>+ c – d – e</ins>" in conflict.text
    assert stored(workspace_api)[1:] == ["a", "b"]
    assert "Saved." in signed_in.submit(conflict, PAGE, typed).text
    assert stored(workspace_api)[:2] == ["a", "b"]


def test_an_empty_form_removes_all_saved_replies(signed_in: Browser, workspace_api: Api) -> None:
    store(workspace_api, ["a"])
    empty = signed_in.submit(signed_in.open(PAGE), PAGE, {"reply.0.text": ""})
    assert "savedReplies" not in workspace_api.get("/v3/agents/support").data
    assert "We are open every day" in empty.text


def test_the_text_of_a_draft_becomes_a_new_reply(signed_in: Browser, workspace_api: Api) -> None:
    """The page leads back to the conversation and its list, before and after the reply is saved."""
    converse(workspace_api, "requested_chat")
    store(workspace_api, ["a"])
    back = f'href="{signed_in.home}{CONVO}?tab=all">Back to the conversation'
    composer = signed_in.open(f"{CONVO}?tab=all").text
    action, form = f"{PAGE}?from={CONVO}%3Ftab%3Dall", re.findall('name="form" value="([^"]+)"', composer)[0]
    assert f'formaction="{signed_in.home}{action}"' in composer
    page = signed_in.post(action, {"form": form, "action": "draft", "text": "Hi\r\n{visitor} "})
    assert (page.status, texts(page.text), back in page.text) == (200, ["a", "Hi\n{visitor}"], True)
    assert stored(workspace_api) == ["a"]
    saved = signed_in.submit(page, "%3Ftab%3Dall", {"reply.0.text": "a", "reply.1.text": "Hi\n{visitor}"})
    assert (stored(workspace_api), back in saved.text) == (["a", "Hi\n{visitor}"], True)
    for unsafe in ("//evil.test/convos/", "/convos/../account", "/overview", "/convos/%2e%2e/x"):
        assert "Back to the conversation" not in signed_in.open(f"{PAGE}?from={unsafe}").text
