"""Operators create, copy, export and delete agents in the console."""

import html
import re

import pytest

from chalicelib.extensions import has
from chalicelib.extensions.console.agent_pages import agent_records
from chalicelib.extensions.console.presentation import rendering
from tests.api import Api
from tests.conversations.test_tallies import Pipeline
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.moto_tables import snapshot

needs_copies = pytest.mark.skipif(not has("copies"), reason="Copies and templates need the extension copies.")


def test_an_operator_creates_an_agent_and_arrives_at_its_form(operator: Browser, workspace_api: Api) -> None:
    assert f'href="{operator.home}/new-agent"' in operator.open("/agents").text
    page = operator.open("/new-agent")
    created = operator.submit(page, "/new-agent", {"title": "Sales"})
    assert "The agent has been created." in created.text and "<h1>Sales</h1>" in created.text
    assert '/site"' in created.text and "cams_agent_" not in created.text
    titles = [agent["title"] for agent in workspace_api.get("/v3/agents").data]
    assert sorted(titles) == ["Other", "Sales", "Support"]


def test_a_new_agent_has_the_submitted_system_prompt(operator: Browser, workspace_api: Api) -> None:
    page = operator.open("/new-agent")
    operator.submit(page, "/new-agent", {"title": "Sales", "vg_systemPrompt": "Be kind.\r\nBe brief."})
    operator.submit(operator.open("/new-agent"), "/new-agent", {"title": "Plain", "vg_systemPrompt": " \r\n"})
    prompts = {agent["title"]: agent.get("vg_systemPrompt") for agent in workspace_api.get("/v3/agents").data}
    assert (prompts["Sales"], prompts["Plain"]) == ("Be kind.\nBe brief.", None)


@pytest.mark.parametrize("name", agent_records.STARTERS)
def test_a_suggestion_fills_in_the_form_and_an_agent_has_a_language(
    operator: Browser, workspace_api: Api, name: str
) -> None:
    t, page = rendering.texts("en"), operator.open(f"/new-agent?start={name}")
    title, prompt = t(f"starter.{name}"), t(f"starter.{name}.prompt")
    assert f'value="{title}"' in page.text and f"{prompt}</textarea>" in html.unescape(page.text)
    operator.submit(page, "/new-agent", {"title": title, "vg_systemPrompt": prompt, "lang": "nl"})
    created = {agent["title"]: agent for agent in workspace_api.get("/v3/agents").data}[title]
    assert (created["vg_systemPrompt"], created["lang"]) == (prompt, "nl")
    assert f'value="{title}"' not in operator.open("/new-agent?start=unknown").text


def test_a_new_agent_can_be_added_to_an_organisation(operator: Browser, workspace_api: Api) -> None:
    page, before = operator.open("/new-agent"), workspace_api.get("/v2/orgs/acme").data["widgetIDs"]
    for _ in range(2):
        created = operator.submit(page, "/new-agent", {"title": "Sales", "org": "acme"})
    (added,) = {*workspace_api.get("/v2/orgs/acme").data["widgetIDs"]} - {*before}
    assert workspace_api.get(f"/v3/agents/{added}").data["title"] == "Sales" and f"/agents/{added}/" in created.text
    before = snapshot()
    assert operator.submit(operator.open("/new-agent"), "/new-agent", {"title": "Next", "org": "x"}).status == 404
    assert snapshot() == before


def test_a_new_agent_has_the_language_of_the_page_and_the_likely_organisation(
    operator: Browser, workspace_api: Api
) -> None:
    """With several organisations, none is likely, and the page says who sees an agent without one."""
    page = operator.open("/new-agent").text
    assert '<option value="en" selected>' in page and '<option value="acme" selected>' in page
    workspace_api.post("/v2/orgs/boats", {"name": "Boats"})
    page = operator.open("/new-agent").text
    assert "Without an organisation, only operators see them." in page and '<option value="acme" selected>' not in page
    samples = page.partition("</aside>")[2]
    assert "<summary>Look around first</summary>" in samples and "/sample-data" in samples


