"""The list of leads: its order and pages, one row per person, and its file."""

import html
import re

import pytest

from chalicelib import clock
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.capacity import metered
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import HOSTILE, PASSWORD

TODAY = clock.iso(clock.seconds())[:10]


@pytest.fixture
def bo(browser: Browser, workspace_api: Api) -> Browser:
    """Return the client's browser, and store a lead for the client's agent and for another agent."""
    for agent_id in ("support", "other"):
        add_lead(workspace_api, agentId=agent_id, name=f"Ann of {agent_id}", email="a@b.test")
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def add_lead(api: Api, **members: str) -> str:
    """Create a lead, by default of the client's agent, and return its id."""
    lead_id: str = api.post("/v3/leads", {"lead": {"agentId": "support", **members}}).data["id"]
    return lead_id


def rows(page: str) -> list[list[str]]:
    """Return the names in each person's rows."""
    bodies = re.findall(r"<tbody[^>]*>(.*?)</tbody>", page, re.DOTALL)
    return [re.findall(r'<a class="named".*?<span>([^<]*)<', one) for one in bodies]


def test_a_person_sees_the_leads_of_their_agents(bo: Browser) -> None:
    for path in (
        "",
        "?agent=support",
        "?agent=other",
        "?q=ANN",
        f"?from={TODAY}&to={TODAY}",
        "?cursor=" + "7" + "z" * 25,
    ):
        for page in (bo.open(f"/leads{path}"), bo.open(f"/leads.csv{path}")):
            assert page.status == 200
            assert "Ann of support" in page.text and "Ann of other" not in page.text
    assert "/convos?tab=all&amp;agent=support&amp;q=a%40b.test" in bo.open("/leads").text
    for path in ("?q=no-match", "?to=2026-01-01"):
        assert "No leads match" in bo.open(f"/leads{path}").text
    assert bo.open("/leads?from=2026-02-02&to=2026-02-01").status == 400
    assert ">From: 2 Feb 2026</span>" in bo.open("/leads?from=2026-02-02").text


