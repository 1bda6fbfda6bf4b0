"""People set the status of leads, in the list and on a lead's page, and list the leads with a status."""

import html
import re

import pytest

from tests.api import Answer, Api
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import HOSTILE, PASSWORD


@pytest.fixture
def bo(browser: Browser, workspace_api: Api) -> Browser:
    """Return the client's browser, and store leads of Ann, Ben and Ann, and a lead of another agent."""
    for agent_id, name in (("support", "Ann"), ("support", "Ben"), ("support", "Ann"), ("other", "Cy")):
        add_lead(workspace_api, agentId=agent_id, name=name, email=f"{name}@a.test")
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def add_lead(api: Api, **members: str) -> str:
    lead_id: str = api.post("/v3/leads", {"lead": {"agentId": "support", **members}}).data["id"]
    return lead_id


def rows(page: Answer) -> list[tuple[str, str]]:
    """Return the name and the status in each row."""
    matches = re.findall(
        r'<a class="named".*?<span>([^<]*)<.*?<summary class="state[^"]*"[^>]*>([^<]*)<', page.text, re.DOTALL
    )
    return [(html.unescape(name), status) for name, status in matches]


def stored(api: Api) -> list[str]:
    return [lead.get("leadStatus", "") for lead in api.get("/v3/leads?agentId=support").data]


def test_a_row_sets_the_status_of_all_its_leads(bo: Browser, workspace_api: Api) -> None:
    page = bo.open("/leads?q=a.test&order=oldest")
    (value,) = re.findall(r'name="set" value="contacted ([^" ]* [^"]*)"', page.text)
    fields = {**csrf_field(page), "set": f"contacted {value}"}
    changed = bo.post("/leads?q=a.test&order=oldest", fields)
    assert rows(changed) == [("Ann", "Contacted"), ("Ann", "Contacted"), ("Ben", "New")]
    assert "Leads marked as contacted: 2." in changed.text and "Oldest first" in changed.text
    assert stored(workspace_api) == ["contacted", "", "contacted"]
    again = bo.post("/leads", {**fields, "set": f"new {value.split()[0]}"})
    assert "Leads marked as new: 1." in again.text and sorted(stored(workspace_api)) == ["", "", "contacted"]


def test_a_status_of_several_leads_is_undone(bo: Browser, workspace_api: Api) -> None:
    *_, latest = [one["id"] for one in workspace_api.get("/v3/leads?agentId=support").data]
    workspace_api.patch(f"/v3/leads/{latest}", {"lead": {"leadStatus": "contacted"}})
    chosen = dict(re.findall(r'name="(pick\.[^"]*)" value="([^"]*)"', bo.open("/leads").text))
    changed = bo.post("/leads?q=a.test", {**csrf_field(bo.open("/leads")), **chosen, "action": "closed"})
    assert "Leads marked as closed: 3." in changed.text and stored(workspace_api) == ["closed"] * 3
    (undo,) = re.findall(r'name="undo" value="([^"]*)">Undo</button>', changed.text)
    fields = {**csrf_field(changed), "undone": "closed", "undo": undo}
    newest = workspace_api.get("/v3/leads?agentId=support").data[0]["id"]
    workspace_api.patch(f"/v3/leads/{newest}", {"lead": {"leadStatus": "contacted"}})  # by a colleague
    assert "Leads that have their earlier status again: 2." in bo.post("/leads?q=a.test", fields).text
    assert stored(workspace_api) == ["contacted", "", "contacted"]
    other = workspace_api.get("/v3/leads?agentId=other").data[0]["id"]
    for words, status in ((f"closed {other}", 404), (f"{HOSTILE} {newest}", 400), (newest, 400)):
        assert bo.post("/leads", {**fields, "undone": "contacted", "undo": words}).status == status
    assert stored(workspace_api) == ["contacted", "", "contacted"]


