"""Settings in the console: organisations, people, notifications and the required rights."""

import re
from typing import Any

import pytest

from chalicelib.extensions.console.access import sessions
from chalicelib.extensions.console.presentation import pages
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import PASSWORD
from tests.moto_tables import items, snapshot

ORG = "/settings/orgs/acme"
BO = f"{ORG}/clients/bo"
CANARY = "canary-5b1c"
OWN = {"name": "Acme Travel", "squarePhotoURL": "", "preferredLanguage": "", "dashboardLayout": ""}


@pytest.fixture
def admin(browser: Browser, workspace_api: Api) -> Browser:
    """Return the browser of an administrator who may edit their organisation. Another organisation also exists."""
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "canSelfEdit": True})
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    workspace_api.post("/v2/clients/kim", {"orgId": "acme", "name": "Kim", "dashboardPassword": CANARY})
    workspace_api.post("/v2/orgs/rival", {"name": "Rival", "widgetIDs": ["other"], "canSelfEdit": True})
    rival = {"orgId": "rival", "name": "Eve", "email": "eve@rival.test", "dashboardPassword": CANARY}
    workspace_api.post("/v2/clients/eve", rival)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def client(api: Api, client_id: str) -> Any:
    """Return a client from the API."""
    return api.get(f"/v2/clients/{client_id}").data


def checked_pages(page: Answer) -> dict[str, str]:
    """Return the pages that are checked in a client's form."""
    return dict.fromkeys(re.findall(r'name="(canAccess\.[^"]*)" type="checkbox" checked', page.text), "on")


def test_an_administrator_changes_the_organisation(admin: Browser, workspace_api: Api) -> None:
    page = admin.open("/settings")
    assert "Kim" in page.text and "Eve" not in page.text and "Rival" not in page.text
    changed = {**OWN, "name": "Acme", "preferredLanguage": "nl", "dashboardLayout": "horizontal"}
    saved = admin.submit(page, ORG, changed)
    assert "Opgeslagen." in saved.text and "horizontal" in saved.text
    found = workspace_api.get("/v2/orgs/acme").data
    assert (found["name"], found["preferredLanguage"], found["dashboardLayout"]) == ("Acme", "nl", "horizontal")
    assert (found["widgetIDs"], found["canSelfEdit"]) == (["support"], True)


def test_an_administrators_settings_lead_to_their_own(admin: Browser, operator: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "canSelfEdit": False})
    page = admin.open("/settings").text
    assert "<h1>Settings</h1>" in page and "<h2>Acme Travel</h2>" in page
    account = admin.open("/account").text
    for part in re.findall(r'href="[^"]*/account#([a-z-]+)"', page):
        assert f'id="{part}"' in account
    assert len(re.findall(rf'href="{admin.home}/account[#a-z-]*"><svg', page)) == 3
    shown = operator.open(ORG).text
    assert "<h1>Acme Travel</h1>" in shown and "Your own settings" not in shown


def test_an_administrator_sets_only_the_members_of_the_form(admin: Browser, workspace_api: Api) -> None:
    forged = {
        "widgetIDs": "support\nother",
        "adminIDs": "bo",
        "disallowAnyTags": "on",
        "canSelfEdit": "",
        "userId": "x",
    }
    admin.submit(admin.open(ORG), ORG, {**OWN, "name": "Acme", **forged})
    found = workspace_api.get("/v2/orgs/acme").data
    assert (found["name"], found["widgetIDs"], found["canSelfEdit"]) == ("Acme", ["support"], True)
    assert not {"adminIDs", "disallowAnyTags"} & found.keys()


def test_an_organisation_that_does_not_edit_itself_is_only_shown(admin: Browser, workspace_api: Api) -> None:
    page = admin.open(ORG)
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "canSelfEdit": False})
    before = snapshot()
    assert admin.submit(page, ORG, {**OWN, "name": "Mine"}).status == 403
    assert "Only the operator" in admin.open(ORG).text
    assert snapshot() == before


def test_what_is_wrong_stands_at_its_field(admin: Browser) -> None:
    page, before = admin.open(ORG), snapshot()
    for field, value in (("name", ""), ("preferredLanguage", "nederlands"), ("dashboardLayout", "round")):
        answer = admin.submit(page, ORG, {**OWN, field: value})
        assert (answer.status, f'id="wrong-{field}"' in answer.text) == (400, True)
    assert snapshot() == before


