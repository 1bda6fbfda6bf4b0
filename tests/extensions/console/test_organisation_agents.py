"""Operators choose an organisation's agents, and delete organisations."""

import html
import re

import pytest

from chalicelib.extensions import has
from chalicelib.extensions.console.access import sessions
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import PASSWORD

PAGE = "/settings/orgs/acme/agents"
BOX = re.compile(r'name="(agent\.\d+)" type="checkbox" value="([^"]*)"( checked)?')


def boxes(page: Answer) -> dict[str, str]:
    """Return the value of each check box that a browser would send for an unchanged form."""
    return {name: agent_id for name, agent_id, checked in BOX.findall(page.text) if checked}


def box_of(page: Answer, agent_id: str) -> dict[str, str]:
    """Return the field that a browser sends for an agent's checked box."""
    return {name: value for name, value, _ in BOX.findall(page.text) if value == agent_id}


def chosen(api: Api) -> list[str]:
    agent_ids: list[str] = api.get("/v2/orgs/acme").data["widgetIDs"]
    return agent_ids


def test_agents_are_chosen_by_their_titles(operator: Browser, workspace_api: Api) -> None:
    page = operator.open(PAGE)
    assert [*boxes(page).values()] == ["support"]
    assert "Support" in page.text and "Other" in page.text
    saved = operator.submit(page, PAGE, {**boxes(page), **box_of(page, "other")})
    assert "Saved. Acme Travel has 2 agents." in saved.text and chosen(workspace_api) == ["support", "other"]
    saved = operator.submit(saved, PAGE, box_of(saved, "other"))
    assert "Saved. Acme Travel has 1 agent." in saved.text and chosen(workspace_api) == ["other"]


def test_the_page_counts_what_it_lists_and_offers_a_new_agent(operator: Browser, workspace_api: Api) -> None:
    page = operator.open(PAGE).text
    assert "Select all on this page: <output></output> of 2 selected" in page
    assert re.findall(r'<span>(\w+)</span> <code class="hint">(\w+)</code>', page) == [
        ("Support", "support"),
        ("Other", "other"),
    ]
    for path in (PAGE, "/settings/orgs/acme"):
        (link,) = re.findall(
            r'class="button second" href="[^"]*(/new-agent[^"]*)">New agent<', operator.open(path).text
        )
        assert '<option value="acme" selected>' in operator.open(link).text


def test_each_agents_other_organisations_are_named(operator: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/agents/third", {"title": "Third"})
    for org_id, agent_ids in (("boats", ["support", "other"]), ("cafe", ["other"])):
        workspace_api.post(f"/v2/orgs/{org_id}", {"name": f"{org_id.title()} Ltd", "widgetIDs": agent_ids})
    row = re.compile(r'value="(\w+)"(?: checked)?></span>.*?class="hint within">(.*?)<')
    within = dict(row.findall(operator.open(PAGE).text))
    assert within == {"support": "Also in Boats Ltd", "other": "In Boats Ltd, Cafe Ltd", "third": "In no organisation"}


def test_a_new_organisation_lists_agents_of_others_apart(operator: Browser, workspace_api: Api) -> None:
    operator.submit(operator.open("/organisation"), "/organisation", {"org": "acme"})
    page = operator.open("/settings/new-org")
    own, _, others = page.text.partition("<summary>Agents of other organisations (1)</summary>")
    assert 'id="widgetIDs.other"' in own and "<details>" in own and "In Acme Travel" in others
    assert 'id="widgetIDs.support"' in others and 'id="widgetIDs.support"' not in own
    page = operator.submit(page, "/new-org", {"name": "", "widgetIDs.support": "on"})
    assert re.search(
        r'<details open><summary>Agents of other .*id="widgetIDs.support"[^>]* checked', page.text, re.DOTALL
    )
    operator.submit(page, "/new-org", {"name": "Boats", "widgetIDs.support": "on"})
    assert [one.get("widgetIDs") for one in workspace_api.get("/v2/orgs").data if one["name"] == "Boats"] == [
        ["support"]
    ]


def test_a_new_organisation_does_not_begin_with_the_agents_of_others(operator: Browser) -> None:
    path = "/settings/new-org"
    operator.submit(operator.open(path), "/new-org", {"name": "Boats", "widgetIDs.other": "on"})
    shown = re.findall("<details[^>]*><summary>(Agents of other[^<]*)", page := operator.open(path).text)
    assert shown == ["Agents of other organisations (2)"] and "<details open>" not in page


def test_a_search_changes_only_what_it_lists(operator: Browser, workspace_api: Api) -> None:
    page = operator.open(f"{PAGE}?q=oth")
    assert [value for _, value, _ in BOX.findall(page.text)] == ["other"]
    operator.submit(page, PAGE, box_of(page, "other"))
    assert chosen(workspace_api) == ["support", "other"]
    operator.submit(operator.open(f"{PAGE}?q=oth"), PAGE, {})
    assert chosen(workspace_api) == ["support"]
    assert "No agents match." in operator.open(f"{PAGE}?q=nothing").text


def test_a_change_by_someone_else_is_kept(operator: Browser, workspace_api: Api) -> None:
    page = operator.open(f"{PAGE}?q=oth")
    workspace_api.post("/v2/agents/third", {"title": "Third"})
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support", "third"]})
    operator.submit(page, PAGE, box_of(page, "other"))
    assert chosen(workspace_api) == ["support", "third", "other"]


def test_all_agents_can_be_reached(operator: Browser, workspace_api: Api) -> None:
    for number in range(60):
        workspace_api.post(f"/v2/agents/agent-{number}", {"title": f"Agent {number}"})
    seen, page = set[str](), operator.open(PAGE)
    while True:
        seen |= {value for _, value, _ in BOX.findall(page.text)}
        following = re.search(r'class="button second" href="[^"]*/agents(\?[^"]*)">More', page.text)
        if not following:
            break
        page = operator.open(PAGE + following[1].replace("&amp;", "&"))
    assert len(seen) == 62


def test_the_organisation_lists_its_agents_and_counts_its_people(operator: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["other", "removed", "support"]})
    page = operator.open("/settings/orgs/acme").text
    assert re.findall(r'/agents/(\w+)">(\w+)</a></li>', page) == [("other", "Other"), ("support", "Support")]
    assert re.findall(r'<h2>(\w+) <span class="count">(.*?)</span>', page) == [("People", "1"), ("Agents", "3")]
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": []})
    assert "Without agents, people see no conversations." in operator.open("/settings/orgs/acme").text


