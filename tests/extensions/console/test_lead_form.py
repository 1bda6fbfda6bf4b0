"""People correct leads in the console, and administrators delete them."""

import html
import re

import pytest

from tests.api import Api
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import HOSTILE, PASSWORD


@pytest.fixture
def path(workspace_api: Api) -> str:
    """Return the path of a lead's page."""
    lead = {"agentId": "support", "name": "Ann", "email": "ann@a.test", "custom": "kept"}
    return f"/leads/support/{workspace_api.post('/v3/leads', {'lead': lead}).data['id']}"


@pytest.fixture
def bo(browser: Browser, workspace_api: Api) -> Browser:
    """Return the browser of a person, who is signed in."""
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def test_a_lead_is_corrected(bo: Browser, path: str, workspace_api: Api) -> None:
    assert f'{path}"' in bo.open("/leads").text
    page = bo.open(path)
    fields = {"name": HOSTILE, "email": "", "phone": "123"}
    assert "Saved." in bo.submit(page, path, fields).text
    lead = workspace_api.get(f"/v3{path.replace('/support', '')}").data
    assert (lead["name"], lead["phone"], lead["custom"], "email" in lead) == (HOSTILE, "123", "kept", False)
    stale = bo.submit(page, path, {"name": "Other"})
    assert (stale.status, "<img" in stale.text) == (412, False)


def test_only_administrators_delete_a_lead(bo: Browser, path: str, workspace_api: Api) -> None:
    page = bo.open(path)
    assert 'value="delete"' not in page.text
    assert bo.submit(page, path, {"action": "delete"}).status == 403
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    bo.start_session(email="bo@acme.test", password=PASSWORD)
    page = bo.open(path)
    assert "permanently" in page.text
    for _ in range(2):
        assert "The lead has been deleted." in bo.submit(page, path, {"action": "delete"}).text
    assert workspace_api.get("/v3/leads").data == []


def test_a_list_of_leads_shows_the_number_and_the_next_action(bo: Browser, workspace_api: Api) -> None:
    assert "There are no leads yet." in bo.open("/leads").text
    workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "name": "Ann"}})
    assert "Shown: 1. Newest first." in bo.open("/leads").text
    assert f'<a class="button second" href="{bo.home}/leads">Clear filters</a>' in bo.open("/leads?q=other").text


def test_a_lead_of_another_agent_is_not_found(bo: Browser, path: str, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support", "other"]})
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    bo.start_session(email="bo@acme.test", password=PASSWORD)
    other = path.replace("support", "other")
    form = csrf_field(bo.open(path))
    before = workspace_api.get("/v3/leads").data
    assert [bo.post(other, {**form, "name": "x"}).status, bo.open(other).status] == [404, 404]
    bo.post(other, {**form, "action": "delete"})
    assert workspace_api.get("/v3/leads").data == before


def test_a_lead_leads_to_its_conversation(bo: Browser, workspace_api: Api) -> None:
    def link(**members: str) -> str:
        lead = workspace_api.post("/v3/leads", {"lead": {"agentId": "support", **members}}).data
        links = re.findall(pattern, bo.open(f"/leads/support/{lead['id']}").text)
        assert re.findall(pattern, bo.open("/leads").text)[: len(links)] == links
        return html.unescape(*links) if links else ""

    pattern = r'href="[^"]*(/convos[/?][^"]*)"'

    workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"userEmail": "ann@a.test"}})
    path = link(convoId="ann", email="ann@a.test")
    assert (path, bo.open(path).status) == ("/convos/support/ann", 200)
    for members in ({"userID": "ann"}, {"convoId": HOSTILE, "email": "ann@a.test"}):
        path = link(**members)
        assert "&to=1" in path
        assert "/convos/support/ann" in bo.open(path).text
    assert link() == ""


@pytest.mark.parametrize(
    ("member", "text", "address"),
    [
        ("email", "ann+1@mail.a.test", "mailto:ann+1@mail.a.test"),
        ("email", "ann@a.test?bcc=eve@b.test", None),
        ("email", "ann", None),
        ("phone", "+31 (0)6 12-34", "tel:+31061234"),
        ("phone", "12;ext=3", None),
        ("phone", HOSTILE, None),
    ],
)
def test_a_lead_links_an_email_and_a_phone_number(
    member: str, text: str, address: str | None, bo: Browser, workspace_api: Api
) -> None:
    lead = workspace_api.post("/v3/leads", {"lead": {"agentId": "support", member: text}}).data
    page = bo.open(f"/leads/support/{lead['id']}").text
    assert re.findall(r'<a href="((?:mailto|tel):[^"]*)">([^<]*)</a>', page) == ([(address, text)] if address else [])
    assert "<img" not in page and "<dl" in page
