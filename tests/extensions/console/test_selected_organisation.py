"""Tests for the organisation that an operator selects for all lists."""

import re
from http import HTTPStatus

import pytest

from chalicelib import clock, ids
from chalicelib.agents import listing
from chalicelib.extensions.console.access import organisation_list, sessions
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import state_body
from tests.capacity import metered
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.stored_counts import count

_LISTS = ("/overview", "/convos", "/convos?tab=all", "/analytics", "/leads", "/agents")


@pytest.fixture
def two_customers(operator: Browser, workspace_api: Api) -> Browser:
    """Return an operator's browser. Acme has the agent `support`, and Boats the agent `boats`."""
    workspace_api.post("/v2/agents/boats", {"title": "Boat desk"})
    workspace_api.post("/v2/orgs/boats", {"name": "Boats & Co", "widgetIDs": ["boats"]})
    workspace_api.post("/v2/orgs/empty", {"name": "Empty Ltd"})
    for agent_id, name in (("support", "Ann"), ("boats", "Ben")):
        body = state_body(f"Hello from {name}") | {"metadata": {"userName": name, "state": "requested_chat"}}
        workspace_api.post(f"/agents/{agent_id}/interact/{name.lower()}/state", body)
        workspace_api.post("/v3/leads", {"lead": {"agentId": agent_id, "name": f"Lead of {name}"}})
    return operator


def select(operator: Browser, org_id: str, following: str = "") -> str:
    """Select an organisation, and return the text of the page that follows."""
    page = operator.open("/organisation")
    return operator.submit(page, "/organisation", {"org": org_id, "next": following}).text


def test_all_lists_show_the_selected_organisation(two_customers: Browser) -> None:
    before = {path: two_customers.open(path).text for path in _LISTS}
    assert all("Boat desk" in text for text in before.values()), [*before]
    assert 'class="selected"' not in before["/leads"] and ">All organisations</a>" in before["/leads"]
    page = select(two_customers, "acme", "/convos")
    assert "Hello from Ann" in page and "Hello from Ben" not in page
    assert re.search(r'<span class="count" data-waiting=[^>]*>1<', page)
    for path in _LISTS:
        text = two_customers.open(path).text
        assert re.search(r'class="selected"[^>]*>Acme', text), path
        assert not any(name in text for name in ("Boat desk", "Hello from Ben", "Lead of Ben")), path
    assert "Boat desk" in select(two_customers, "")


def test_leads_show_the_organisation_below_their_agent(two_customers: Browser) -> None:
    page = two_customers.open("/leads").text
    agents = re.findall(r'<td class="of"><span>([^<]*)</span><span class="channel">([^<]*)</span>', page)
    assert agents == [("Boat desk", "Boats &amp; Co · Web chat"), ("Support", "Acme Travel · Web chat")]
    lead = re.findall(r'class="named" href="[^"]*(/leads/[^"]*)"', page)[0]
    assert "<dt>Organisation</dt><dd>Boats &amp; Co</dd>" in two_customers.open(lead).text
    select(two_customers, "boats")
    assert "<dt>Organisation</dt>" not in two_customers.open(lead).text
    assert 'class="channel">Web chat<' in two_customers.open("/leads").text


def test_the_choice_shows_who_waits_in_each_organisation(two_customers: Browser) -> None:
    select(two_customers, "acme")
    page = two_customers.open("/organisation").text
    rows = re.findall(r"<strong>(.*?)</strong>(?:<span class=\"soon\">(\d+) waiting)?", page)
    waiting = {"All organisations": "2", "Acme Travel": "1", "Boats &amp; Co": "1", "Empty Ltd": ""}
    assert dict(rows) == waiting


def test_files_contain_the_selected_organisation(two_customers: Browser) -> None:
    select(two_customers, "boats")
    leads, conversations = (two_customers.open(f"/{name}").text for name in ("leads.csv", "convos.csv?tab=all"))
    assert "Lead of Ben" in leads and "Lead of Ann" not in leads
    assert "Ben" in conversations and "Ann" not in conversations


def test_records_of_other_organisations_still_open(two_customers: Browser) -> None:
    select(two_customers, "acme")
    for path in ("/agents/boats", "/convos/boats/ben", "/jump?q=boat"):
        assert "Boat desk" in re.sub("</?mark>", "", two_customers.open(path).text), path