def test_the_number_of_leads_of_the_chosen_people_is_counted(bo: Browser) -> None:
    page = bo.open("/leads").text
    boxes = re.findall(r'name="pick\.\d+" value="([^"]*)">(?:<i></i>)*', page)
    counts = [box.count("<i></i>") for box in re.findall(r'name="pick\.[^>]*>(?:<i></i>)*', page)]
    assert [len(ids.split()) for ids in boxes] == counts == [2, 1]


def test_several_people_get_a_status(bo: Browser, workspace_api: Api) -> None:
    page = bo.open("/leads")
    chosen = dict(re.findall(r'name="(pick\.[^"]*)" value="([^"]*)"', page.text))
    changed = bo.post("/leads", {**csrf_field(page), **chosen, "action": "closed"})
    assert [status for _, status in rows(changed)] == ["Closed"] * 3 == [*map(str.capitalize, stored(workspace_api))]


def test_the_list_shows_the_leads_with_a_status(bo: Browser, workspace_api: Api) -> None:
    for status in ("contacted", "closed", HOSTILE, ""):
        add_lead(workspace_api, name=f"Has {status}", leadStatus=status)
    names = {status: [name for name, _ in rows(bo.open(f"/leads?status={status}"))] for status in ("contacted", "new")}
    assert names == {"contacted": ["Has contacted"], "new": ["Has ", f"Has {HOSTILE}", "Ann", "Ann", "Ben"]}
    assert len(rows(bo.open(f"/leads?status={HOSTILE}"))) == 7
    page = bo.open("/leads?status=closed").text
    assert '<option value="closed" selected>' in page and ">Clear filters</a>" in page
    assert "No leads match" in bo.open("/leads?status=closed&q=ben").text
    heading, line = bo.open("/leads.csv?status=closed").text.splitlines()
    assert heading.endswith(",createdAt,status") and line.endswith(",closed")


def test_a_changed_status_keeps_the_page_of_the_list(bo: Browser, workspace_api: Api) -> None:
    for number in range(50):
        add_lead(workspace_api, name=f"Lead {number}")
    first = bo.open("/leads")
    following = html.unescape(re.findall(r'href="[^"]*(/leads\?[^"]*cursor=[^"]*)"', first.text)[0])
    page = bo.open(following)
    at = re.findall(r'id="mark" action="[^"]*(/leads[^"]*)"', page.text)
    assert [html.unescape(one) for one in at] == [following]
    value = re.findall(r'name="set" value="(closed [^"]*)"', page.text)[0]
    assert rows(bo.post(following, {**csrf_field(page), "set": value}))[0] == ("Ann", "Closed")


def test_the_page_of_a_lead_sets_its_status(bo: Browser, workspace_api: Api) -> None:
    path = f"/leads/support/{add_lead(workspace_api, name='Dee', custom='kept')}"
    page = bo.open(path)
    assert re.findall(r'name="status" value="(\w+)" aria-pressed="true"', page.text) == ["new"]
    changed = bo.submit(page, path, {"status": "contacted"})
    assert re.findall(r'name="status" value="(\w+)" aria-pressed="true"', changed.text) == ["contacted"]
    assert "Saved." in changed.text
    lead = workspace_api.get("/v3/leads?agentId=support").data[0]
    assert (lead["leadStatus"], lead["custom"]) == ("contacted", "kept")
    assert bo.submit(page, path, {"status": HOSTILE}).status == 400


def test_the_status_of_another_agents_lead_is_kept(bo: Browser, workspace_api: Api) -> None:
    other = workspace_api.get("/v3/leads?agentId=other").data[0]["id"]
    form = csrf_field(bo.open("/leads"))
    for path, fields in (("/leads", {"set": f"closed {other}"}), (f"/leads/other/{other}", {"status": "closed"})):
        assert bo.post(path, {**form, **fields}).status == 404
    assert bo.post("/leads", {**form, "set": f"{HOSTILE} {other}"}).status == 400
    assert "leadStatus" not in workspace_api.get(f"/v3/leads/{other}").data