def test_the_first_wrong_field_has_the_focus_and_each_has_a_link(admin: Browser, operator: Browser) -> None:
    wrong = {**OWN, "name": "", "dashboardLayout": "round"}
    new = {"name": "Lee", "email": "", "dashboardPassword": ""}
    for browser, path, action, fields, first, links in (
        (admin, ORG, ORG, wrong, "name", ["name", "dashboardLayout"]),
        (admin, f"{ORG}/new-client", "/new-client", new, "email", ["email", "dashboardPassword"]),
        (operator, "/agents/support", "/agents/support", {"vg_temperature": "x"}, "vg_temperature", None),
        (operator, "/settings", "/settings/tokens", {"name": "", "days": "30"}, "name", None),
    ):
        page = browser.open(path)
        assert "autofocus" not in page.text
        answer = browser.submit(page, action, fields)
        assert re.findall(r' id="([^"]*)"[^>]* autofocus', answer.text) == [first], path
        summary = answer.text.partition('role="alert"')[2].partition("</div>")[0]
        linked = re.findall(r'<a href="#([^"]*)">', summary)
        assert linked == (links or linked) and linked[0] == first
        assert all(f' id="{one}"' in answer.text for one in linked)


def test_two_administrators_at_once_lose_nothing(admin: Browser, workspace_api: Api) -> None:
    page, person = admin.open(ORG), admin.open(f"{ORG}/clients/kim")
    workspace_api.post("/v2/orgs/acme", {"name": "By the other"})
    workspace_api.post("/v2/clients/kim", {"name": "By the other"})
    before = snapshot()
    for one, action in ((page, ORG), (person, "/clients/kim")):
        answer = admin.submit(one, action, {**OWN, "name": "By me"})
        assert (answer.status, "By the other" in answer.text, 'value="By me"' in answer.text) == (412, True, True)
    assert snapshot() == before


def test_an_administrator_adds_a_person_who_signs_in(admin: Browser, workspace_api: Api) -> None:
    page = admin.open(f"{ORG}/new-client")
    given = {"name": "Lee", "email": "lee@acme.test", "dashboardPassword": CANARY, "canAccess./overview": "on"}
    saved = admin.submit(page, "/new-client", {**given, "orgId": "rival", "notify": "on"})
    assert "Lee" in saved.text and CANARY not in saved.text
    (found,) = [one for one in workspace_api.get("/v2/clients").data if one.get("name") == "Lee"]
    assert (found["orgId"], found["canAccess"]) == ("acme", ["/overview"])
    assert "isOrgAdmin" not in found
    assert found["notificationsSettings"] == {"notifyThrough": "email", "notifyIf": "all"}
    other = admin.another()
    assert other.sign_in("lee@acme.test", CANARY).status == 200
    assert other.open("/settings").status == 403


def test_an_administrator_changes_a_person(admin: Browser, workspace_api: Api) -> None:
    page = admin.open(f"{ORG}/clients/kim")
    access = checked_pages(page)
    assert len(access) == len(pages.NAVIGATION) and CANARY not in page.text
    saved = admin.submit(
        page, "/clients/kim", {**access, "name": "Kim B", "email": "kim@acme.test", "isOrgAdmin": "on"}
    )
    assert "Saved." in saved.text
    stored = client(workspace_api, "kim")
    assert (stored["name"], stored["isOrgAdmin"], stored["dashboardPassword"]) == ("Kim B", True, CANARY)
    assert "canAccess" not in stored and stored["orgId"] == "acme"
    del access["canAccess./leads"]
    typed = {**access, "name": "", "email": "kim@acme.test", "dashboardPassword": "another one"}
    admin.submit(admin.open(f"{ORG}/clients/kim"), "/clients/kim", typed)
    stored = client(workspace_api, "kim")
    assert "/leads" not in stored["canAccess"] and len(stored["canAccess"]) == len(access)
    assert stored["dashboardPassword"] == "another one"
    assert "name" not in stored


def test_a_new_person_needs_an_email_and_a_password(admin: Browser, workspace_api: Api) -> None:
    page, before = admin.open(f"{ORG}/new-client"), items()
    signing_in = {"email": "lee@acme.test", "dashboardPassword": PASSWORD}
    for missing, sentence in zip(signing_in, ("Enter an email.", "Enter a password."), strict=True):
        answer = admin.submit(page, "/new-client", {"name": "Lee", **signing_in, missing: ""})
        assert (answer.status, f'id="wrong-{missing}">{sentence}' in answer.text) == (400, True)
        assert answer.text.count('id="wrong-') == 1
    assert items() == before
    people = admin.open(ORG).text
    assert people.count("Cannot sign in") == 1 and people.index("Cannot sign in") > people.index("Kim")


