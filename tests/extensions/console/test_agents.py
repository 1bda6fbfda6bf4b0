"""Agents in the console: the form, field errors, concurrent editors, and tools."""

import html
import json
import re
from typing import Any

import pytest

from chalicelib.agents import listing
from chalicelib.extensions import has
from chalicelib.extensions.console.access import sessions
from chalicelib.extensions.console.agent_pages import agent_form, agents
from chalicelib.extensions.console.presentation.fields import FLAG, TEXTS
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.moto_tables import snapshot
from tests.selection import one_of_each

AGENT = "/agents/support"
CANARY = "canary-5b1c"
SAMPLE_RATE = "voiceConfig.transcriber.speechConfig.sampleRate"
SECRETS = {
    "SECRET_API_KEY": None,
    "VF_DIALOGUE_API_KEY": CANARY,
    "vectorDb": {"key": CANARY},
    "voiceConfig": {"speechGen": {"apiKey": CANARY, "voiceId": "nova"}},
    "flowtool": {"webhookUrl": "https://flow.test", "webhookSecret": CANARY},
    "unknownMember": CANARY,
}


@pytest.fixture
def signed_in(browser: Browser, workspace_api: Api) -> Browser:
    """Return an administrator's browser, and create an agent with secrets and a tool."""
    members = {
        "vg_systemPrompt": "Be kind.\nBe <brief>.",
        "vg_temperature": 0.3,
        "vg_initMessages": ["Hello", "How are you?"],
        "limits": {"maxMonthlyCreditsUsage": 100},
        "nodes": [{"id": "start", "name": "Start"}, {"id": "end", "name": "End"}],
    }
    assert workspace_api.patch(f"/v3{AGENT}", {"agent": {**members, **SECRETS}}).status == 200
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def read_agent(api: Api) -> Any:
    """Return the agent from the API without the time of its last change."""
    agent = api.get(f"/v3{AGENT}").data
    agent.pop("lastModified")
    return agent


def filled(page: Answer) -> dict[str, str]:
    """Return the fields that a browser sends for an unchanged agent form."""
    form = page.text.partition(f'action="{page_action(page)}"')[2].partition("</form>")[0]
    fields = {}
    for part in form.split("<")[1:]:
        tag, _, content = part.partition(">")
        named = tag.partition(' name="')[2].partition('"')[0]
        if tag.startswith("textarea"):
            fields[named] = html.unescape(content).removeprefix("\n").replace("\n", "\r\n")
        elif tag.startswith("input") and ("checkbox" not in tag or " checked" in tag):
            fields[named] = html.unescape(tag.partition(' value="')[2].partition('"')[0])
    return fields


def page_action(page: Answer) -> str:
    """Return the address that an agent form submits to."""
    return next(one.partition('"')[0] for one in page.text.split('action="') if one.partition('"')[0].endswith(AGENT))


def save(browser: Browser, changed: dict[str, str], page: Answer | None = None) -> Answer:
    """Change fields in the form, and save."""
    return browser.post(AGENT, {**filled(page or browser.open(AGENT)), **changed})


def test_a_person_sees_the_agents_of_their_organisation(signed_in: Browser) -> None:
    page = signed_in.open("/agents")
    assert "Support" in page.text and "Other" not in page.text
    assert signed_in.open(AGENT).status == 200


