"""Agents in the console: the form, JSON, tools, versions."""

import json
from typing import Any

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.console.browser import Browser
from tests.console.conftest import PASSWORD
from tests.test_history import keep
from tests.webhooks.pipeline import HISTORY, Stream

AGENT = "/agents/support"
CANARY = "canary-secret"


@pytest.fixture
def stream(workspace: NewWorkspace) -> Stream:
    """The changes from now on."""
    return Stream()


@pytest.fixture
def signed_in(browser: Browser, workspace_api: Api) -> Browser:
    """The client's browser."""
    agent = {"vg_systemPrompt": "You help.", "igAccessToken": CANARY, "theme": "dark", "vg_temperature": 0.5}
    assert workspace_api.patch("/v3/agents/support", {"agent": agent}).status == 200
    browser.sign_in("bo@acme.test", PASSWORD)
    return browser


def stored(api: Api) -> Any:
    return api.get("/v3/agents/support").data


def values_of(browser: Browser) -> dict[str, str]:
    """What the form of the agent sends without a change."""
    agent = json.loads(json.dumps({"theme": "dark", "agentPlatform": None}))
    return {"title": "Support", "vg_systemPrompt": "You help.", "vg_temperature": "0.5", "rest": json.dumps(agent)}


def test_the_form_shows_an_agent_without_its_secrets(signed_in: Browser) -> None:
    assert "Support" in signed_in.open("/agents").text
    assert "Other" not in signed_in.open("/agents").text
    page = signed_in.open(AGENT)
    assert "You help." in page.text
    assert CANARY not in page.text
    assert "cams_agent_" not in page.text


def test_a_saved_form_changes_its_members_and_keeps_secrets(signed_in: Browser, workspace_api: Api) -> None:
    before = stored(workspace_api)
    page = signed_in.open(AGENT)
    rest = json.dumps({"theme": "light"})
    fields = {"title": "Help", "vg_systemPrompt": "You help.\r\nAlways.", "vg_temperature": "0.7", "starred": "true"}
    saved = signed_in.submit(page, AGENT, {**fields, "rest": rest})
    assert (saved.status, "Saved." in saved.text) == (200, True)
    after = stored(workspace_api)
    wanted = {"title": "Help", "vg_systemPrompt": "You help.\nAlways.", "vg_temperature": 0.7, "starred": True}
    assert {name: after[name] for name in wanted} == wanted
    assert (after["theme"], after["igAccessToken"]) == ("light", CANARY)
    assert after["SECRET_API_KEY"] == before["SECRET_API_KEY"]


@pytest.mark.parametrize(
    ("fields", "name", "rule"),
    [
        ({"vg_temperature": "warm"}, "vg_temperature", "must be a number"),
        ({"rest": "[1]"}, None, "rest must be a JSON object."),
        ({"rest": '{"limits": 5}'}, None, "limits must be an object"),
        ({"rest": '{"title": "x"}', "vg_maxTokens": "1e400"}, "vg_maxTokens", "must be a finite number"),
    ],
)
def test_a_wrong_value_is_named_at_its_field_and_keeps_what_was_typed(
    fields: dict[str, str], name: str | None, rule: str, signed_in: Browser, workspace_api: Api
) -> None:
    before = stored(workspace_api)
    answer = signed_in.submit(signed_in.open(AGENT), AGENT, {**values_of(signed_in), "title": "Typed", **fields})
    assert answer.status == 400
    assert rule in answer.text
    assert 'value="Typed"' in answer.text
    assert name is None or f'id="rule-{name}"' in answer.text
    assert stored(workspace_api) == before


def test_of_two_people_who_edit_at_once_the_second_is_told(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open(AGENT)
    workspace_api.patch("/v3/agents/support", {"agent": {"title": "First"}})
    answer = signed_in.submit(page, AGENT, {**values_of(signed_in), "title": "Second"})
    assert (answer.status, 'value="Second"' in answer.text) == (412, True)
    assert stored(workspace_api)["title"] == "First"


def test_another_organisations_agent_is_not_found(signed_in: Browser, workspace_api: Api) -> None:
    for path in ("/agents/other", "/agents/other/versions", "/agents/other/versions/5"):
        assert signed_in.open(path).status == 404
    tool = workspace_api.post("/v3/agents/other/tools", {"tool": {"name": "weather"}}).data["id"]
    page = signed_in.open(AGENT)
    assert signed_in.submit(page, AGENT, {}).status == 200
    secret = page.text.partition('name="form" value="')[2].partition('"')[0]
    fields = {"form": secret, "arguments": "{}"}
    assert signed_in.post(f"/agents/support/tools/{tool}", fields).status == 404
    assert signed_in.post("/agents/other", {"form": secret, "title": "x"}).status == 404
    assert workspace_api.get("/v3/agents/other").data["title"] == "Other"


def test_a_tool_that_cannot_be_called_says_why(signed_in: Browser, workspace_api: Api) -> None:
    tool = workspace_api.post("/v3/agents/support/tools", {"tool": {"name": "weather"}}).data["id"]
    page = signed_in.open(AGENT)
    answer = signed_in.submit(page, f"/tools/{tool}", {"arguments": "{}"})
    assert (answer.status, "tool.serverUrl must be set" in answer.text) == (409, True)
    assert signed_in.submit(page, f"/tools/{tool}", {"arguments": "[]"}).status == 400


def test_a_version_is_compared_restored_and_named_after_who_saved_it(
    stream: Stream, signed_in: Browser, workspace_api: Api
) -> None:
    signed_in.submit(signed_in.open(AGENT), AGENT, {**values_of(signed_in), "title": "Changed"})
    keep(stream.read(*HISTORY))
    listed = signed_in.open(f"{AGENT}/versions")
    assert "bo" in listed.text
    newest, *_, oldest = workspace_api.get("/v3/agents/support/versions").data
    assert newest["by"]["kind"] == "session"
    compared = signed_in.open(f"{AGENT}/versions/{oldest['number']}")
    assert ("Support" in compared.text, "Changed" in compared.text, CANARY in compared.text) == (True, True, False)
    restored = signed_in.submit(compared, f"/versions/{oldest['number']}", {})
    assert (restored.status, "Saved." in restored.text) == (200, True)
    after = stored(workspace_api)
    assert (after["title"], after["igAccessToken"]) == ("Support", CANARY)
    assert "equals the agent of today" in signed_in.open(f"{AGENT}/versions/{oldest['number']}").text