def test_a_new_organisations_page_leads_to_a_new_agent_for_it(operator: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/boats", {"name": "Boats"})
    path = "/new-agent?org=boats"
    assert f'href="{operator.home}{path}">New agent</a>' in operator.open("/settings/orgs/boats").text
    page = operator.open(path).text
    assert '<option value="boats" selected>' in page
    started = operator.submit(operator.open(path), "/new-agent", {"org": "boats", "start": "support"}).text
    assert '<option value="boats" selected>' in started and 'value="Customer service"' in started
    assert "/new-agent?org=acme" in operator.open("/settings/orgs/acme").text


def test_a_new_agent_starts_blank_or_from_a_suggestion(operator: Browser) -> None:
    for start, selected in (("", "Blank"), ("?start=support", "Customer service"), ("?start=x", "Blank")):
        page = operator.open(f"/new-agent{start}").text
        assert re.findall(r'aria-current="true"><strong>([^<]*)<', page) == [selected] and 'name="template"' not in page


def test_a_suggestion_keeps_what_was_typed(operator: Browser, workspace_api: Api) -> None:
    t, before, page = rendering.texts("en"), workspace_api.get("/v3/agents").data, operator.open("/new-agent")
    prompt, typed = "", {"title": "Keep me", "lang": "nl", "org": "acme"}
    for name in ("leads", "support"):
        filled = operator.submit(page, "/new-agent", {**typed, "vg_systemPrompt": prompt, "start": name}).text
        assert 'value="Keep me"' in filled and '<option value="nl" selected>' in filled
        prompt = t(f"starter.{name}.prompt")
        assert f"{prompt}</textarea>" in html.unescape(filled)
    filled = operator.submit(page, "/new-agent", {"vg_systemPrompt": "Be\r\nkind.", "start": "bookings"}).text
    assert "Be\r\nkind.</textarea>" in filled and 'aria-current="true"><strong>Bookings<' in filled
    suggested = {"title": t("starter.support"), "vg_systemPrompt": prompt, "start": "blank"}
    assert f'value="{suggested["title"]}"' not in operator.submit(page, "/new-agent", suggested).text
    assert workspace_api.get("/v3/agents").data == before


def test_a_suggestion_says_that_it_kept_a_prompt_and_can_replace_it(operator: Browser) -> None:
    page, kept = operator.open("/new-agent"), "Your own system prompt was kept."
    typed = {"title": "Mine", "vg_systemPrompt": "Be kind."}
    first = operator.submit(page, "/new-agent", {**typed, "start": "bookings"}).text
    assert kept in first and 'name="replace" value="bookings">Use the prompt of “Bookings” instead</button>' in first
    replaced = operator.submit(page, "/new-agent", {**typed, "replace": "bookings"}).text
    prompt = rendering.texts("en")("starter.bookings.prompt")
    assert kept not in replaced and f"{prompt}</textarea>" in html.unescape(replaced) and 'value="Mine"' in replaced
    assert 'aria-current="true"><strong>Bookings<' in replaced
    for fields in ({**typed, "start": "blank"}, {"vg_systemPrompt": "", "start": "bookings"}):
        assert kept not in operator.submit(page, "/new-agent", fields).text


@needs_copies
def test_a_typed_template_is_kept_while_another_start_is_selected(operator: Browser, workspace_api: Api) -> None:
    page = operator.submit(operator.open("/new-agent"), "/new-agent", {"start": "template", "title": "T"})
    page = operator.submit(page, "/new-agent", {"start": "support", "title": "T", "template": '{"a": "<b>"}'})
    page = operator.submit(page, "/new-agent", {"start": "blank", "title": "T", "vg_systemPrompt": "Typed"})
    again = operator.submit(page, "/new-agent", {"start": "template", "title": "T", "vg_systemPrompt": "Typed"})
    assert "{&#34;a&#34;: &#34;&lt;b&gt;&#34;}</textarea>" in again.text
    created = operator.submit(page, "/new-agent", {"title": "T", "vg_systemPrompt": "Typed"})
    assert "<h1>T</h1>" in created.text and ">\nTyped</textarea>" in created.text


@needs_copies
def test_a_template_is_one_of_the_starts_of_a_new_agent(operator: Browser, workspace_api: Api) -> None:
    page = operator.open("/new-agent?start=template")
    for _ in range(2):
        assert re.findall(r'aria-current="true"><strong>([^<]*)<', page.text) == ["From a template"]
        assert 'name="template"' in page.text and 'id="vg_systemPrompt"' not in page.text
        page = operator.submit(page, "/new-agent", {"title": "Typed", "template": "{"})
    assert 'value="Typed"' in page.text
    template = operator.open("/agents/support/template").text
    assert "<h1>Sales</h1>" in operator.submit(page, "/new-agent", {"title": "Sales", "template": template}).text


def test_an_agent_needs_a_title(operator: Browser) -> None:
    page, before = operator.open("/new-agent"), snapshot()
    refused = operator.submit(page, "/new-agent", {"title": " ", "vg_systemPrompt": "Be kind."})
    assert (refused.status, "Enter a title." in refused.text) == (400, True)
    assert "Be kind.</textarea>" in refused.text
    assert snapshot() == before


@needs_copies
def test_a_downloaded_template_makes_an_agent_with_the_same_tools(operator: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v3/agents/support/tools", {"tool": {"name": "Look up", "serverUrl": "https://a.test"}})
    file = operator.open("/agents/support/template")
    assert file.headers["content-disposition"] == 'attachment; filename="agent.json"'
    page = operator.open("/new-agent?start=template")
    created = operator.submit(page, "/new-agent", {"template": file.text})
    assert "<h1>Support</h1>" in created.text and "Look up" in created.text


@needs_copies
@pytest.mark.parametrize(
    ("template", "rule"),
    [
        ("{", "is not JSON"),
        ("[" * 50_000, "is not JSON"),
        ("5", "must be a JSON object"),
        ('{"agentTemplate": 5}', "must be a JSON object"),
        ('{"nodes": 5}', "agentTemplate.nodes"),
        ('{"nonsense": 5}', "agentTemplate.nonsense"),
    ],
)
def test_an_invalid_template_is_shown_again_with_its_rule(
    operator: Browser, workspace_api: Api, template: str, rule: str
) -> None:
    refused = operator.submit(operator.open("/new-agent?start=template"), "/new-agent", {"template": template})
    assert (refused.status, rule in refused.text) == (400, True)
    assert 'id="wrong-template"' in refused.text
    assert len(workspace_api.get("/v3/agents").data) == 2


@needs_copies
def test_a_copy_has_a_key_of_its_own_and_a_form_makes_one_copy(operator: Browser, workspace_api: Api) -> None:
    page = operator.open("/agents/support")
    offers = re.findall("<li><p>(.*?)</p>", page.text.partition('class="plain offers"')[2])
    assert [offer.split()[1] for offer in offers] == ["copy", "template", "deletion"]
    for _ in range(2):
        copied = operator.submit(page, "/support/clone", {})
        assert "This is the copy." in copied.text
    agents = [agent for agent in workspace_api.get("/v3/agents").data if agent["title"] == "Support"]
    assert len(agents) == len({agent["SECRET_API_KEY"] for agent in agents}) == 2


@needs_copies
def test_a_copy_gets_its_own_title_and_no_organisation(operator: Browser, workspace_api: Api) -> None:
    page = operator.open("/agents/support")
    assert 'name="copy_title" type="text" value="Copy of Support"' in page.text
    for _ in range(2):
        copied = operator.submit(page, "/support/clone", {"copy_title": " Copy of Support "})
    titles = sorted(agent["title"] for agent in workspace_api.get("/v3/agents").data)
    assert titles == ["Copy of Support", "Other", "Support"]
    notice = "It belongs to no organisation yet, so only operators see it."
    link = f'<a href="{operator.home}/settings#organisations">Choose an organisation</a>'
    assert f"{notice} {link}" in copied.text
    (copy,) = [agent["ID"] for agent in workspace_api.get("/v3/agents").data if agent["title"] == titles[0]]
    workspace_api.post(f"/v2/agents/{copy}", {"title": "Nights"})
    operator.submit(page, "/support/clone", {"copy_title": "Copy of Support"})
    assert workspace_api.get(f"/v3/agents/{copy}").data["title"] == "Nights"


def test_a_deletion_counts_what_it_removes(
    operator: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Pipeline(monkeypatch)
    for number in range(3):
        body = {"turns": [{"from": "human", "messages": [{"item": {"text": "Hi"}}]}]}
        assert workspace_api.post(f"/agents/support/interact/ann-{number}/state", body).status == 200
        workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "name": f"Ann {number}"}})
    pipeline.run()
    workspace_api.post("/v3/agents/support/tools", {"tool": {"name": "Look up"}})
    counts = "<dt>Conversations</dt><dd>3</dd><dt>Leads</dt><dd>{}</dd>\n<dt>Tools</dt><dd>1</dd>"
    page = operator.open("/agents/support/delete").text
    assert (
        counts.format(3) in page
        and "the audit log stay." in page
        and "the newest 500 conversations, or the newest 5,000 leads" in page
    )
    assert f'href="{operator.home}/leads.csv?agent=support" download' in page
    if has("reports"):
        assert (
            f'href="{operator.home}/settings/usage.csv" download' in page
            and "past usage stays for 400 days" in html.unescape(page)
        )
    monkeypatch.setattr(agent_records, "_MAX_LEADS", 2)
    assert counts.format("More than 2") in operator.open("/agents/support/delete").text


def test_only_the_title_deletes_an_agent(operator: Browser, workspace_api: Api) -> None:
    page, before = operator.open("/agents/support/delete"), snapshot()
    refused = operator.submit(page, "/support/delete", {"title": "Suport"})
    assert (refused.status, "This is not the agent" in refused.text) == (400, True)
    assert "Type “Support” to confirm" in refused.text
    assert snapshot() == before
    for _ in range(2):
        deleted = operator.submit(page, "/support/delete", {"title": " Support "})
        assert "The agent has been deleted." in deleted.text and "/agents/support" not in deleted.text
    assert workspace_api.get("/v3/agents/support").status == 404


def test_people_see_neither_buttons_nor_pages_of_operators(browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    pages = browser.open("/agents").text + browser.open("/agents/support").text
    assert not re.search("/new-agent|/delete|/clone|/template|/site", pages)
    assert {browser.open(path).status for path in ("/new-agent", "/agents/support/delete", "/agents/support/site")} == {
        403
    }
