"""The list of organisations in the settings: its facts, search, order, pages and cost."""

import re
from urllib.parse import quote

import pytest

from chalicelib import clock, ids
from chalicelib.extensions.console.access import sessions
from chalicelib.extensions.console.settings_pages import organisation_facts
from tests.api import Api
from tests.capacity import metered
from tests.conversations.test_tallies import Pipeline
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import HOSTILE

NAME = re.compile(r'class="named" href="[^"]*/orgs/([\w-]+)"')
CELLS = re.compile(r'<td class="figure" data-label="([^"]*)">(.*?)</td>')


def names(page: str) -> list[str]:
    """Return the ids of the organisations that a page lists."""
    return NAME.findall(page)


def facts(page: str, org_id: str) -> dict[str, str]:
    """Return an organisation's figures by the titles of their columns."""
    row = next(row for row in re.findall("<tr>.*?</tr>", page, re.DOTALL) if f'/orgs/{org_id}"' in row)
    return {title: re.sub("<.*?>", "", text) for title, text in CELLS.findall(row)}


@pytest.fixture
def customers(operator: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch) -> Browser:
    """Return an operator's browser. Acme has one person; Boats has two people and waiting conversations; Cafe none."""
    pipeline = Pipeline(monkeypatch)
    for org_id, name, agent_ids in (("boats", "Boats", ["other", "other", "gone"]), ("cafe", "Café", [])):
        workspace_api.post(f"/v2/orgs/{org_id}", {"name": name, "widgetIDs": agent_ids})
    for name in ("ann", "ben"):
        workspace_api.post(f"/v2/clients/{name}", {"orgId": "boats", "name": name})
        workspace_api.post(f"/agents/other/interact/{name}/state", {"metadata": {"state": "requested_chat"}})
    pipeline.run()
    return operator


@pytest.mark.usefixtures("midday")
def test_the_list_shows_how_each_organisation_is(customers: Browser) -> None:
    page = customers.open("/settings").text
    assert names(page) == ["acme", "boats", "cafe"]
    titles = ("People", "Conversations", "Waiting")
    expected = {"acme": ("1", "0", "0"), "boats": ("2", "2", "2"), "cafe": ("None yet", "0", "0")}
    for org_id, numbers in expected.items():
        assert facts(page, org_id) == dict(zip(titles, numbers, strict=True))
    assert '<span class="soon">No agents</span>' in page
    assert "2 agents" in page and '<div class="hint">Other and 1 more</div>' in page


def test_the_list_is_sorted_and_searched(customers: Browser) -> None:
    for sort in ("people", "waiting"):
        page = customers.open(f"/settings?sort={sort}").text
        assert names(page)[0] == "boats" and page.count('aria-sort="descending"') == 1
    assert names(customers.open("/settings?q=AF&sort=waiting").text) == ["cafe"]
    page = customers.open("/settings?q=xyz").text
    assert not names(page) and "No organisations match." in page
    assert names(customers.open("/settings?sort=unknown&page=x").text) == ["acme", "boats", "cafe"]


def test_the_list_is_searched_by_name_and_id(operator: Browser, workspace_api: Api) -> None:
    assert 'name="q"' in operator.open("/settings").text
    for number in range(8):
        workspace_api.post(f"/v2/orgs/o-{number}", {"name": f"{HOSTILE} Beach {number}"})
    every = [f"o-{number}" for number in range(8)]
    for text, org_ids in {"beach 3": ["o-3"], "O-4": ["o-4"], " travel ": ["acme"], HOSTILE: every}.items():
        page = operator.open(f"/settings?q={quote(text)}").text
        assert names(page) == org_ids and "<img" not in page
    assert ">Clear filters</a>" in operator.open("/settings?q=unknown").text


def test_many_organisations_are_in_pages(customers: Browser, workspace_api: Api) -> None:
    for number in range(60):
        workspace_api.post(f"/v2/orgs/shop-{59 - number:02}", {"name": f"Shop {number:02}"})
    listed, path = list[str](), "/settings?q=shop&sort=people"
    while path:
        page = customers.open(path).text
        listed += names(page)
        more = re.search(r'href="[^"]*(/settings\?[^"]*page=\d+)">More', page)
        path = more[1].replace("&amp;", "&") if more else ""
    assert listed == [f"shop-{59 - number:02}" for number in range(60)]


@pytest.mark.usefixtures("midday")
def test_organisations_with_too_many_agents_show_no_conversations(
    customers: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(organisation_facts, "_MAX_TALLIES", 2)
    monkeypatch.setattr(organisation_facts, "_MAX_PEOPLE", 1)
    page, column = customers.open("/settings").text, "Conversations"
    assert [facts(page, org_id)[column] for org_id in ("acme", "boats", "cafe")] == ["0", "–", "0"]
    assert facts(page, "acme")["People"].endswith("+")
    monkeypatch.setattr(organisation_facts, "_MAX_PEOPLE_BYTES", 1)
    assert facts(customers.open("/settings").text, "acme")["People"] == "0+"


def test_ids_that_no_agent_can_have_are_not_read(operator: Browser, workspace_api: Api) -> None:
    """DynamoDB rejects keys above 2,048 bytes."""
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": ["support", "a" * 3_000, "a#b", ""]})
    page = operator.open("/settings")
    assert page.status == 200 and "1 agent" in page.text and '<div class="hint">Support</div>' in page.text


def test_conversations_of_the_last_month_are_included(
    operator: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline, noon = Pipeline(monkeypatch), 1_793_620_800  # 2 November 2026
    for days in (0, 1, 6, 7):
        monkeypatch.setattr(clock, "milliseconds", lambda days=days: (noon - days * 86_400) * 1000)
        workspace_api.post(f"/agents/support/interact/{days}-days-ago/state", {"metadata": {"userName": "Ann"}})
        pipeline.run()
    monkeypatch.setattr(clock, "milliseconds", lambda: noon * 1000)
    sessions.clear_cache()
    assert facts(operator.open("/settings").text, "acme")["Conversations"] == "3"


@pytest.mark.usefixtures("midday")
def test_the_cost_does_not_depend_on_the_size_of_agents(operator: Browser, workspace_api: Api) -> None:
    """The page reads 30 organisations with 5 agents each from indexes and counters, never a whole agent."""
    for number in range(30):
        agent_ids = [f"agent-{number}-{place}" for place in range(5)]
        for agent_id in agent_ids:
            workspace_api.post(
                f"/v2/agents/{agent_id}", {"title": agent_id, "vg_systemPrompt": ids.random_text(30_000)}
            )
        workspace_api.post(f"/v2/orgs/org-{number}", {"name": f"Customer {number}", "widgetIDs": agent_ids})
    operator.open("/settings")  # caches the session
    with metered() as meter:
        page = operator.open("/settings").text
    assert len(names(page)) == 31 and "agent-29-1" in page
    assert meter.total <= 12 and meter.reads <= 100, meter