@pytest.mark.parametrize("path", ["agents", "delete"])
def test_only_operators_change_the_agents_or_delete(path: str, browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    form = csrf_field(browser.open("/settings/orgs/acme"))
    assert browser.post(f"/settings/orgs/acme/{path}", form).status == 403
    assert "/delete" not in browser.open("/settings/orgs/acme").text
    assert workspace_api.get("/v2/orgs/acme").status == 200


def test_an_organisation_is_deleted_after_a_question(operator: Browser, workspace_api: Api) -> None:
    page = operator.open("/settings/orgs/acme")
    asked = r'<details class="card"><summary>[^<]*</summary>\s*<form[^>]*/acme/delete">.*?<p>Its agents and people are'
    assert len(re.findall(asked, page.text)) == len(re.findall('<form[^>]*/orgs/acme/delete"', page.text)) == 1
    assert page.text.index(">Choose agents<") < page.text.index("/orgs/acme/delete")  # the last card
    for _ in range(2):
        assert "The organisation has been deleted." in operator.submit(page, "/orgs/acme/delete", {}).text
    assert workspace_api.get("/v2/orgs/acme").status == 404
    assert workspace_api.get("/v2/clients/bo").status == 200


def test_operators_see_how_an_organisation_is(operator: Browser, signed_in: Browser, workspace_api: Api) -> None:
    for agent, name in (("support", "ann"), ("support", "ben"), ("other", "cas")):
        body = {"metadata": {"state": "requested_chat"}}
        workspace_api.post(f"/agents/{agent}/interact/{name}/state", body)
    page = operator.open("/settings/orgs/acme").text
    assert re.search(r'Waiting for a person</dt><dd class="soon">2</dd>', page)
    workspace_api.post("/v2/orgs/rival", {"name": "Rival", "widgetIDs": ["other"]})
    operator.submit(operator.open("/settings/orgs/rival"), "/organisation", {"org": "rival"})
    page = operator.open("/settings/orgs/acme").text
    assert re.search(r'Waiting for a person</dt><dd class="soon">2</dd>', page)
    assert '<strong class="soon">2</strong>' in operator.open("/settings").text
    links = {"reports": "/settings/usage?org=acme", "history": "/settings/audit?org=acme"}
    for path in (path for extension, path in links.items() if has(extension)):
        assert f'href="{operator.home}{path}"' in page
        assert operator.open(html.unescape(path)).status == 200
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    sessions.clear_cache()
    assert "Waiting for a person</dt>" not in signed_in.open("/settings/orgs/acme").text


def test_operators_choose_who_tags_conversations_and_switch_to_an_organisation(
    operator: Browser, workspace_api: Api
) -> None:
    page = operator.open("/settings/orgs/acme")
    assert "Show only this organisation" in page.text and "cannot tag" not in page.text
    for value, text in (("on", "Only operators"), ("", "Its people, and operators")):
        page = operator.submit(page, "/orgs/acme", {"name": "Acme", "widgetIDs": "support", "disallowAnyTags": value})
        assert f'<option value="{value}" selected>{text}</option>' in page.text
        assert bool(workspace_api.get("/v2/orgs/acme").data.get("disallowAnyTags")) == bool(value)