@pytest.mark.parametrize("examined", [4, 5])
def test_an_operator_sees_all_agents_page_by_page(
    examined: int, workspace: NewWorkspace, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search examines two pages of agents, or two and a half."""
    monkeypatch.setattr(agents, "_PAGE_SIZE", 2)
    monkeypatch.setattr(listing, "MAX_SEARCHED", examined)
    for number in range(9):
        workspace_api.post(f"/v2/agents/a{number}", {"title": "Found"})
    browser, path, listed = Browser(workspace.workspace_id), "/agents?q=found", []
    browser.post("", {"key": workspace.workspace_key})
    while path:
        page = browser.open(path)
        assert page.status == 200
        listed += re.findall(r'href="[^"]*/agents/(a\d)"', page.text)
        more = re.search(r'href="[^"]*(/agents\?[^"]*)"', page.text)
        path = html.unescape(more[1]) if more else ""
    assert listed == [f"a{number}" for number in reversed(range(9))]


def test_the_form_explains_its_fields_and_can_be_reset(signed_in: Browser, workspace_api: Api) -> None:
    for language, note, discard in (
        ("en", "Usually between 0 and 1", "Discard"),
        ("nl", "Meestal tussen", "verwerpen"),
    ):
        workspace_api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": language})
        sessions.clear_cache()
        page = signed_in.open(AGENT).text
        assert note in page and re.search(rf'<button type="reset"[^>]*>[^<]*{discard}', page)
        assert page.count("note.") == 0
        for field in (one for group in agent_form.GROUPS.values() for one in group if one.kind != FLAG):
            part = page.partition(f' id="{field.path}"')[2].partition(
                "</fieldset>" if field.kind == TEXTS else "</div>"
            )
            assert '<p class="hint">' in part[0], field


def test_invalid_fields_are_listed_in_the_order_of_the_page(signed_in: Browser, workspace_api: Api) -> None:
    page, paths = signed_in.open(AGENT).text, list(agent_form.values(read_agent(workspace_api)))
    positions = [page.index(f'id="{path}"') for path in paths if path != agent_form.REST]
    assert positions == sorted(positions) and len(positions) > 10


def test_the_look_of_the_chat_has_fields(signed_in: Browser, workspace_api: Api) -> None:
    look = {"avatarImageUrl": "https://a.test/a.png", "headerImageUrl": "https://a.test/h.png", "fontFamily": "Inter"}
    page = signed_in.open(AGENT)
    assert "<h2>Look</h2>" in page.text
    signed_in.submit(page, AGENT, {**filled(page), **look})
    assert look.items() <= read_agent(workspace_api).items()
    page = signed_in.open(AGENT)
    assert 'id="fontFamily" name="fontFamily" type="text" value="Inter"' in page.text
    assert '<h2>Look</h2> <span class="hint">3 set: Avatar, Header image, Font</span>' in page.text
    refused = signed_in.post(AGENT, {**filled(page), "retention.days": "0"}).text
    opened = re.findall(
        r"<details( open|)>\s*<summary>\s*<h2>([A-Z]\w+)", refused.partition('class="card form parts"')[2]
    )
    closed, technical = [("", "Speech"), ("", "Text")], (" open", "Technical")
    assert opened == [technical, *closed, (" open", "Limits"), ("", "Advanced"), ("", "Look")]


def test_the_part_of_other_members_names_those_that_people_set(signed_in: Browser, workspace_api: Api) -> None:
    for agent_id, names in (("support", "2 set: flowtool, nodes"), ("other", "Theme, voice, nodes")):
        workspace_api.patch(f"/v3/agents/{agent_id}", {"agent": {"agentPlatform": "vg"}})
        workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support", "other"]})
        page = signed_in.open(f"/agents/{agent_id}").text
        assert f'<h2>Advanced (JSON)</h2> <span class="hint">{names}' in page and "agentPlatform" in page


def test_an_agents_language_has_a_name_and_an_unknown_code_stays(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open(AGENT)
    assert '<option value="" selected>Not set</option>' in page.text
    signed_in.submit(page, AGENT, {**filled(page), "lang": "nl"})
    assert '<option value="nl" selected>Dutch</option>' in signed_in.open(AGENT).text
    workspace_api.patch(f"/v3{AGENT}", {"agent": {"lang": "x-" + "<" * 200}})
    page = signed_in.open(AGENT)
    stored = html.escape("x-" + "<" * 200)
    assert f'<option value="{stored}" selected>' in page.text and page.text.count("&lt;" * 101) == 1
    signed_in.submit(page, AGENT, {**filled(page), "title": "Named", "lang": html.unescape(stored)})
    agent = read_agent(workspace_api)
    assert (agent["title"], agent["lang"]) == ("Named", html.unescape(stored))


def test_an_agents_page_links_to_its_records(signed_in: Browser) -> None:
    page = signed_in.open(AGENT).text.partition("About this agent")[2]
    assert ">support</code>" in page and page.count("<time ") == 2
    assert f'href="{signed_in.home}/convos?tab=all&amp;agent=support"' in page
    assert f'href="{signed_in.home}/leads?agent=support"' in page and "/site" not in page


def test_an_operator_tries_an_agent_beside_its_save_button(operator: Browser, signed_in: Browser) -> None:
    link = f'<a class="button second" href="{operator.home}/agents/support/try">Try it</a>'
    page = operator.open(AGENT)
    assert link in page.text and link not in signed_in.open(AGENT).text
    refused = operator.submit(page, AGENT, {**filled(page), "vg_temperature": "warm"})
    assert link not in refused.text  # leaving would lose the changes


def test_saving_without_a_change_writes_nothing(signed_in: Browser) -> None:
    before = snapshot()
    assert "Saved." in save(signed_in, {}).text
    assert snapshot() == before


def test_an_agent_with_many_welcome_messages_is_saved(signed_in: Browser, workspace_api: Api) -> None:
    many = [f"Hello {number}" for number in range(200)]
    workspace_api.patch(f"/v3{AGENT}", {"agent": {"vg_initMessages": many}})
    assert "Saved." in save(signed_in, {"vg_initMessages.200": "Welcome"}).text
    assert read_agent(workspace_api)["vg_initMessages"] == [*many, "Welcome"]


def test_fields_and_json_are_saved_and_what_is_hidden_stays(signed_in: Browser, workspace_api: Api) -> None:
    before, page = read_agent(workspace_api), signed_in.open(AGENT)
    rest = json.loads(filled(page)["rest"])
    assert not {"limits", "title", "voiceConfig"} & rest.keys()
    rest["nodes"][1]["name"] = "Goodbye"
    rest["nodes"][1]["instructions"] = "Say goodbye."
    rest["ui"] = {"widgetType": "direct-chat"}
    changed = {
        "title": "Help",
        "starred": "on",
        "vg_temperature": "0.5",
        "vg_initMessages.1": "",
        "vg_initMessages.2": "Ask me",
        "limits.maxMonthlyCreditsUsage": "",
        "limits.maxAnnualCreditsUsage": "900",
        "voiceConfig.speechGen.voiceId": "",
        "voiceConfig.speechGen.provider": "speechA",
        "voiceConfig.transcriber.speechConfig.sampleRate": "16000",
        "rest": json.dumps(rest),
    }
    assert "Saved." in save(signed_in, changed, page).text
    after = read_agent(workspace_api)
    assert after == {
        **before,
        "title": "Help",
        "starred": True,
        "vg_temperature": 0.5,
        "vg_initMessages": ["Hello", "Ask me"],
        "limits": {"maxAnnualCreditsUsage": 900},
        "nodes": [{"id": "start", "name": "Start"}, {"id": "end", "name": "Goodbye", "instructions": "Say goodbye."}],
        "ui": {"widgetType": "direct-chat"},
        "voiceConfig": {
            "speechGen": {"apiKey": CANARY, "provider": "speechA"},
            "transcriber": {"speechConfig": {"sampleRate": 16000}},
        },
    }


@pytest.mark.parametrize(
    ("changed", "field", "rule"),
    [
        ({"vg_temperature": "warm"}, "vg_temperature", "must be a number"),
        ({"retention.days": "0"}, "retention.days", "greater than or equal to 1"),
        ({"rest": "{"}, "rest", "line 1, column 2"),
        ({"rest": '{"voiceConfig": {"speechGen": {"voiceId": "x"}}}'}, "rest", "voiceConfig.speechGen.voiceId"),
        ({"voiceConfig.transcriber.speechConfig.sampleRate": "high"}, SAMPLE_RATE, "must be a number"),
        ({"rest": "[]"}, "rest", "must be a JSON object"),
        ({"rest": '{"theme": NaN}'}, "rest", "is not JSON"),
        ({"rest": "[" * 100_000}, "rest", "is not JSON"),
        ({"rest": '{"title": "x"}'}, "rest", "a field on this page: title"),
        ({"rest": '{"nodes": []}'}, "rest", "nodes cannot be removed"),
        ({"rest": '{"theme": 5}'}, "rest", "theme: must be a string"),
        ({"rest": '{"ui": {"voice": {"question": 1}}}'}, "rest", "ui.voice.question: must be a string"),
        ({"rest": '{"nonsense": 1}'}, "rest", "nonsense: "),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_what_was_typed_stays(
    changed: dict[str, str], field: str, rule: str, signed_in: Browser
) -> None:
    before = snapshot()
    answer = save(signed_in, {"description": "Typed just now", **changed})
    assert (answer.status, "Typed just now" in answer.text) == (400, True)
    assert rule in answer.text.partition(f'id="wrong-{field}">')[2].partition("</p>")[0]
    # The form is marked as changed, and the link beside its button shows the saved values again.
    assert f'action="{signed_in.home}{AGENT}" class="changed">' in answer.text
    assert f'href="{signed_in.home}{AGENT}">Discard' in answer.text
    focused = re.findall(r'<(?:input|textarea) id="([^"]+)"[^>]* autofocus', answer.text)
    assert focused == [field] and f'aria-describedby="wrong-{field}"' in answer.text
    assert (
        all(html.escape(value) in answer.text or len(value) > 1000 for value in changed.values()) or "rest" in changed
    )
    assert snapshot() == before


def test_two_people_who_edit_at_once_lose_nothing(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open(AGENT)
    workspace_api.patch(f"/v3{AGENT}", {"agent": {"description": "By the other", "theme": "dark"}})
    answer = save(signed_in, {"title": "By me"}, page)
    assert answer.status == 412
    assert "Someone else has saved this" in answer.text
    assert "By the other" in answer.text and 'value="By me"' in answer.text and "<code>theme</code>" in answer.text
    assert re.findall(r"<h3>(.*?)</h3>", answer.text) == ["Description", "Title", "<code>theme</code>"]
    assert read_agent(workspace_api)["title"] == "Support"
    kept = {**filled(answer), "description": "By the other"}
    assert "Saved." in signed_in.post(AGENT, kept).text
    assert [read_agent(workspace_api)[name] for name in ("title", "description")] == ["By me", "By the other"]


@pytest.mark.skipif(not has("tool_calls"), reason="The form needs the extension tool_calls.")
def test_a_tool_is_tested_with_its_reason_if_it_is_not(signed_in: Browser, workspace_api: Api) -> None:
    open_tool = {"name": "Look up", "serverUrl": "http://127.0.0.1:9/x", "fields": [{"key": "order", "in": "query"}]}
    tools = [open_tool, {"name": "Pay", "serverUrl": "https://pay.test", "serverUrlSecret": CANARY}]
    ids = [workspace_api.post(f"/v3{AGENT}/tools", {"tool": tool}).data["id"] for tool in tools]
    page = signed_in.open(AGENT)
    assert 'name="argument.order"' in page.text and CANARY not in page.text
    called = signed_in.submit(page, f"/tools/{ids[0]}", {"argument.order": "5"})
    assert (called.status, "no response" in called.text.lower()) == (200, True)
    refused = signed_in.submit(page, f"/tools/{ids[1]}", {"arguments": "{}"})
    assert (refused.status, "secrets" in refused.text, CANARY in refused.text) == (403, True, False)
    assert signed_in.submit(page, f"/tools/{ids[0]}", {"arguments": "["}).status == 400


@pytest.mark.skipif(not has("tool_calls"), reason="The form needs the extension tool_calls.")
def test_a_tool_test_has_a_field_for_each_parameter(signed_in: Browser, workspace_api: Api) -> None:
    keys = {"order": "number", "open": "boolean", "name": "string", "note": "string"}
    fields = [{"key": key, "in": "body", "type": kind, "required": key == "order"} for key, kind in keys.items()]
    tool = {"name": "Look up", "method": "POST", "serverUrl": "http://127.0.0.1:9/x", "fields": fields}
    tool_id = workspace_api.post(f"/v3{AGENT}/tools", {"tool": tool}).data["id"]
    page = signed_in.open(AGENT)
    assert page.text.count('name="argument.') == 4
    labels = [
        " ".join(re.sub("<[^>]+>", "", one).split())
        for one in re.findall('<label for="argument-.*?</label>', page.text)
    ]
    assert labels == ["order Number, required", "open Yes or no", "name Text", "note Text"]
    typed = {"argument.order": "5", "argument.open": "true", "argument.name": "7", "argument.note": ""}
    tested = html.unescape(signed_in.submit(page, f"/tools/{tool_id}", typed).text)
    body = json.dumps({"order": 5, "open": True, "name": "7"}, indent=2)
    assert body in tested and 'name="argument.order" value="5"' in tested
    workspace_api.patch(
        f"/v3/tools/{tool_id}", {"tool": {"fields": [{"key": f"k{n}", "in": "body"} for n in range(21)]}}
    )
    many = signed_in.open(AGENT).text
    assert 'name="argument.' not in many and "&#34;k20&#34;" in many and 'name="arguments"' in many


def test_another_organisations_agents_and_tools_are_not_found(signed_in: Browser, workspace_api: Api) -> None:
    tool = workspace_api.post("/v3/agents/other/tools", {"tool": {"name": "T", "serverUrl": "https://a.test"}}).data
    fields, before = filled(signed_in.open(AGENT)), snapshot()
    assert signed_in.open("/agents/other").status == 404
    tools = [f"{agent}/tools/{tool['id']}" for agent in ("/agents/other", AGENT)] if has("tool_calls") else []
    for path in ("/agents/other", *tools):
        assert signed_in.post(path, fields).status == 404
    assert snapshot() == before


def test_secrets_are_on_no_page(signed_in: Browser, workspace_api: Api) -> None:
    key = workspace_api.get(f"/v3{AGENT}").data.get("SECRET_API_KEY") or CANARY
    for path in ("/agents", AGENT):
        page = signed_in.open(path)
        assert page.status == 200
        assert CANARY not in page.text and key not in page.text and "unknownMember" not in page.text


def deep(value: Any, levels: int) -> Any:
    """Return a value inside nested lists."""
    for _ in range(levels):
        value = [value]
    return value


LARGE: dict[str, Any] = {
    "deep": {"nodes": [{"id": "start", "rf": deep([0] * 70_000, 180)}]},
    "many": {"nodes": [{"id": str(number), "name": "<"} for number in range(13_000)]},
    "text": {"customThemeJSONString": "<" * 1_900_000},
    "prompt": {"vg_systemPrompt": "<" * 1_900_000, "title": "'" * 90_000},
    "messages": {"vg_initMessages": [""] * 70_000},
    "keys": {"nodes": [{"id": "start", "rf": {f"{number}'": {"a": {"b": {"c": 1}}} for number in range(15_000)}}]},
}


@one_of_each(lambda name: "nodes" in LARGE[name])
@pytest.mark.parametrize("name", LARGE)
def test_the_largest_agents_make_pages_below_a_megabyte(name: str, signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open(AGENT)
    assert "too large for this page" not in page.text
    assert workspace_api.patch(f"/v3{AGENT}", {"agent": {"nodes": None}}).status == 200
    assert workspace_api.patch(f"/v3{AGENT}", {"agent": LARGE[name]}).status == 200
    before = read_agent(workspace_api)
    sizes = [len(signed_in.open(path).text.encode()) for path in ("/agents", "/overview")]
    shown, conflict = signed_in.open(AGENT), save(signed_in, {"description": "Mine"}, page)
    assert (shown.status, conflict.status) == (200, 412)
    assert max(*sizes, *(len(one.text.encode()) for one in (shown, conflict))) < 1_000_000
    assert "These members are too large for this page" in shown.text
    assert "Saved." in save(signed_in, {"description": "Mine"}).text
    assert read_agent(workspace_api) == {**before, "description": "Mine"}


def test_many_tools_make_a_small_page(signed_in: Browser, workspace_api: Api) -> None:
    fields = [{"key": f"{number}'"} for number in range(500)]
    tool = {"name": "<" * 2_000, "serverUrl": "https://a.test", "description": "<" * 2_000, "fields": fields}
    for _ in range(25):
        assert workspace_api.post(f"/v3{AGENT}/tools", {"tool": tool}).status == 200
    page = signed_in.open(AGENT)
    assert (page.status, len(page.text.encode()) < 200_000, "Only the first tools" in page.text) == (200, True, True)


@pytest.mark.parametrize(
    ("name", "value"),
    [("vg_initMessages." + "9" * 5_000, "Hello"), ("messagesLimit", "[" * 90_000), ("rest", "[" * 90_000)],
    ids=["a long number", "a deep number", "deep JSON"],
)
def test_a_hostile_field_is_an_error_of_the_form(signed_in: Browser, workspace_api: Api, name: str, value: str) -> None:
    page, before = signed_in.open(AGENT), read_agent(workspace_api)
    answer = signed_in.post(AGENT, {**filled(page), name: value})
    assert answer.status in (200, 400, 413)
    assert read_agent(workspace_api) == before


def test_an_agent_with_many_long_messages_can_be_saved(signed_in: Browser, workspace_api: Api) -> None:
    messages = [f"Bonjour {number} é" for number in range(900)]
    members = {"vg_initMessages": messages, "vg_systemPrompt": "é" * 60_000}
    assert workspace_api.patch(f"/v3{AGENT}", {"agent": members}).status == 200
    assert "Saved." in save(signed_in, {"vg_initMessages.900": "Au revoir"}).text
    assert read_agent(workspace_api)["vg_initMessages"] == [*messages, "Au revoir"]
