"""A correction continues with the person's older leads, which the page of the corrected lead finds and counts."""

import html
import re
from urllib.parse import quote

import pytest

from chalicelib.extensions.console.access import session_store, sessions
from chalicelib.extensions.console.lead_pages import lead_context, lead_corrections
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import HOSTILE, PASSWORD
from tests.extensions.console.test_lead_corrections import add_lead, chosen, stored

NEW = {"name": "Ann", "email": "ann@new.test", "phone": ""}


@pytest.fixture
def bo(browser: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch) -> Browser:
    """Return the client's browser, and store six leads of Ann. A page compares three leads, a commit corrects two."""
    monkeypatch.setattr(lead_context, "_MAX_LEADS", 3)
    for module in (lead_corrections, pytest.importorskip("chalicelib.extensions.console.lead_pages.older_leads")):
        monkeypatch.setattr(module, "MAX_OTHERS", 2)
    add_lead(workspace_api, agentId="other", email="ann@a.test")
    for email in ("ann@a.test", "ANN@a.test", "joann@a.test", "ann@a.test", "ann@a.test", "ann@a.test"):
        add_lead(workspace_api, email=email)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


@pytest.fixture
def path(bo: Browser, workspace_api: Api) -> str:
    return f"/leads/support/{workspace_api.get('/v3/leads?agentId=support').data[0]['id']}"


def signed(browser: Browser, text: str) -> str:
    """Return a parameter with this text as the browser's session signs it."""
    (token,) = re.findall(f"{sessions.COOKIE}=([^;]*)", browser.cookie)
    return session_store.selection_token(token, "older", text)


def go_on(bo: Browser, page: Answer, path: str) -> Answer:
    """Send the form that corrects the older leads on the page."""
    form = page.text.partition('<form class="card older"')[2].partition("</form>")[0]
    return bo.post(path, dict(map(html.unescape, one) for one in re.findall(r'name="(\w+)" value="([^"]*)"', form)))


def test_a_correction_reaches_all_leads_of_the_person(bo: Browser, path: str, workspace_api: Api) -> None:
    page = bo.open(path)
    assert "Also correct this person&#39;s other leads</label>" in page.text
    assert "Saving corrects 2 of them at once, then looks for older ones" in page.text
    first = bo.submit(page, path, {**NEW, "has_older": "true", **chosen(page.text)})
    assert "were corrected: 2." in first.text
    assert "2 more leads of ann@a.test still have the former details." in first.text
    assert stored(workspace_api) == ["ann@new.test"] * 3 + ["joann@a.test", "ANN@a.test", "ann@a.test"]
    last = go_on(bo, first, path)
    assert "were corrected: 2." in last.text and "former details" not in last.text
    assert stored(workspace_api) == ["ann@new.test"] * 3 + ["joann@a.test", "ann@new.test", "ann@new.test"]
    assert stored(workspace_api, "other") == ["ann@a.test"]
    assert [lead.get("name") for lead in workspace_api.get("/v3/leads?agentId=support").data][3:] == [
        None,
        "Ann",
        "Ann",
    ]


def test_a_correction_continues_where_it_stopped(bo: Browser, path: str, workspace_api: Api) -> None:
    for _ in range(2):
        add_lead(workspace_api, email="ann@a.test")
    page = bo.open(path)
    first = bo.submit(page, path, {"name": "Ann", "email": "ann@a.test", "phone": "", "has_older": "1", "others": ""})
    counts = []
    while "still ha" in first.text:
        counts += re.findall(r"(\d|One) more leads? of ann@a.test still ha(?:s|ve)", first.text)
        assert ("There may be more" in first.text) is (len(counts) < 3)
        first = go_on(bo, first, path)
    assert counts == ["2", "2", "2"]
    names = [lead.get("name") for lead in workspace_api.get("/v3/leads?agentId=support").data]
    assert names == ["Ann"] * 5 + [None, "Ann", "Ann"]


def test_older_leads_are_found_if_only_they_have_other_details(bo: Browser, path: str, workspace_api: Api) -> None:
    workspace_api.patch(f"/v3/leads/{path.rpartition('/')[2]}", {"lead": {"name": "Ann"}})
    same = {"name": "Ann", "email": "ann@a.test", "phone": "", "has_older": "true", "others": ""}
    assert "2 more leads of ann@a.test" in bo.submit(bo.open(path), path, same).text


def test_older_leads_that_changed_keep_their_details(bo: Browser, path: str, workspace_api: Api) -> None:
    page = bo.open(path)
    first = bo.submit(page, path, {**NEW, "has_older": "true", **chosen(page.text)})
    oldest = workspace_api.get("/v3/leads?agentId=support").data[-1]["id"]
    workspace_api.patch(f"/v3/leads/{oldest}", {"lead": {"email": "eve@a.test"}})
    last = go_on(bo, first, path)
    assert "were corrected: 1." in last.text and "because they had changed since: 1." in last.text
    assert stored(workspace_api)[-2:] == ["ann@new.test", "eve@a.test"]


def test_a_correction_without_the_others_asks_nothing(bo: Browser, path: str) -> None:
    assert 'class="card older"' not in bo.submit(bo.open(path), path, {**NEW, "has_older": "true"}).text


def test_invalid_addresses_and_forms_change_nothing(bo: Browser, path: str, workspace_api: Api) -> None:
    for older in (HOSTILE, "name:email:", "name:userID:x", "agentId:email:ann@a.test"):
        assert bo.open(f"{path}?older={quote(signed(bo, older))}", expected_status=400).status == 400
    other = workspace_api.get("/v3/leads?agentId=other").data[0]["id"]
    page = bo.open(f"{path}?older={quote(signed(bo, f'name:email:{HOSTILE}'))}")
    assert HOSTILE not in page.text and "has the former details." in page.text
    for older, others, status in (("name:email:ann@a.test", other, 404), ("x", "", 400), ("name:email:a", "../x", 400)):
        assert bo.submit(page, path, {"older": signed(bo, older), "others": others}).status == status
    assert stored(workspace_api, "other") == ["ann@a.test"]