def test_the_leads_of_several_agents_are_listed_by_time(
    browser: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    agents = [f"agent-{number}" for number in range(4)]
    for agent_id in agents:
        workspace_api.post(f"/v2/agents/{agent_id}", {})
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": agents})
    for number in range(120):
        pass_time(1)
        lead = {"agentId": agents[number * number % 7 % 3], "name": f"Lead {number}."}
        assert workspace_api.post("/v3/leads", {"lead": lead}).status in (200, 201)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    path, names, requests = "/leads", [], []
    while path:
        with metered() as meter:
            page = browser.open(path).text
        requests.append(meter.requests["Query"])
        names += re.findall(r">(Lead \d+\.)<", page)
        following = re.search(r'href="[^"]*/leads(\?cursor=\w+)', page)
        path = f"/leads{following[1]}" if following else ""
    newest_first = [f"Lead {number}." for number in reversed(range(120))]
    assert names == newest_first
    assert re.findall(r"Lead \d+\.", browser.open("/leads.csv").text) == newest_first
    # One request for each agent, and one more for each of the two agents with the most leads on the page.
    # The first page also counts each agent's leads.
    assert requests == [4 + 6, 6, 4]
    assert ">The newest 50 of 120 leads" in browser.open("/leads").text


def test_leads_are_listed_from_the_oldest(browser: Browser, workspace_api: Api, pass_time: PassTime) -> None:
    for number in range(70):
        pass_time(1)
        agent_id = ("support", "second")[number % 2]
        workspace_api.post("/v2/agents/second", {})
        workspace_api.post("/v3/leads", {"lead": {"agentId": agent_id, "name": f"Lead {number}."}})
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": ["support", "second"]})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    for agent, numbers in (("", range(70)), ("agent=second&", range(1, 70, 2))):
        page = browser.open(f"/leads?{agent}order=oldest").text
        cursor = re.search(r"&amp;cursor=(\w+)|\?cursor=(\w+)", page)
        rest = browser.open(f"/leads?{agent}order=oldest&cursor={cursor[1]}").text if cursor else ""
        assert re.findall(r">(Lead \d+\.)<", page + rest) == [f"Lead {number}." for number in numbers]
        assert 'aria-sort="ascending"' in page and (">35 leads <" if agent else ">The oldest 50 of 70 leads <") in page
    assert "No leads match" in browser.open("/leads?order=oldest&to=2026-01-01").text


def test_an_operator_sees_all_leads_page_by_page(workspace: NewWorkspace, workspace_api: Api) -> None:
    for number in range(60):
        workspace_api.post(
            "/v3/leads", {"lead": {"agentId": ("support", "other")[number % 2], "name": f"Lead {number}."}}
        )
    browser = Browser(workspace.workspace_id)
    page = browser.post("", {"key": workspace.workspace_key})
    page = browser.open("/leads")
    following = page.text.partition("/leads?cursor=")[2].partition('"')[0]
    both = page.text + browser.open(f"/leads?cursor={following}").text
    exported = browser.open("/leads.csv").text
    for number in range(60):
        assert both.count(f">Lead {number}.<") == exported.count(f",Lead {number}.,") == 1


def test_a_persons_leads_are_together(browser: Browser, workspace_api: Api) -> None:
    """They have the same email, or the same phone number if no other person has it."""
    for name, email, phone in (
        ("First", "", "+31 1"),
        ("Second", "a@b.test", ""),
        ("Alone", "", ""),
        ("Third", "A@b.test", "+31 1"),
        ("One", "c@b.test", "+31 2"),
        ("Other", "d@b.test", "+31 2"),
        ("Unknown", "", "+31 2"),
        ("Nameless", "", ""),
    ):
        add_lead(workspace_api, name=name, email=email, phone=phone)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/leads").text
    newest_first = [["Nameless"], ["Unknown"], ["Other"], ["One"], ["Third", "Second", "First"], ["Alone"]]
    assert rows(page) == newest_first
    assert ">8 leads, from 6 people<" in page.replace(" <a", "<a") and re.findall(
        r"<summary[^>]*>([^<]*more)<", page
    ) == ["+ 2 more"]
    assert "Search all leads for a@b.test" in page and " on this page</summary>" not in page
    page = browser.open("/leads?q=a@b.test").text
    assert "<details open>" in page and ">2 leads, all from one person <" in page


def test_a_list_with_a_next_page_says_which_leads_it_groups(browser: Browser, workspace_api: Api) -> None:
    for _ in range(52):
        add_lead(workspace_api, name="Ann", email="a@b.test")
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/leads").text
    assert rows(page) == [["Ann"] * 50] and ">The newest 50 of 52 leads, all from one person <" in page
    assert ">+ 49 more</summary>" in page
    following = browser.open(html.unescape(re.findall(r'href="[^"]*(/leads\?[^"]*cursor=[^"]*)"', page)[0])).text
    assert ">The next 2 leads, all from one person <" in following
    oldest = browser.open("/leads?order=oldest").text
    assert ">The oldest 50 of 52 leads, all from" in oldest
    assert ">The first 50 leads found, all from" in browser.open("/leads?q=ann").text


def test_a_list_shows_what_the_visitors_asked_about(browser: Browser, workspace_api: Api) -> None:
    for convo_id, texts in (("ann", [HOSTILE, "And dogs?"]), ("ben", ["", "A room?"])):
        turns = [{"from": "human", "messages": [{"item": {"text": text}}]} for text in texts]
        workspace_api.post(f"/agents/support/interact/{convo_id}/state", {"turns": turns})
    workspace_api.post("/agents/support/interact/cy/state", {"turns": []})
    workspace_api.patch("/v3/agents/support/convos/cy", {"conversation": {"title": "Parking"}})
    for convo_id in ("ann", "ben", "cy", "unknown", HOSTILE):
        add_lead(workspace_api, name=convo_id[:3], convoId=convo_id)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/leads").text
    asked = re.findall(r'<td class="asked"><span>([^<]*)<', page)
    assert [html.unescape(text) for text in asked] == ["", "", "Parking", "A room?", HOSTILE]
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/leads"]})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert "asked" not in browser.open("/leads").text


def test_the_order_of_the_list_is_named(bo: Browser) -> None:
    for query, order, other in (("", "Newest first", "?order=oldest"), ("?order=oldest", "Oldest first", "")):
        page = bo.open(f"/leads{query}").text
        link = re.findall(r'<a class="order" href="([^"]*)"[^>]*aria-label="([^"]*)">([^<]*)', page)
        assert link == [(f"{bo.home}/leads{other}", f"{order}. Change the order", f"{order} ")]


def choose(page: str) -> dict[str, str]:
    """Return the form's fields with all check boxes checked."""
    boxes = re.findall(r'name="(pick\.[^"]*)" value="([^"]*)"', page)
    return {"form": re.findall(r'name="form" value="([^"]*)"', page)[-1], **dict(boxes)}


def test_the_leads_of_chosen_people_are_exported(browser: Browser, workspace_api: Api) -> None:
    for name, email in (("Ann", "a@b.test"), ("Ben", "b@b.test"), ("Ann", "a@b.test")):
        add_lead(workspace_api, name=name, email=email)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/leads").text
    assert 'value="delete"' not in page
    fields = choose(page)
    ann = next(name for name, value in fields.items() if " " in value)
    file = browser.post("/leads", {"form": fields["form"], "action": "export", ann: fields[ann]})
    assert file.headers["content-disposition"] == 'attachment; filename="leads.csv"'
    assert (file.text.count("a@b.test"), file.text.count("b@b.test")) == (2, 0)
    assert browser.post("/leads", {**fields, "action": "delete"}).status == 403
    assert len(workspace_api.get("/v3/leads").data) == 3


def test_an_administrator_deletes_the_leads_of_chosen_people(browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    for name in ("Ann", "Ben"):
        add_lead(workspace_api, name=name)
    other = add_lead(workspace_api, agentId="other", name="Other")
    page = browser.open("/leads?order=oldest")
    fields = choose(page.text)
    action = "/leads?order=oldest"
    assert "Select people first." in browser.submit(page, action, {"action": "delete"}).text
    foreign = browser.submit(page, action, {**fields, "action": "delete", "pick.other": other})
    too_many = browser.submit(page, action, {"action": "delete", "pick.1": " ".join(["x"] * 51)})
    unknown = browser.submit(page, action, {**fields, "action": "end"})
    assert (foreign.status, too_many.status, unknown.status) == (404, 400, 400)
    assert len(workspace_api.get("/v3/leads").data) == 3
    ben = [*fields][2]
    after = browser.submit(page, action, {ben: fields[ben], "action": "delete"}).text
    assert "Leads deleted: 1." in after and rows(after) == [["Ann"]] and "Oldest first" in after
    assert [lead["name"] for lead in workspace_api.get("/v3/leads").data] == ["Other", "Ann"]
    assert "Leads deleted: 1." in browser.submit(page, action, {ben: fields[ben], "action": "delete"}).text
