"""Saved replies are copied to other agents of the same organisation."""

from typing import Any

import pytest

from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.test_saved_replies import PAGE, store

FORM = f"{PAGE}?copy=true"


def stored_by(api: Api, agent_id: str) -> Any:
    """Return the saved replies of an agent."""
    return api.get(f"/v3/agents/{agent_id}").data.get("savedReplies")


@pytest.fixture
def browser_of_three(signed_in: Browser, workspace_api: Api) -> Browser:
    """Add two agents to the client's organisation and one outside, and save replies for the first two agents."""
    for agent_id in ("bikes", "boats", "elsewhere"):
        workspace_api.post(f"/v2/agents/{agent_id}", {"title": agent_id.title()})
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support", "bikes", "boats"]})
    store(workspace_api, [{"name": "Hours", "text": "9 to 17"}, "Bye", {"name": "Price", "text": "5"}])
    own = {"agent": {"savedReplies": [{"name": "Hours", "text": "All day"}]}}
    assert workspace_api.patch("/v3/agents/bikes", own).status == 200
    return signed_in


def send(browser: Browser, **fields: str) -> Answer:
    """Submit the form with these boxes checked."""
    return browser.submit(browser.open(FORM), PAGE, {"action": "copy", **fields})


def test_chosen_replies_are_added_and_equal_names_skipped(browser_of_three: Browser, workspace_api: Api) -> None:
    assert "?copy=true" in browser_of_three.open(PAGE).text
    page = browser_of_three.open(FORM).text
    assert ("Bikes</label>" in page, "Elsewhere" in page, 'value="support"' in page) == (True, False, False)
    chosen = {"copy.0": "on", "copy.1": "on", "to.1": "bikes", "to.2": "boats"}
    for copied, skipped in ((1, 1), (0, 2)):
        answer = send(browser_of_three, **chosen)
        assert f"Bikes: {copied} copied, {skipped} skipped." in answer.text
        assert stored_by(workspace_api, "bikes") == [{"name": "Hours", "text": "All day"}, "Bye"]
        assert stored_by(workspace_api, "boats") == [{"name": "Hours", "text": "9 to 17"}, "Bye"]


def test_a_form_without_a_choice_or_with_old_replies_copies_nothing(
    browser_of_three: Browser, workspace_api: Api
) -> None:
    for fields in ({"copy.0": "on"}, {"to.1": "boats"}):
        assert "Choose at least one reply" in send(browser_of_three, **fields).text
    form = browser_of_three.open(FORM)
    store(workspace_api, ["Other"])
    answer = browser_of_three.submit(form, PAGE, {"action": "copy", "copy.0": "on", "to.1": "boats"})
    assert (answer.status, "Enter your changes again" in answer.text) == (400, True)
    assert stored_by(workspace_api, "boats") is None


def test_only_agents_of_the_organisation_receive_copies(
    browser_of_three: Browser, operator: Browser, workspace_api: Api
) -> None:
    for person in (browser_of_three, operator):
        assert send(person, **{"copy.0": "on", "to.1": "elsewhere"}).status == 404
    assert stored_by(workspace_api, "elsewhere") is None
    assert "Boats: 1 copied" in send(operator, **{"copy.2": "on", "to.1": "boats"}).text
    assert stored_by(workspace_api, "boats") == [{"name": "Price", "text": "5"}]


@pytest.mark.parametrize("replies", [{"own": "format"}, [*map(str, range(200))]])
def test_an_agent_whose_page_has_no_room_keeps_its_replies(
    replies: Any, browser_of_three: Browser, workspace_api: Api
) -> None:
    workspace_api.patch("/v3/agents/boats", {"agent": {"savedReplies": replies}})
    answer = send(browser_of_three, **{"copy.0": "on", "to.1": "boats"})
    assert "Boats: nothing copied" in answer.text
    assert stored_by(workspace_api, "boats") == replies
