"""The tags of an open conversation: people add and remove single tags, and undo that."""

import re
from typing import Any

import pytest

from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.test_event_lines import CONVO, converse


@pytest.fixture(autouse=True)
def _conversation(workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    change(workspace_api, ["dog", "a, b"])


def change(api: Api, tags: list[str]) -> None:
    """Replace the tags through the API."""
    assert api.patch("/v3/agents/support/convos/ann", {"conversation": {"tags": tags}}).status == 200


def tags_of(api: Api) -> Any:
    """Return the stored tags."""
    return api.get("/v3/agents/support/convos/ann").data.get("tags")


def undo(browser: Browser, page: Answer) -> Answer:
    """Press the button of the notice."""
    ((name, value),) = re.findall('name="(untag|retag)" value="([^"]*)">Undo', page.text)
    return browser.submit(page, CONVO, {name: value})


def test_added_tags_keep_the_others_and_can_be_undone(signed_in: Browser, workspace_api: Api) -> None:
    """Tags that a colleague added since the page was opened are kept, too."""
    form = signed_in.open(CONVO)
    change(workspace_api, ["dog", "a, b", "new"])
    page = signed_in.submit(form, CONVO, {"action": "tag", "tags": "vip, dog,<b>"})
    assert "Added: vip, &lt;b&gt;<" in page.text
    assert tags_of(workspace_api) == ["dog", "a, b", "new", "vip", "<b>"]
    page = undo(signed_in, signed_in.submit(form, CONVO, {"action": "tag", "tags": "x, y"}))
    assert "Removed: x, y<" in page.text
    assert tags_of(workspace_api) == ["dog", "a, b", "new", "vip", "<b>"]
    undo(signed_in, page)
    assert tags_of(workspace_api)[-2:] == ["x", "y"]


def test_each_tag_has_a_button_that_removes_it(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open(CONVO)
    assert re.findall('name="untag" value="([^"]*)"', page.text) == ["dog", "a, b"]
    page = signed_in.submit(page, CONVO, {"untag": "a, b", "text": "half a reply"})
    assert "Removed: a, b<" in page.text and "half a reply</textarea>" in page.text
    assert tags_of(workspace_api) == ["dog"]
    undo(signed_in, page)
    assert tags_of(workspace_api) == ["dog", "a, b"]


@pytest.mark.parametrize(("tag", "sent"), [("dog\ta", "dog\ta"), ("dog\na", "dog\r\na")], ids=["tab", "line break"])
def test_a_tag_with_white_space_is_removed_alone(tag: str, sent: str, signed_in: Browser, workspace_api: Api) -> None:
    change(workspace_api, ["dog", "a", tag])
    signed_in.submit(signed_in.open(CONVO), CONVO, {"untag": sent})
    assert tags_of(workspace_api) == ["dog", "a"]


def test_a_page_says_how_many_tags_it_leaves_out(signed_in: Browser, workspace_api: Api) -> None:
    for number, hint in ((100, False), (103, True)):
        change(workspace_api, [f"t{one}" for one in range(number)])
        page = signed_in.open(CONVO).text
        assert (page.count('name="untag"'), "and 3 more</p>" in page) == (100, hint)


def test_a_form_that_changes_no_tag_offers_no_undo(signed_in: Browser, workspace_api: Api) -> None:
    for fields in ({"action": "tag", "tags": "dog"}, {"untag": "gone"}):
        page = signed_in.submit(signed_in.open(CONVO), CONVO, fields)
        assert ("The tags have been saved." in page.text, ">Undo<" in page.text) == (True, False)
    refused = signed_in.submit(signed_in.open(CONVO), CONVO, {"action": "tag", "tags": " ,"})
    assert (refused.status, "Enter a tag first." in refused.text) == (400, True)
    assert tags_of(workspace_api) == ["dog", "a, b"]