def test_an_administrator_removes_a_person_after_a_confirmation(admin: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/kim", {"email": "kim@acme.test"})
    kim = admin.another()
    kim.start_session(email="kim@acme.test", password=CANARY)
    page = admin.open(f"{ORG}/clients/kim")
    question = page.text.partition("<summary>Remove this person</summary>")[2].partition("</details>")[0]
    assert "cannot be undone" in question and "Remove Kim</button>" in question
    removed = admin.submit(page, "/clients/kim", {"action": "remove"})
    assert "The person has been removed." in removed.text and "Kim" not in removed.text
    assert workspace_api.get("/v2/clients/kim").status == 404
    assert 'name="password"' in kim.open("/account").text
    assert admin.submit(page, "/clients/kim", {"action": "remove"}).status == 404


def test_nobody_removes_themselves_or_a_person_with_more_rights(admin: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/settings"]})
    sessions.clear_cache()
    form, before = csrf_field(admin.open(ORG)), snapshot()
    for client_id in ("bo", "kim"):
        assert "Remove this person" not in admin.open(f"{ORG}/clients/{client_id}").text
        assert admin.post(f"{ORG}/clients/{client_id}", {**form, "action": "remove"}).status == 403
    assert snapshot() == before


def test_wrong_values_of_a_person_stand_at_their_fields(admin: Browser) -> None:
    page, before = admin.open(f"{ORG}/clients/kim"), snapshot()
    for field, value in (("dashboardPassword", "short"), ("dashboardPassword", " " * 8), ("email", "EVE@rival.test")):
        answer = admin.submit(page, "/clients/kim", {"name": "Typed", field: value})
        assert (f'id="wrong-{field}"' in answer.text, 'value="Typed"' in answer.text) == (True, True)
        assert answer.status in (400, 409) and CANARY not in answer.text
    assert snapshot() == before


def test_a_persons_own_record_is_in_their_profile(admin: Browser) -> None:
    page, before = admin.open(BO), snapshot()
    assert "<h1>Your profile</h1>" in page.text and 'name="isOrgAdmin"' not in page.text
    assert f'href="{admin.home}/account"><em class="avatar ' in admin.open(ORG).text
    forged = {**csrf_field(page), "name": "Bo", "email": "x@acme.test", "isOrgAdmin": "on", "canAccess./leads": "on"}
    for action in ({}, {"action": "invite"}, {"tag": "*"}):
        assert admin.post(BO, {**forged, **action}).status == 403
    assert snapshot() == before


def test_a_new_own_email_needs_the_current_password(admin: Browser, workspace_api: Api) -> None:
    page, changed = admin.open("/account"), {"action": "email", "email": "bo@new.test"}
    before = client(workspace_api, "bo")
    for wrong in ({}, {"emailPassword": "wrong"}, {"currentPassword": PASSWORD}):
        answer = admin.submit(page, "/account/password", {**changed, **wrong})
        assert (answer.status, 'id="wrong-emailPassword"' in answer.text) == (400, True)
        assert 'value="bo@new.test"' in answer.text
        assert client(workspace_api, "bo") == before
    for email, status in (("eve@rival.test", 409), ("bo@acme.test", 400), (" ", 400)):
        fields = {**changed, "email": email, "emailPassword": PASSWORD}
        answer = admin.submit(page, "/account/password", fields)
        assert (answer.status, 'id="wrong-email"' in answer.text) == (status, True)
    saved = admin.submit(page, "/account/password", {**changed, "emailPassword": PASSWORD})
    assert "Your email has been changed." in saved.text
    assert client(workspace_api, "bo") == {**before, "email": "bo@new.test"}
    password = {"dashboardPassword": "battery staple", "currentPassword": PASSWORD}
    assert "Your password has been changed." in admin.submit(saved, "/account/password", password).text
    assert client(workspace_api, "bo") == {**before, "email": "bo@new.test", "dashboardPassword": "battery staple"}


def test_an_invitation_makes_members_who_get_emails_or_administrators(admin: Browser, workspace_api: Api) -> None:
    page = admin.open(f"{ORG}/new-client")
    assert re.findall(r'name="(isOrgAdmin|notify)" type="\w+"(?: value="(\w*)")? checked', page.text) == [
        ("isOrgAdmin", ""), ("notify", ""),
    ]  # fmt: skip
    for role in ("", "on"):
        fields = {"name": f"Lee {role}", "email": f"lee{role}@acme.test", "dashboardPassword": PASSWORD}
        admin.submit(page, "/new-client", {**fields, "isOrgAdmin": role, "canAccess./convos": "on"})
    people = {one["name"]: one for one in workspace_api.get("/v2/clients").data if "canAccess" in one}
    assert {name: one["canAccess"] for name, one in people.items()} == {
        "Lee ": ["/convos"], "Lee on": ["/convos", "/settings"],
    }  # fmt: skip


def test_an_administrator_gives_only_pages_that_they_have(admin: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/convos", "/settings"]})
    workspace_api.post("/v2/clients/kim", {"email": "kim@acme.test", "canAccess": []})
    sessions.clear_cache()
    new, kim, before = admin.open(f"{ORG}/new-client"), admin.open(f"{ORG}/clients/kim"), items()
    assert checked_pages(new).keys() == {"canAccess./convos"}
    assert 'name="canAccess./settings"' not in new.text and '/orgs/acme">Settings</a></nav>' in new.text
    everything = {f"canAccess.{page}": "on" for page in pages.NAVIGATION}
    for page, action in ((new, "/new-client"), (kim, "/clients/kim")):
        for given in (everything, {"canAccess./agents": "on"}):
            answer = admin.submit(page, action, {"email": "kim@acme.test", **given})
            assert (answer.status, 'id="wrong-canAccess">You can grant only' in answer.text) == (400, True)
    assert items() == before
    assert admin.submit(kim, "/clients/kim", {"email": "kim@acme.test", "canAccess./convos": "on"}).status == 200
    assert client(workspace_api, "kim")["canAccess"] == ["/convos"]
    admin.submit(new, "/new-client", {"email": "lee@acme.test", "dashboardPassword": PASSWORD, **checked_pages(new)})
    (lee,) = [one for one in workspace_api.get("/v2/clients").data if one.get("email") == "lee@acme.test"]
    assert lee["canAccess"] == ["/convos"]


def test_other_organisations_are_not_found_and_unchanged(admin: Browser) -> None:
    form, before = csrf_field(admin.open(ORG)), snapshot()
    person = {"name": "Mine", "email": "mine@acme.test", "dashboardPassword": "my password"}
    for path in (
        "/settings/orgs/rival",
        "/settings/orgs/rival/new-client",
        "/settings/orgs/rival/clients/eve",
        "/settings/orgs/rival/clients/bo",
        f"{ORG}/clients/eve",
        f"{ORG}/clients/nobody",
        "/settings/orgs/nothing",
    ):
        assert admin.open(path).status == 404
        for tag in ("", "*"):
            assert (
                admin.post(path, {**form, **OWN, **person, "tag": tag, "orgId": "acme", "org_id": "acme"}).status == 404
            )
    assert snapshot() == before


def test_an_administrator_opens_nothing_of_the_workspace(admin: Browser, operator: Browser, workspace_api: Api) -> None:
    form, hook = csrf_field(admin.open(ORG)), made_webhook(workspace_api)
    before = snapshot()
    for path in (f"/settings/webhooks/{hook}",):
        assert admin.open(path).status == 403
    for path in ("/settings/tokens", "/settings/tokens/x", f"/settings/webhooks/{hook}/deliveries/x"):
        assert admin.post(path, {**form, "name": "mine", "days": "30"}).status == 403
    assert snapshot() == before
    assert "hooks.test" not in admin.open("/settings").text


def test_who_is_no_administrator_opens_only_their_own_notifications(browser: Browser, workspace_api: Api) -> None:
    page = browser.sign_in("bo@acme.test", PASSWORD)
    assert "/settings" not in page.text
    before = snapshot()
    for path in ("/settings", ORG, BO, f"{ORG}/new-client"):
        assert browser.open(path).status == 403
    for path in (ORG, BO, f"{ORG}/new-client", "/settings/tokens"):
        assert browser.post(path, {**csrf_field(page), "isOrgAdmin": "on", "tag": "*"}).status == 403
    assert snapshot() == before
    saved = browser.submit(
        browser.open("/account"), "/account", {"notify": "on", "isOrgAdmin": "on", "client_id": "kim"}
    )
    assert "Saved." in saved.text and " checked" in saved.text
    found = client(workspace_api, "bo")
    assert found["notificationsSettings"] == {"notifyThrough": "email", "notifyIf": "all"}
    assert "isOrgAdmin" not in found
    browser.submit(browser.open("/account"), "/account", {})
    assert client(workspace_api, "bo")["notificationsSettings"] == {}


def test_a_deleted_person_is_not_made_again(browser: Browser, workspace_api: Api) -> None:
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/account")
    workspace_api.delete("/v2/clients/bo")
    assert browser.submit(page, "/account", {"notify": "on"}).status == 404
    assert workspace_api.get("/v2/clients/bo").status == 404


def test_a_person_without_pages_signs_out_and_has_notifications(browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/overview"]})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/account")
    assert page.status == 200
    assert "Workspace key" in browser.submit(page, "/sign-out", {}).text


def test_a_forged_form_changes_nothing(admin: Browser, workspace_api: Api) -> None:
    own, before = csrf_field(admin.open(ORG)), snapshot()
    for path in (ORG, BO, f"{ORG}/new-client", "/account", "/settings/tokens"):
        for fields, headers in (({}, {}), ({"form": "0" * 64}, {}), (own, {"Sec-Fetch-Site": "cross-site"})):
            assert admin.post(path, {**OWN, "notify": "on", **fields}, **headers).status == 403
    assert snapshot() == before


def test_operators_change_every_organisation(operator: Browser, workspace_api: Api) -> None:
    page = operator.open(ORG)
    fields = {**OWN, "widgetIDs": "support\r\n\r\nother\r\n", "canSelfEdit": "on"}
    assert "Saved." in operator.submit(page, ORG, fields).text
    found = workspace_api.get("/v2/orgs/acme").data
    assert (found["widgetIDs"], found["canSelfEdit"]) == (["support", "other"], True)
    wrong = operator.submit(operator.open(ORG), ORG, {**fields, "widgetIDs": "suport"})
    assert "some of the agents do not exist" in wrong.text
    pages = checked_pages(operator.open(BO))
    operator.submit(operator.open(BO), "/clients/bo", {**pages, "name": "Bo", "isOrgAdmin": "on"})
    assert client(workspace_api, "bo")["isOrgAdmin"] is True


def made_webhook(api: Api) -> str:
    """Return the id of a new webhook."""
    body = {"webhook": {"url": "https://hooks.test/x", "events": ["lead_captured"], "description": "Leads"}}
    return str(api.post("/v3/webhooks", body).data["id"])


def test_secrets_are_on_no_page(admin: Browser, operator: Browser, workspace_api: Api) -> None:
    hook = workspace_api.post(
        "/v3/webhooks", {"webhook": {"url": "https://hooks.test/x", "events": ["lead_captured"]}}
    ).data
    sessions.clear_cache()
    for one in (admin, operator):
        for path in ("/settings", ORG, BO, f"{ORG}/clients/kim", "/account"):
            page = one.open(path)
            assert page.status == 200
            assert CANARY not in page.text and PASSWORD not in page.text
    for path in ("/settings", f"/settings/webhooks/{hook['id']}"):
        assert hook["signingSecret"] not in operator.open(path).text


def test_operators_have_the_parts_of_the_settings_on_each_page(
    admin: Browser, operator: Browser, workspace_api: Api
) -> None:
    hook = {"url": "https://hooks.test/x", "events": ["lead_captured"]}
    webhook_id = workspace_api.post("/v3/webhooks", {"webhook": hook}).data["id"]
    pages = {
        "/settings/workspace": "Workspace", ORG: "Organisations", f"{ORG}/new-client": "Organisations",
        BO: "Organisations", "/settings/new-org": "Organisations", f"/settings/webhooks/{webhook_id}": "Webhooks",
        "/settings/new-webhook": "Webhooks",
    }  # fmt: skip
    for path, place in pages.items():
        current = re.search(r'<nav class="places".*?aria-current="page">([^<]*)<', operator.open(path).text, re.DOTALL)
        assert current and current[1] == place
    for path, part in (("/settings", "organisations"), ("/settings?saved=revoked", "tokens")):
        assert f'class="panel first" id="{part}"' in operator.open(path).text
    assert 'class="places"' not in admin.open(ORG).text


def test_the_notification_of_an_administrator_is_their_own(admin: Browser) -> None:
    own, other = admin.open("/account").text, admin.open(f"{ORG}/clients/kim").text
    assert "Email me when" in own and "Email them" not in own
    assert "Email them when" in other and "Email me" not in other