def test_an_agent_in_the_address_is_shown_with_a_notice(two_customers: Browser) -> None:
    select(two_customers, "acme")
    for path, other in (
        ("/convos", "Hello from Ben"),
        ("/convos?tab=all", "Hello from Ben"),
        ("/leads", "Lead of Ben"),
    ):
        query = f"{'&' if '?' in path else '?'}agent=boats"
        text = two_customers.open(path + query).text
        assert other in text and other.replace("Ben", "Ann") not in text, path
        assert "Boat desk is not an agent of Acme Travel" in text and ">Show only Acme Travel</a>" in text
        assert other not in two_customers.open(path).text, path
    page = two_customers.open("/analytics?agent=boats").text
    assert '<option value="boats" selected>' in page and "Boat desk is not an agent of" in page
    for agent_id in ("support", "unknown"):
        assert "is not an agent of" not in two_customers.open(f"/convos?agent={agent_id}").text
    for name, shown in (("leads.csv?", "Lead of Ben"), ("convos.csv?tab=all&", "Ben"), ("inbox?tab=all&", "Ben")):
        assert shown in two_customers.open(f"/{name}agent=boats").text, name


def test_an_agent_in_the_address_of_another_page_changes_nothing(two_customers: Browser) -> None:
    select(two_customers, "acme")
    for path in ("/overview", "/agents"):
        page = two_customers.open(f"{path}?agent=boats").text
        assert "Boat desk" not in page and "Hello from Ben" not in page, path


def test_agents_of_the_selected_organisation_are_searched(two_customers: Browser, workspace_api: Api) -> None:
    for agent_id in ("ferry", "ferry-of-others"):
        workspace_api.post(f"/v2/agents/{agent_id}", {"title": "Ferry desk"})
        workspace_api.patch(f"/v3/agents/{agent_id}", {"agent": {"starred": True}})
    workspace_api.post("/v2/orgs/boats", {"name": "Boats & Co", "widgetIDs": ["boats", "ferry"]})
    select(two_customers, "boats")
    listed = {
        query: set(re.findall(r'/agents/([\w-]+)">', two_customers.open(f"/agents{query}").text))
        for query in ("", "?q=FERRY", "?starred=true", "?q=boat&starred=true")
    }
    assert [*listed.values()] == [{"boats", "ferry"}, {"ferry"}, {"ferry"}, set()]
    assert "No agents match" in two_customers.open("/agents?q=support").text


