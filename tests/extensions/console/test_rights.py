"""The rights that console forms require for changing a person or an agent's limits."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.extensions.console.access import calls, rights, sessions
from chalicelib.extensions.console.presentation import pages
from chalicelib.http import auth
from chalicelib.storage import Document
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.moto_tables import items, snapshot

ORG, TOP = "/settings/orgs/acme", "/settings/orgs/acme/clients/top"
SUPERIOR = {
    "orgId": "acme",
    "name": "Top",
    "email": "top@acme.test",
    "dashboardPassword": "the password of Top",
    "isOrgAdmin": True,
}
# The superior's form, and each change to the form.
FORM = {"name": "Top", "email": "top@acme.test", "isOrgAdmin": "on"}
CHANGES: dict[str, dict[str, str]] = {
    "nothing": {},
    "the name": {"name": "Flop"},
    "the email": {"email": "mine@acme.test"},
    "the password": {"dashboardPassword": "my password"},
    "the administration": {"isOrgAdmin": ""},
    "the notifications": {"notify": "on"},
    "fewer pages": {f"canAccess.{page}": "" for page in pages.NAVIGATION if page != "/settings"},
}


@pytest.fixture
def admin(browser: Browser, workspace_api: Api) -> Browser:
    """Return the browser of an administrator who may open only two pages."""
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True, "canAccess": ["/convos", "/settings"]})
    workspace_api.post("/v2/clients/top", SUPERIOR)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def form_of(client: Document) -> dict[str, str]:
    """Return the pages that are checked in a client's form."""
    allowed = client.get("canAccess")
    return {f"canAccess.{page}": "on" for page in pages.NAVIGATION if allowed is None or page in allowed}


@pytest.mark.parametrize("pages_of_top", [None, [*pages.NAVIGATION], ["/convos", "/leads"], ["/convos", "/billing"]])
def test_an_administrator_changes_nothing_of_a_person_with_more_pages(
    admin: Browser, workspace_api: Api, pages_of_top: list[str] | None
) -> None:
    workspace_api.post("/v2/clients/top", {"canAccess": pages_of_top})
    page, before = admin.open(TOP), snapshot()
    assert "<button>Save</button>" not in page.text and "Only the operator of the service" in page.text
    form = {**FORM, **form_of(workspace_api.get("/v2/clients/top").data)}
    for name, changed in CHANGES.items():
        answer = admin.submit(page, "/clients/top", {**form, **changed})
        is_explained = 'id="wrong-canAccess">This person can open pages' in answer.text
        assert (answer.status, is_explained, snapshot() == before) == (403, True, True), name


def test_an_administrator_cannot_lower_a_superior_and_then_sign_in_as_them(admin: Browser, workspace_api: Api) -> None:
    for fields in ({"canAccess./settings": "on"}, {"dashboardPassword": "my password", "canAccess./settings": "on"}):
        assert admin.submit(admin.open(TOP), "/clients/top", {**FORM, **fields}).status == 403
    stolen = admin.another()
    assert stolen.sign_in("top@acme.test", "my password").status == 401
    assert "canAccess" not in workspace_api.get("/v2/clients/top").data


def test_an_administrator_who_lists_all_pages_gives_no_later_ones(admin: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"canAccess": [*pages.NAVIGATION]})
    sessions.clear_cache()
    every = {f"canAccess.{page}": "on" for page in pages.NAVIGATION}
    admin.submit(
        admin.open(f"{ORG}/new-client"),
        "/new-client",
        {"email": "lee@acme.test", "dashboardPassword": PASSWORD, **every},
    )
    (lee,) = [one for one in workspace_api.get("/v2/clients").data if one.get("email") == "lee@acme.test"]
    assert lee["canAccess"] == [*pages.NAVIGATION]


def test_an_administrator_changes_an_equal_and_an_operator_everyone(
    admin: Browser, workspace_api: Api, workspace: NewWorkspace
) -> None:
    operator = Browser(workspace.workspace_id)
    operator.start_session(key=workspace.workspace_key)
    for browser, allowed in ((admin, ["/convos", "/settings", "/account"]), (operator, None)):
        workspace_api.post("/v2/clients/top", {**SUPERIOR, "canAccess": allowed})
        fields = {**FORM, **form_of({"canAccess": allowed}), "name": "Flop", "dashboardPassword": "another one"}
        assert "Saved." in browser.submit(browser.open(TOP), "/clients/top", fields).text
        found = workspace_api.get("/v2/clients/top").data
        assert (found["name"], found["dashboardPassword"]) == ("Flop", "another one")


