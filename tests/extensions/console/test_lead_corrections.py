"""A correction of a lead includes the person's other leads, if the person chooses so."""

import re

import pytest

from tests.api import Api
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import PASSWORD

NEW = {"name": "Ann", "email": "ann@new.test", "phone": ""}


@pytest.fixture
def bo(browser: Browser, workspace_api: Api) -> Browser:
    """Return the client's browser, and store two leads of Ann, one of Joann, and one of another agent."""
    for agent_id, email in (("support", "ann@a.test"), ("support", "joann@a.test"), ("other", "ann@a.test")):
        add_lead(workspace_api, agentId=agent_id, email=email)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


@pytest.fixture
def path(bo: Browser, workspace_api: Api) -> str:
    return f"/leads/support/{add_lead(workspace_api, name='An', email='ann@a.test')}"


def add_lead(api: Api, **members: str) -> str:
    lead_id: str = api.post("/v3/leads", {"lead": {"agentId": "support", **members}}).data["id"]
    return lead_id


def stored(api: Api, agent_id: str = "support") -> list[str]:
    """Return the emails of an agent's leads, newest first."""
    return [lead["email"] for lead in api.get(f"/v3/leads?agentId={agent_id}").data]


def chosen(text: str) -> dict[str, str]:
    """Return the field of the check box for the other leads, as if it were checked."""
    return dict(re.findall(r'<input id="others" name="(others)" type="checkbox" value="([^"]*)"', text))


def test_a_correction_includes_the_persons_other_leads(bo: Browser, path: str, workspace_api: Api) -> None:
    page = bo.open(path)
    assert "Also correct this person&#39;s other lead</label>" in page.text
    saved = bo.submit(page, path, {**NEW, **chosen(page.text)}).text
    assert "Saved. Other leads of this person that were corrected: 1." in saved and "kept their" not in saved
    assert stored(workspace_api) == ["ann@new.test", "joann@a.test", "ann@new.test"]
    assert stored(workspace_api, "other") == ["ann@a.test"]
    assert [lead.get("name") for lead in workspace_api.get("/v3/leads?agentId=support").data] == ["Ann", None, "Ann"]


def test_a_correction_is_for_one_lead_by_default(bo: Browser, path: str, workspace_api: Api) -> None:
    page = bo.open(path)
    assert "corrected:" not in bo.submit(page, path, NEW).text
    assert stored(workspace_api) == ["ann@new.test", "joann@a.test", "ann@a.test"]


def test_other_leads_get_the_details_of_a_lead_that_was_corrected_before(
    bo: Browser, path: str, workspace_api: Api
) -> None:
    bo.submit(bo.open(path), path, {**NEW, "email": "ann@a.test"})
    page = bo.open(path)
    saved = bo.submit(page, path, {**NEW, "email": "ann@a.test", **chosen(page.text)}).text
    assert "Other leads of this person that were corrected: 1." in saved
    assert [lead.get("name") for lead in workspace_api.get("/v3/leads?agentId=support").data] == ["Ann", None, "Ann"]


def test_a_lead_is_not_corrected_twice(bo: Browser, path: str, workspace_api: Api) -> None:
    page, before = bo.open(path), stored(workspace_api)
    other = chosen(page.text)["others"]
    for others in (f"{other} {other}", path.rpartition("/")[2]):
        assert bo.submit(page, path, {**NEW, "others": others}).status == 400
    older = "name,email,phone:email:ann@a.test"  # a link from elsewhere is not signed for the session
    assert bo.open(f"{path}?older={older}").status == 400
    assert bo.post(path, {**csrf_field(page), "older": older, "others": other}).status == 400
    assert stored(workspace_api) == before


def test_leads_that_changed_in_the_meantime_keep_their_details(bo: Browser, path: str, workspace_api: Api) -> None:
    third, fourth = (add_lead(workspace_api, email="ann@a.test") for _ in range(2))
    page = bo.open(path)
    assert "Also correct this person&#39;s 3 other leads" in page.text
    workspace_api.patch(f"/v3/leads/{third}", {"lead": {"email": "eve@a.test"}})
    workspace_api.delete(f"/v3/leads/{fourth}")
    saved = bo.submit(page, path, {**NEW, **chosen(page.text)}).text
    assert "corrected: 1." in saved and "because they had changed since: 2." in saved
    assert stored(workspace_api) == ["eve@a.test", "ann@new.test", "joann@a.test", "ann@new.test"]


def test_a_rejected_correction_changes_no_lead_and_keeps_the_choice(bo: Browser, path: str, workspace_api: Api) -> None:
    page = bo.open(path)
    refused = bo.submit(page, path, {**NEW, "email": "ann", **chosen(page.text)})
    assert refused.status == 400 and 'value="' + chosen(page.text)["others"] + '" checked>' in refused.text
    other = workspace_api.get("/v3/leads?agentId=other").data[0]["id"]
    for ids, status in ((other, 404), (" ".join([other] * 25), 400), ("../x", 400)):
        assert bo.submit(page, path, {**NEW, "others": ids}).status == status
    assert stored(workspace_api) == ["ann@a.test", "joann@a.test", "ann@a.test"]
    assert stored(workspace_api, "other") == ["ann@a.test"]


def test_a_lead_without_a_contact_has_no_other_leads(bo: Browser, workspace_api: Api) -> None:
    lead, other = (add_lead(workspace_api, name="Cy") for _ in range(2))
    at = f"/leads/support/{lead}"
    page = bo.open(at)
    assert chosen(page.text) == {}
    tag = re.findall(r'name="tag" value="([^"]*)"', page.text)[0].replace("&#34;", '"')
    bo.post(at, {**csrf_field(page), "tag": tag, "name": "Cyd", "others": other})
    assert [one["name"] for one in workspace_api.get("/v3/leads?agentId=support").data[:2]] == ["Cy", "Cyd"]
