"""Operators create, change and delete tools in the console."""

import html
import re
from typing import Any

import pytest

from tests.api import Answer, Api
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import PASSWORD
from tests.moto_tables import items

CANARY, TOOLS = "canary-5b1c", "/v3/agents/support/tools"
TOOL: dict[str, Any] = {
    "name": "Look up",
    "serverUrl": "https://a.test/{number}",
    "serverUrlSecret": CANARY,
    "method": "GET",
    "fields": [
        {"key": "number", "in": "path", "required": True, "type": "text", "description": "The order"},
        {"key": "X-Key", "in": "header", "value": CANARY},
    ],
}


@pytest.fixture
def tool_id(workspace_api: Api) -> str:
    """Return the id of a tool with two parameters and two secrets."""
    return str(workspace_api.post("/v3/agents/support/tools", {"tool": TOOL}).data["id"])


def controls(page: Answer) -> dict[str, str]:
    """Return the values that a browser sends for an unchanged form."""
    form = page.text.partition('<form class="card form"')[2].partition("</form>")[0]
    inputs = re.findall(r'name="([^"]*)" (?:type="text" )?value="([^"]*)"', form)
    checks = re.findall(r'name="([^"]*)" type="checkbox" checked', form)
    chosen = re.findall(r'<select id="[^"]*" name="([^"]*)".*?<option value="([^"]*)" selected>', form)
    areas = re.findall(r'<textarea[^>]* name="([^"]*)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL)
    return {
        name: html.unescape(value) for name, value in (*inputs, *((name, "on") for name in checks), *chosen, *areas)
    }


def test_an_operator_creates_a_tool_once_per_form(operator: Browser, workspace_api: Api) -> None:
    page = operator.open("/agents/support/new-tool")
    sent = {"name": "Pay", "method": "POST", "serverUrl": "https://pay.test", "description": "Pays."}
    parameter = {"fields.0.key": "amount", "fields.0.in": "body", "fields.0.required": "on", "fields.1.key": " "}
    for _ in range(2):
        assert "The tool has been saved." in operator.submit(page, "/new-tool", {**sent, **parameter}).text
    (tool,) = workspace_api.get("/v3/agents/support/tools").data
    assert {name: tool[name] for name in sent} == sent
    (field,) = tool["fields"]
    assert (field["key"], field["in"], field["required"]) == ("amount", "body", True)


def test_a_tool_is_available_until_it_is_disabled(operator: Browser, tool_id: str, workspace_api: Api) -> None:
    page = operator.open(f"/agents/support/tools/{tool_id}/settings")
    radio = '<input id="disabled.{}" name="disabled" type="radio" value="{}" checked>'
    assert radio.format("off", "") in page.text and "Available to the agent" in page.text
    for value in ("on", ""):
        page = operator.submit(page, "/settings", {**controls(page), "disabled": value})
        assert bool(workspace_api.get(f"/v3/tools/{tool_id}").data.get("disabled")) == bool(value)
        page = operator.open(f"/agents/support/tools/{tool_id}/settings")
        assert radio.format(value or "off", value) in page.text


def test_a_parameter_without_a_description_is_named(operator: Browser, workspace_api: Api) -> None:
    parameters = [{"key": "arrival"}, {"key": "nights", "description": "How many"}]
    tool = {"name": "find_rooms", "fields": parameters}
    tool_id = workspace_api.post("/v3/agents/support/tools", {"tool": tool}).data["id"]
    page = operator.open(f"/agents/support/tools/{tool_id}/settings").text
    first, second = page.split('class="parameter"')[1:]
    assert ["No description yet" in part for part in (first, second)] == [True, False]


def test_a_new_tool_has_no_parameter_until_its_button_adds_one(operator: Browser) -> None:
    page = operator.open("/agents/support/new-tool")
    assert 'class="parameter"' not in page.text and "How a call works" in page.text
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", page.text)[:4] == ["General", "Request", "Parameters", "Availability"]
    added = operator.submit(page, "/new-tool", {"name": "Pay", "action": "add"})
    assert added.text.count('class="parameter"') == 1 and 'value="Pay"' in added.text
    removed = operator.submit(added, "/new-tool", {**controls(added), "action": "remove.0"})
    assert 'class="parameter"' not in removed.text and 'value="Pay"' in removed.text


def test_the_list_of_tools_says_what_each_tool_does(operator: Browser, tool_id: str, workspace_api: Api) -> None:
    workspace_api.patch(f"/v3/tools/{tool_id}", {"tool": {"description": "Finds <orders>."}})
    (summary,) = re.findall("<summary><strong>Look up.*?</summary>", operator.open("/agents/support").text)
    assert "Finds &lt;orders&gt;." in summary
    row = operator.open("/agents/support").text.partition(summary)[2].partition("</li>")[0]
    assert f'/tools/{tool_id}/settings" aria-label="Edit tool: Look up">Edit tool</a>' in row.partition("</details>")[2]


def test_a_tool_needs_a_name_and_keeps_what_was_typed(operator: Browser) -> None:
    page = operator.open("/agents/support/new-tool")
    refused = operator.submit(
        page, "/new-tool", {"name": "", "serverUrl": "https://pay.test", "fields.0.key": "amount"}
    )
    assert (refused.status, 'id="wrong-name"' in refused.text) == (400, True)
    assert 'value="https://pay.test"' in refused.text and 'value="amount"' in refused.text


@pytest.mark.parametrize(
    ("changed", "field", "rule"),
    [
        ({"serverUrl": "shop"}, "serverUrl", "must begin with https://"),
        ({"serverUrl": "ftp://shop.test"}, "serverUrl", "must begin with https://"),
        ({"serverUrl": "https://"}, "serverUrl", "must have a valid host"),
        ({"serverUrl": "https://shop test"}, "serverUrl", "must not contain spaces"),
        ({"serverUrl": "https://u:p@shop.test"}, "serverUrl", "must not contain a user name or password"),
        ({"name": "Look again"}, "name", "must not contain spaces"),
        ({"method": "LOOK"}, "method", "must be one of GET, POST, PUT, PATCH, DELETE"),
    ],
)
def test_a_wrong_name_method_or_url_is_explained_at_its_field(
    changed: dict[str, str], field: str, rule: str, operator: Browser, tool_id: str
) -> None:
    before = items()
    for path in ("/agents/support/new-tool", f"/agents/support/tools/{tool_id}/settings"):
        page = operator.open(path)
        refused = operator.post(path, {**csrf_field(page), **controls(page), "description": "Typed <1>", **changed})
        assert (refused.status, "Typed &lt;1&gt;" in refused.text) == (400, True)
        assert rule in refused.text.partition(f'id="wrong-{field}">')[2].partition("</p>")[0]
        assert re.search(rf'<(?:input|select) id="{field}"[^>]* autofocus', refused.text)
    assert items() == before


@pytest.mark.parametrize("changed", [{"fields.0.key": "order"}, {"fields.0.in": "query"}, {"fields.0.key": ""}])
def test_a_parameter_that_the_url_needs_is_not_lost(
    changed: dict[str, str], operator: Browser, tool_id: str, workspace_api: Api
) -> None:
    path, before = f"/agents/support/tools/{tool_id}/settings", items()
    refused = operator.post(path, {**controls(operator.open(path)), **changed})
    assert (refused.status, items() == before) == (400, True)
    rule = refused.text.partition('id="wrong-serverUrl">')[2].partition("</p>")[0]
    assert "the place Path and the name number" in html.unescape(rule)
    renamed = {"fields.0.key": "order", "serverUrl": "https://a.test/{order}"}
    assert "The tool has been saved." in operator.post(path, {**controls(operator.open(path)), **renamed}).text


def test_the_form_adds_the_parameters_that_the_url_names(operator: Browser, workspace_api: Api) -> None:
    path, url = "/agents/support/new-tool", "https://a.test/{pier}/{boat <1>}/{pier}"
    sent = {"name": "find", "serverUrl": url, "fields.0.key": "pier", "fields.0.in": "query", "fields.1.key": "day"}
    refused = operator.submit(operator.open(path), path, {**sent, "name": "a b", "action": "test"})
    assert refused.status == 400 and workspace_api.get(TOOLS).data == []
    added = operator.submit(refused, path, {**sent, "action": "add"})
    assert (added.status, "No parameter yet" in added.text) == (200, False)
    for form in (controls(added), sent):
        operator.submit(operator.open(path), path, form)
    tool, other = workspace_api.get(TOOLS).data
    assert [one["key"] for one in tool["fields"]] == [one["key"] for one in other["fields"]]
    assert [(one["key"], one.get("in"), one.get("required", False)) for one in tool["fields"]] == [
        ("pier", "path", True),
        ("day", None, False),
        ("boat <1>", "path", True),
    ]


def test_a_stored_url_that_breaks_a_rule_stays(operator: Browser, tool_id: str, workspace_api: Api) -> None:
    workspace_api.patch(f"/v3/tools/{tool_id}", {"tool": {"serverUrl": "shop/{order}", "method": "LOOK"}})
    path = f"/agents/support/tools/{tool_id}/settings"
    for changed in ({"name": "New"}, {"fields.0.description": "Its number"}):
        assert "The tool has been saved." in operator.post(path, {**controls(operator.open(path)), **changed}).text
    tool = workspace_api.get(f"/v3/tools/{tool_id}").data
    assert (tool["name"], tool["serverUrl"], tool["method"]) == ("New", "shop/{order}", "LOOK")


def test_an_unchanged_form_changes_nothing(operator: Browser, tool_id: str) -> None:
    path = f"/agents/support/tools/{tool_id}/settings"
    page, before = operator.open(path), items()
    assert CANARY not in page.text
    assert "The tool has been saved." in operator.post(path, controls(page)).text
    assert items() == before


def test_changed_parameters_keep_their_hidden_members(operator: Browser, tool_id: str, workspace_api: Api) -> None:
    path = f"/agents/support/tools/{tool_id}/settings"
    before = workspace_api.get(f"/v3/tools/{tool_id}").data
    changed = {
        "method": "POST",
        "serverUrl": "https://a.test/",
        "fields.0.key": "",
        "fields.1.key": "X-Token",
        "fields.2.key": "lang",
    }
    page = operator.open(path)
    assert "The tool has been saved." in operator.post(path, {**controls(page), **changed}).text
    after = workspace_api.get(f"/v3/tools/{tool_id}").data
    header, lang = after["fields"]
    assert (after["method"], after["serverUrlSecret"]) == ("POST", CANARY)
    assert header == {**before["fields"][1], "key": "X-Token"}
    assert (lang["key"], lang["id"] in [one["id"] for one in before["fields"]]) == ("lang", False)


def test_two_operators_lose_nothing(operator: Browser, tool_id: str, workspace_api: Api) -> None:
    path = f"/agents/support/tools/{tool_id}/settings"
    page = operator.open(path)
    workspace_api.patch(f"/v3/tools/{tool_id}", {"tool": {"description": "By the other"}})
    answer = operator.post(path, {**controls(page), "name": "Mine"})
    assert (answer.status, "By the other" in answer.text, 'value="Mine"' in answer.text) == (412, True, True)
    assert workspace_api.get(f"/v3/tools/{tool_id}").data["name"] == "Look up"


def test_parameters_that_do_not_fit_keep_their_values(operator: Browser, workspace_api: Api) -> None:
    fields = [{"key": f"key{number}", "description": "'" * 500} for number in range(90)]
    tool = workspace_api.post("/v3/agents/support/tools", {"tool": {**TOOL, "fields": fields}}).data
    path = f"/agents/support/tools/{tool['id']}/settings"
    page = operator.open(path)
    assert len(page.text) < 100_000 and "<code>fields</code>" in page.text
    assert "The tool has been saved." in operator.post(path, {**controls(page), "name": "New"}).text
    after = workspace_api.get(f"/v3/tools/{tool['id']}").data
    assert (after["name"], after["fields"]) == ("New", tool["fields"])


def test_a_tool_is_deleted_after_a_question(operator: Browser, tool_id: str, workspace_api: Api) -> None:
    page = operator.open(f"/agents/support/tools/{tool_id}/settings")
    assert "cannot be undone" in page.text
    for _ in range(2):
        assert "The tool has been deleted." in operator.submit(page, f"{tool_id}/settings", {"action": "delete"}).text
    assert workspace_api.get(f"/v3/tools/{tool_id}").status == 404


def test_the_form_belongs_to_operators_and_the_agent(
    operator: Browser, browser: Browser, tool_id: str, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    path = f"/agents/support/tools/{tool_id}/settings"
    form = csrf_field(browser.open("/account"))
    before = items()
    for action in ("", "delete"):
        assert browser.post(path, {**form, "action": action}).status == 403
    assert "/settings" not in re.findall(r'href="[^"]*/tools/[^"]*"', browser.open("/agents/support").text)
    other = path.replace("support", "other")
    assert operator.open(other).status == 404
    assert operator.post(other, {**controls(operator.open(path)), "name": "x"}).status == 404
    assert items() == before


def test_a_form_with_a_new_parameter_is_sent_twice(operator: Browser, tool_id: str, workspace_api: Api) -> None:
    path = f"/agents/support/tools/{tool_id}/settings"
    sent = {**controls(operator.open(path)), "fields.2.key": "lang"}
    assert ["The tool has been saved." in operator.post(path, sent).text for _ in range(2)] == [True, True]
    assert [one["key"] for one in workspace_api.get(f"/v3/tools/{tool_id}").data["fields"]] == [
        "number",
        "X-Key",
        "lang",
    ]


def test_an_empty_parameter_is_added_without_saving(operator: Browser, tool_id: str) -> None:
    new, stored = "/agents/support/new-tool", f"/agents/support/tools/{tool_id}/settings"
    before = items()
    for path, first in ((new, 0), (stored, 2)):
        page = operator.open(path)
        assert len(re.findall(r'name="fields\.[0-9]+\.key"', page.text)) == first
        sent = {**controls(page), **csrf_field(page), "name": "Typed <1>", f"fields.{first}.key": "amount"}
        for number in (1, 2, 3):
            page = operator.post(path, {**sent, "action": "add"})
            sent = {**csrf_field(page), **controls(page)}
            names = re.findall(r'name="fields\.([0-9]+)\.key"', page.text)
            assert (page.status, len(names)) == (200, first + 1 + number)
            assert (sent["name"], sent[f"fields.{first}.key"]) == ("Typed <1>", "amount")
    assert items() == before


def test_a_parameter_has_a_type_and_is_removed_without_saving(
    operator: Browser, tool_id: str, workspace_api: Api
) -> None:
    path = f"/agents/support/tools/{tool_id}/settings"
    page, before = operator.open(path), items()
    assert '<option value="text" selected>' in page.text
    sent = {**controls(page), "fields.1.type": "number", "fields.2.key": " "}
    page = operator.post(path, {**sent, "action": "remove.0"})
    left = controls(page)
    assert (left["fields.0.key"], left["fields.0.type"], left["fields.1.key"]) == ("X-Key", "number", "")
    assert "fields.2.key" not in left and items() == before
    operator.post(path, {**left, "serverUrl": "https://a.test/"})
    (field,) = workspace_api.get(f"/v3/tools/{tool_id}").data["fields"]
    assert (field["key"], field["type"], field["value"]) == ("X-Key", "number", CANARY)


def test_a_form_with_an_added_parameter_does_not_replace_other_changes(
    operator: Browser, tool_id: str, workspace_api: Api
) -> None:
    path = f"/agents/support/tools/{tool_id}/settings"
    sent = controls(operator.open(path))
    workspace_api.patch(f"/v3/tools/{tool_id}", {"tool": {"description": "By the other"}})
    page = operator.post(path, {**sent, "action": "add"})
    assert operator.post(path, {**sent, **controls(page)}).status == 412


def test_secrets_are_replaced_and_removed_but_never_shown(operator: Browser, tool_id: str, workspace_api: Api) -> None:
    path, secret = f"/agents/support/tools/{tool_id}/settings", f"{CANARY}-new"
    page = operator.open(path)
    assert page.text.count("•••• Set") == 2 and CANARY not in page.text
    change = {"serverUrlSecret": secret, "fields.1.value": secret, "fields.2.key": "X-New", "fields.2.value": secret}
    saved = operator.post(path, {**controls(page), **change})
    assert "The tool has been saved." in saved.text and CANARY not in saved.text
    after = workspace_api.get(f"/v3/tools/{tool_id}").data
    assert after["serverUrlSecret"] == secret
    assert [field.get("value") for field in after["fields"]] == [None, secret, secret]
    page = operator.open(path)
    removal = {"no_serverUrlSecret": "on", "fields.2.no_value": "on"}
    invalid = operator.post(path, {**controls(page), **change, "name": ""})
    assert (invalid.status, CANARY in invalid.text) == (400, False)
    operator.post(path, {**controls(page), **removal})
    after = workspace_api.get(f"/v3/tools/{tool_id}").data
    assert after.get("serverUrlSecret") is None
    assert [field.get("value") for field in after["fields"]] == [None, secret, None]