LOSSES: dict[str, tuple[dict[str, Any], int]] = {
    "a page": ({"canAccess": ["/settings"]}, 403),
    "the settings": ({"canAccess": ["/convos"]}, 403),
    "the administration": ({"isOrgAdmin": False}, 403),
    "the organisation": ({"orgId": "rival"}, 404),
    "the access": ({"disabled": True}, 403),
    "the password": ({"dashboardPassword": "set by the owner"}, 403),
}


@pytest.mark.parametrize(("lost", "status"), LOSSES.values(), ids=LOSSES)
def test_the_rights_of_a_cached_session_are_read_again(
    admin: Browser, workspace_api: Api, lost: dict[str, Any], status: int
) -> None:
    workspace_api.post("/v2/clients/top", {"canAccess": ["/convos"]})
    page, new = admin.open(TOP), admin.open(f"{ORG}/new-client")
    workspace_api.post("/v2/clients/bo", lost)
    before = items()
    fields = {**FORM, "canAccess./convos": "on", "dashboardPassword": "my password"}
    assert admin.submit(page, "/clients/top", fields).status == status
    refused = admin.submit(new, "/new-client", {**fields, "email": "lee@acme.test"})
    assert refused.status == (400 if lost == LOSSES["a page"][0] else status)
    assert items() == before


@pytest.mark.parametrize(
    ("lost", "status"), [({"disabled": True}, 400), ({"dashboardPassword": "set by the owner"}, 403)]
)
def test_a_cached_session_that_has_ended_does_not_change_its_own_record(
    admin: Browser, workspace_api: Api, lost: dict[str, Any], status: int
) -> None:
    """A thief could otherwise change the email, and request a link for a forgotten password.

    A disabled person's password counts as wrong.
    """
    admin.open("/convos")  # caches the session
    workspace_api.post("/v2/clients/bo", lost)
    page, before = admin.open("/account"), items()["cams-clients"]
    password = lost.get("dashboardPassword", PASSWORD)
    fields = {"action": "email", "email": "thief@acme.test", "emailPassword": password}
    assert admin.submit(page, "/account/password", fields).status == status
    assert items()["cams-clients"] == before