def test_agents_of_the_selected_organisation_are_sorted(
    two_customers: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    for agent_id, title in (("quay", "B"), ("sail", "C"), ("tide", "A")):
        pass_time(60)
        workspace_api.post(f"/v2/agents/{agent_id}", {"title": title})
    workspace_api.post("/v2/orgs/boats", {"name": "Boats & Co", "widgetIDs": ["quay", "sail", "tide"]})
    select(two_customers, "boats")
    for query, expected in (("", ["tide", "sail", "quay"]), ("?sort=title", ["tide", "quay", "sail"])):
        assert re.findall(r'/agents/([\w-]+)">', two_customers.open(f"/agents{query}").text) == expected


@pytest.fixture
def many_agents(two_customers: Browser, workspace_api: Api) -> Browser:
    """Return an operator's browser. The selected organisation has 60 large agents, the last of them first by title."""
    agent_ids = [f"agent-{number:02}" for number in range(60)]
    for number, agent_id in enumerate(agent_ids):
        agent = {"title": f"Number {59 - number:02}", "vg_systemPrompt": ids.random_text(30_000)}
        workspace_api.post(f"/v2/agents/{agent_id}", agent)
    workspace_api.post("/v2/orgs/boats", {"name": "Boats & Co", "widgetIDs": agent_ids})
    select(two_customers, "boats")
    return two_customers


def listed_agents(browser: Browser, path: str) -> tuple[list[str], str]:
    """Return the ids of the agents that a page lists, and the path of the next page."""
    page = browser.open(path).text
    following = re.search(r'href="[^"]*(/agents\?[^"]*)">More</a>', page)
    return re.findall(r'/agents/(agent-\d+)">', page), following[1].replace("&amp;", "&") if following else ""


def test_many_agents_of_an_organisation_are_sorted_together(many_agents: Browser) -> None:
    first, following = listed_agents(many_agents, "/agents?sort=title")
    last, end = listed_agents(many_agents, following)
    assert [*first, *last] == [f"agent-{number:02}" for number in reversed(range(60))]
    assert (len(first), end) == (50, "")
    assert listed_agents(many_agents, "/agents?page=x")[0][0] == "agent-59"  # the last change


def test_a_search_in_an_organisation_reads_no_whole_agent(many_agents: Browser) -> None:
    for query, expected in (("number+59", ["agent-00"]), ("without+match", [])):
        with metered() as meter:
            assert listed_agents(many_agents, f"/agents?q={query}") == (expected, "")
        assert meter.reads <= 20, meter


def test_a_search_reads_further_pages_until_it_finds_agents(
    many_agents: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A workspace with more agents than a search examines in the index is searched agent by agent."""
    monkeypatch.setattr(listing, "MAX_SEARCHED", 60)
    assert listed_agents(many_agents, "/agents?q=number+00") == (["agent-59"], "")
    first, following = listed_agents(many_agents, "/agents")
    assert {*first, *listed_agents(many_agents, following)[0]} == {f"agent-{number:02}" for number in range(60)}


def test_a_new_agent_is_for_the_selected_organisation(two_customers: Browser, workspace_api: Api) -> None:
    for number in range(101):
        workspace_api.post(f"/v2/orgs/a-{number:03}", {"name": f"Shop {number:03}"})
    select(two_customers, "boats")
    options = re.findall(r'<option value="([^"]*)"( selected)?>(\w+)', two_customers.open("/new-agent").text)
    names = [name for value, _, name in options if value in ("acme", "boats", "empty") or value.startswith("a-")]
    assert names == ["Acme", "Boats", "Empty", *["Shop"] * 101]
    assert [value for value, chosen, _ in options if chosen and value] == ["en", "boats"]  # the page's language


def test_a_selection_ends_with_its_session(two_customers: Browser, workspace: NewWorkspace) -> None:
    select(two_customers, "boats")
    (cookie,) = re.findall("__Secure-cams-org=[^;]+", two_customers.cookie)
    later = two_customers.another()
    later.start_session(key=workspace.workspace_key)
    later.cookie += f"; {cookie}"
    assert 'class="selected"' not in later.open("/convos").text


def test_an_organisation_without_agents_leads_to_its_agents(two_customers: Browser) -> None:
    page = select(two_customers, "empty", "/overview")
    assert "Empty Ltd has no agents" in page and "/settings/orgs/empty/agents" in page
    assert "Hello from" not in two_customers.open("/convos?tab=all").text


def test_a_removed_organisation_is_no_longer_selected(two_customers: Browser, workspace_api: Api) -> None:
    select(two_customers, "boats")
    workspace_api.delete("/v2/orgs/boats")
    page = two_customers.open("/convos").text
    assert "Hello from Ann" in page and "Hello from Ben" in page and 'class="selected"' not in page


@pytest.mark.parametrize("org_id", ["unknown", "../acme", "a" * 200])
def test_an_unknown_organisation_cannot_be_selected(two_customers: Browser, org_id: str) -> None:
    page = two_customers.open("/organisation")
    answer = two_customers.submit(page, "/organisation", {"org": org_id})
    assert answer.status == HTTPStatus.NOT_FOUND and "Set-Cookie" not in answer.headers
    assert "Hello from Ben" in two_customers.open("/convos").text


def test_the_selection_returns_only_to_pages_with_lists(two_customers: Browser) -> None:
    assert 'value="/leads"' in two_customers.open("/organisation?next=/leads").text
    for following in ("//evil.test", "/settings", "https://evil.test"):
        assert "evil" not in two_customers.open(f"/organisation?next={following}").text
        assert "<h1>Overview</h1>" in select(two_customers, "acme", following)


def test_many_organisations_are_searched(two_customers: Browser, workspace_api: Api) -> None:
    page = two_customers.open("/organisation").text
    assert 'type="search"' in page and f'href="{two_customers.home}/settings/new-org">New organisation</a>' in page
    assert 'aria-current="page"' not in page and 'aria-current="page"' in two_customers.open("/overview").text
    for number in range(101):
        workspace_api.post(f"/v2/orgs/org-{number}", {"name": f"Shop {number:03}"})
    page = two_customers.open("/organisation").text
    assert page.count('name="org"') == 1 + 100 and "Only the first 100" in page
    found = two_customers.open("/organisation?q=sHOP+09&next=/leads").text
    assert re.findall(r"<strong>(Shop \d+)</strong>", found) == [f"Shop {number:03}" for number in range(90, 100)]
    assert 'value="/leads"' in found and "Only the first" not in found
    assert "No organisation" in two_customers.open("/organisation?q=xyz").text


def test_daily_pages_name_the_organisation_of_each_agent(two_customers: Browser, workspace_api: Api) -> None:
    """They do so for operators who see several organisations, but not within one organisation."""
    both, own = ("Boat desk · Boats &amp; Co", "Support · Acme Travel"), "Support · Acme Travel"
    for path in ("/overview", "/convos", "/convos?tab=all", "/leads", "/analytics"):
        assert all(text in two_customers.open(path).text for text in both), path
    facts = two_customers.open("/convos/boats/ben").text
    assert re.search(r"<dt>Organisation</dt><dd>Boats &amp; Co</dd>", facts)
    select(two_customers, "acme")
    for path in ("/overview", "/convos", "/leads", "/analytics", "/convos/support/ann"):
        page = two_customers.open(path).text
        assert own not in page and "<dt>Organisation</dt>" not in page, path


def test_clients_do_not_see_the_organisations_of_their_agents(
    two_customers: Browser, signed_in: Browser, workspace_api: Api
) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": ["support", "boats"]})
    sessions.clear_cache()
    for path in ("/overview", "/convos", "/convos/boats/ben", "/leads", "/analytics"):
        page = signed_in.open(path).text
        assert "Boat desk" in page and "Boat desk · " not in page, path
        assert "Boats &amp; Co" not in page and "<dt>Organisation</dt>" not in page, path


def test_an_agent_of_many_organisations_names_two(two_customers: Browser, workspace_api: Api) -> None:
    for org_id in ("cafe", "dairy"):
        workspace_api.post(f"/v2/orgs/{org_id}", {"name": org_id.title(), "widgetIDs": ["boats"]})
    assert "Boat desk · Boats &amp; Co, Cafe, …<" in two_customers.open("/convos").text


def test_organisations_with_the_same_name_are_told_apart(two_customers: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/boats", {"name": "Acme Travel", "widgetIDs": ["boats"]})
    page = two_customers.open("/convos").text
    assert "Boat desk · Acme Travel (boats)<" in page and "Support · Acme Travel (acme)<" in page


@pytest.mark.usefixtures("midday")
def test_conversations_are_compared_by_organisation(
    two_customers: Browser, workspace: NewWorkspace, workspace_api: Api
) -> None:
    workspace_api.post("/v2/agents/ferry", {"title": "Ferry desk"})
    workspace_api.post("/v2/orgs/boats", {"name": "Boats & Co", "widgetIDs": ["boats", "ferry"]})
    workspace_api.post("/v2/orgs/cafe", {"name": "Cafe"})
    today = clock.iso(clock.seconds())[:10]
    for agent_id, number in (("support", 3), ("boats", 4), ("ferry", 5), ("other", 2)):
        count(workspace.workspace_id, agent_id, today, 1, "NL", conversations=number)
    row = re.compile(r'<th scope="row">(.*?)</th><td class="amount">.*?<td class="figure">(\d+)</td>')
    expected = [("Boats &amp; Co", "9"), ("Acme Travel", "3"), ("No organisation", "2")]
    analytics = two_customers.open("/analytics?days=7&by=organisation").text
    assert row.findall(analytics.partition('id="breakdown"')[2])[:3] == expected
    overview = two_customers.open("/overview?days=7").text.partition("Conversations by organisation</a>")[2]
    overview = overview.partition("</section>")[0]  # Cafe and Empty Ltd have no agents
    assert row.findall(overview) == expected and re.findall(r"And \d+ without \w+", overview) == [
        "And 2 without conversations"
    ]
    assert "Boats &amp; Co" not in two_customers.open("/analytics.csv?days=7&by=country").text
    assert "Boats & Co" in two_customers.open("/analytics.csv?days=7&by=organisation").text
    select(two_customers, "boats")
    assert "organisation</h2>" not in two_customers.open("/overview").text
    grouped, whole = (two_customers.open(f"/analytics.csv?days=7&by={by}") for by in ("organisation", ""))
    assert (grouped.status, grouped.text) == (200, whole.text)
    page = two_customers.open("/analytics?by=organisation")
    assert page.status == 200 and 'id="breakdown"' not in page.text
    assert 'value="organisation"' not in two_customers.open("/analytics").text


def test_a_session_knows_the_organisations_of_few_agents(
    two_customers: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(organisation_list, "_MAX_NAMED", 3)
    many = [*("a b", "a" * 3_000), *(f"z-{number}" for number in range(1_000))]
    workspace_api.post("/v2/orgs/boats", {"name": "Boats & Co", "widgetIDs": [*many, "boats"]})
    assert "Boat desk · Boats &amp; Co<" in two_customers.open("/convos").text
    ((_, session),) = sessions._cache.values()
    assert {*(session.remembered or {})["organisations by agent"]} == {"boats", "support", "z-0"}