@pytest.mark.parametrize("form", [TOP, f"{ORG}/new-client"])
def test_rights_that_end_during_the_request_change_nothing(
    admin: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    workspace_api.post("/v2/clients/top", {"canAccess": ["/convos"]})
    page, checked = admin.open(form), rights.require
    ended = []

    def check(*arguments: Any) -> None:
        checked(*arguments)
        if not ended:
            ended.append(True)
            with auth.acting_as(auth.caller()):
                calls.commit_now(
                    lambda: calls.send("POST", "/v2/clients/{client_id}", {"isOrgAdmin": None}, client_id="bo")
                )

    monkeypatch.setattr(rights, "require", check)
    fields = {**FORM, "canAccess./convos": "on", "dashboardPassword": "my password", "email": "new@acme.test"}
    assert admin.submit(page, form.rpartition("/")[2], fields).status == 403
    assert ended
    emails = [one.get("email") for one in workspace_api.get("/v2/clients").data]
    assert "new@acme.test" not in emails


CHANGED_SIGN_INS: dict[str, Callable[[Api], Any]] = {
    "an email": lambda api: api.post("/v2/clients/bo", {"email": "other@acme.test"}),
    "a password": lambda api: api.post("/v2/clients/bo", {"dashboardPassword": "another one"}),
    "no email": lambda api: api.post("/v2/clients/bo", {"email": None}),
    "another client with the same data": lambda api: _create_again(api),
}


def _create_again(api: Api) -> None:
    record = api.get("/v2/clients/bo").data
    api.delete("/v2/clients/bo")
    api.post("/v2/clients/bo", record)


@pytest.mark.parametrize("change", CHANGED_SIGN_INS.values(), ids=CHANGED_SIGN_INS)
def test_another_sign_in_ends_the_sessions_of_a_client(
    browser: Browser, workspace_api: Api, change: Callable[[Api], Any], pass_time: PassTime
) -> None:
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    workspace_api.post("/v2/clients/bo", {"name": "Bo"})
    pass_time(auth.CACHE_SECONDS)
    assert "Bo" in browser.open("/account").text
    change(workspace_api)
    pass_time(auth.CACHE_SECONDS)
    assert "Workspace key" in browser.open("/account").text


def test_a_session_that_is_used_while_its_person_is_disabled_ends_for_good(
    signed_in: Browser, workspace_api: Api
) -> None:
    for disabled in (True, None):
        workspace_api.post("/v2/clients/bo", {"disabled": disabled})
        sessions.clear_cache()
        assert "Workspace key" in signed_in.open("/account").text


def test_another_email_in_the_console_ends_the_sessions_of_a_person(admin: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/top", {"canAccess": ["/convos"]})
    top = admin.another()
    top.start_session(email="top@acme.test", password="the password of Top")
    admin.submit(admin.open(TOP), "/clients/top", {**FORM, "canAccess./convos": "on", "email": "new@acme.test"})
    assert "Workspace key" in top.open("/convos").text


LIMITS = {
    "limits": ({"limits.maxInteractionsPerUserId": "1"}, {"maxInteractionsPerUserId": 1}),
    "messagesLimit": ({"messagesLimit": "1"}, 1),
    "retention": ({"retention.days": "1"}, {"days": 1}),
}


@pytest.mark.parametrize("member", LIMITS)
def test_only_administrators_and_operators_change_limits(
    browser: Browser, workspace_api: Api, workspace: NewWorkspace, member: str
) -> None:
    fields, stored = LIMITS[member]
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page, before = browser.open("/agents/support"), snapshot()
    assert " readonly" in page.text and "Only administrators" in page.text
    for forged in (fields, {**fields, "rest": f'{{"{member}": {{"x": 1}}}}'} if member != "messagesLimit" else fields):
        answer = browser.submit(page, "/agents/support", {"title": "Support", **forged})
        assert (answer.status, "Only administrators" in answer.text) == (403, True)
    assert snapshot() == before
    assert "Saved." in browser.submit(page, "/agents/support", {"title": "Help", "rest": "{}"}).text
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    sessions.clear_cache()
    operator = Browser(workspace.workspace_id)
    operator.start_session(key=workspace.workspace_key)
    for person in (browser, operator):
        workspace_api.patch("/v3/agents/support", {"agent": {member: None}})
        page = person.open("/agents/support")
        assert " readonly" not in page.text
        assert "Saved." in person.submit(page, "/agents/support", {"title": "Help", **fields}).text
        assert workspace_api.get("/v3/agents/support").data[member] == stored


def test_a_disabled_person_has_no_open_session_left(
    admin: Browser, workspace: NewWorkspace, workspace_api: Api
) -> None:
    """The sessions end without a request of the person, who may be idle, and stay ended."""
    kim = {"email": "kim@acme.test", "orgId": "acme", "dashboardPassword": PASSWORD, "canAccess": ["/convos"]}
    workspace_api.post("/v2/clients/kim", kim)
    used, idle = Browser(workspace.workspace_id), Browser(workspace.workspace_id)
    for browser in (used, idle):
        browser.start_session(email="kim@acme.test", password=PASSWORD)
    assert used.open("/convos").status == 200
    path, fields = f"{ORG}/clients/kim", {"name": "Kim", "email": "kim@acme.test", "canAccess./convos": "on"}
    assert "Saved." in admin.submit(admin.open(path), "/clients/kim", {**fields, "disabled": "on"}).text
    assert 'name="password"' in used.open("/convos").text
    assert "Saved." in admin.submit(admin.open(path), "/clients/kim", fields).text
    assert not workspace_api.get("/v2/clients/kim").data.get("disabled")
    assert [browser._send("GET", f"{browser.home}/convos", None, {}).status for browser in (used, idle)] == [303, 303]
