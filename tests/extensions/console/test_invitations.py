"""An invitation: a person without a password gets an email with a one-time link."""

import re
from urllib.parse import urlencode

import pytest

from chalicelib import clock, storage
from chalicelib.extensions.console.access import session_store
from chalicelib.extensions.console.account_pages import one_time_links
from chalicelib.extensions.console.notifications import allowance
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.browser import FORM, Browser, csrf_field
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.mailing import Mailing, fail_next_mail, text_of
from tests.extensions.console.test_notification_content import HOSTILE, LINK, LINKS

NEW = "/settings/orgs/acme/new-client"
ANN = {"name": "Ann", "email": "ann@acme.test"}


def invite(browser: Browser, **fields: str) -> str:
    """Submit the form for a new person, and return the page's text."""
    return browser.submit(browser.open(NEW), "/new-client", {**ANN, **fields}).text


def link_of(mailing: Mailing) -> str:
    """Return the path of the link in the newest email, which is the same as text and HTML."""
    received = mailing.mails[-1]
    (link,) = re.findall(r"https://cams\.test/prod(/console/\S+/password/\w+[?]for=invitation)", text_of(received))
    assert f'href="https://cams.test/prod{link}"' in text_of(received, "html")
    return str(link)


def test_a_person_without_a_password_is_invited(
    operator: Browser, mailing: Mailing, workspace: NewWorkspace, workspace_api: Api
) -> None:
    assert "The email with the link is on its way." in invite(operator)
    mailing.run(60)
    assert mailing.recipients == [ANN["email"]]
    assert "Your access to Acme Travel" in mailing.mails[0]["Subject"]
    ann = Browser(workspace.workspace_id)
    assert ann.sign_in(ANN["email"], "").status == 401
    body = urlencode({"dashboardPassword": PASSWORD}).encode()
    assert Api().call("POST", link_of(mailing), body, FORM).status == 200
    assert ann.sign_in(ANN["email"], PASSWORD).status == 200


@pytest.mark.usefixtures("mailing")
def test_only_the_invited_person_is_shown_as_invited(operator: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/sam", {"orgId": "acme", "email": "sam@acme.test"})
    assert "<title>Invite a person" in operator.open(NEW).text
    rows = invite(operator).partition('class="stacked people linked"')[2].split("<tr>")
    for name, is_invited in (("ann", True), ("sam", False)):
        (row,) = [row for row in rows if f"{name}@acme.test" in row]
        assert (">Invited<" in row, "Send invitation again" in row) == (is_invited, is_invited)


@pytest.mark.usefixtures("mailing")
def test_the_list_of_people_shows_their_role_and_status(operator: Browser, workspace_api: Api) -> None:
    page = operator.open(NEW).text
    assert "Send the invitation" in page and "receives an email with a link" in page
    people = {"kim": {"disabled": True, "email": "kim@acme.test"}, "lee": {"name": "Lee"}, "bo": {"isOrgAdmin": True}}
    for client_id, client in people.items():
        workspace_api.post(f"/v2/clients/{client_id}", {"orgId": "acme", **client})
    page = invite(operator)
    assert "Invite a person" in page and PASSWORD not in page
    rows = [re.sub("<[^>]*>", "|", row) for row in page.partition('class="stacked people linked"')[2].split("<tr>")[2:]]
    expected = {
        "bo@acme.test": ("Administrator", "Active"),
        "kim@acme.test": ("Member", "Disabled"),
        "Lee": ("Member", "Cannot sign in"),
        "ann@acme.test": ("Member", "Invited"),
    }
    for name, texts in expected.items():
        (row,) = [row for row in rows if name in row]
        assert all(f"|{text}|" in row for text in texts), row


@pytest.mark.usefixtures("mailing")
def test_the_form_says_in_which_language_the_email_is(operator: Browser, workspace_api: Api) -> None:
    for code, language in ((None, "English"), ("nl", "Dutch"), ("fr", "English")):
        workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "preferredLanguage": code})
        assert f"The email is in {language}." in operator.open(NEW).text


def test_a_form_that_is_sent_twice_adds_one_person(operator: Browser, mailing: Mailing, workspace_api: Api) -> None:
    page = operator.open(NEW)
    for _ in range(2):
        assert operator.submit(page, "/new-client", ANN).status == 200
    assert len(workspace_api.get("/v3/clients?q=ann@acme.test").data) == 1


def test_a_person_with_a_password_gets_no_mail(operator: Browser, mailing: Mailing) -> None:
    assert "Saved." in invite(operator, dashboardPassword=PASSWORD)
    mailing.run(60)
    assert mailing.mails == []


def test_a_stage_without_mail_requires_a_password(operator: Browser) -> None:
    page = operator.open(NEW)
    assert "receives an email with a link" not in page.text and "the invitation" not in page.text
    assert "Invite a person" not in operator.open("/settings/orgs/acme").text
    assert operator.submit(page, "/new-client", ANN).status == 400
    assert "Send a password link" not in operator.open("/settings/orgs/acme/clients/bo").text
    assert operator.post("/settings/orgs/acme/clients/bo", {"action": "invite"}).status == 403


def test_a_person_gets_one_invitation_in_five_minutes(operator: Browser, mailing: Mailing, pass_time: PassTime) -> None:
    """Otherwise, an administrator could flood any address, and use up the workspace's daily allowance."""
    pass_time(-clock.seconds() % session_store.WINDOW)
    page = operator.open(NEW)
    for _ in range(3):
        assert operator.submit(page, "/new-client", ANN).status == 200
    for _ in range(3):
        operator.submit(operator.open("/settings/orgs/acme/clients/bo"), "/clients/bo", {"action": "invite"})
    mailing.run(1)
    assert sorted(mailing.recipients) == [ANN["email"], "bo@acme.test"]
    operator.submit(operator.open("/forgot-password"), "/forgot-password", {"email": "bo@acme.test"})
    mailing.run(1)
    assert len(mailing.mails) == 3  # a request for a new password does not depend on the invitation


def test_a_link_can_be_sent_again(operator: Browser, mailing: Mailing, workspace_api: Api) -> None:
    page = operator.open("/settings/orgs/acme/clients/bo")
    assert "is on its way" in operator.submit(page, "/clients/bo", {"action": "invite"}).text
    mailing.run(60)
    assert mailing.recipients == ["bo@acme.test"]
    assert Api().get(link_of(mailing)).status == 200


def test_the_list_sends_an_invitation_again_to_people_without_a_password(
    operator: Browser, mailing: Mailing, workspace_api: Api, pass_time: PassTime
) -> None:
    invite(operator)
    mailing.run(1)
    pass_time(300)
    page = operator.open("/settings/orgs/acme")
    (address,) = re.findall(r'action="([^"]*)"><input[^>]*><input[^>]*value="invite"', page.text)
    assert "is on its way" in operator.submit(page, address.removeprefix(operator.home), {}).text
    mailing.run(1)
    assert mailing.recipients == [ANN["email"]] * 2
    workspace_api.post(f"/v2/clients/{address.rpartition('/')[2]}", {"disabled": True})
    assert 'value="invite"' not in operator.open("/settings/orgs/acme").text


@pytest.mark.parametrize("email", ["", "not an address", "ann@évil.test"])
def test_a_person_without_an_address_gets_no_link(
    email: str, operator: Browser, mailing: Mailing, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/bo", {"email": email})
    page = operator.open("/settings/orgs/acme/clients/bo")
    assert 'value="invite"' not in page.text
    fields = {**csrf_field(page), "action": "invite"}
    assert operator.post("/settings/orgs/acme/clients/bo", fields).status == 400
    assert mailing.queued == []


def test_an_administrator_invites_only_people_with_fewer_pages(
    mailing: Mailing, workspace: NewWorkspace, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True, "canAccess": ["/settings", "/leads"]})
    workspace_api.post("/v2/clients/eve", {"orgId": "acme", "email": "eve@acme.test"})
    browser = Browser(workspace.workspace_id)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/settings/orgs/acme/clients/eve")
    assert 'value="invite"' not in page.text + browser.open("/settings/orgs/acme").text
    fields = {**csrf_field(page), "action": "invite"}
    assert browser.post("/settings/orgs/acme/clients/eve", fields).status == 403
    assert mailing.queued == []


def test_hostile_names_stay_text(operator: Browser, mailing: Mailing, workspace_api: Api) -> None:
    for hostile in (HOSTILE, *LINKS):
        workspace_api.post("/v2/orgs/acme", {"name": hostile})
        workspace_api.post("/v2/clients/bo", {"name": hostile})
        operator.submit(operator.open("/settings/orgs/acme/clients/bo"), "/clients/bo", {"action": "invite"})
        mailing.run(session_store.WINDOW)
        received = mailing.mails[-1]
        assert received["Bcc"] is None
        assert "<img" not in text_of(received, "html")
        own = re.compile(r"https://cams\.test/\S+")
        for text in (own.sub("", text_of(received)), received["Subject"], received["To"].addresses[0].display_name):
            assert not LINK.search(text), hostile


def test_a_dutch_organisation_is_invited_in_dutch(operator: Browser, mailing: Mailing, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": "nl"})
    invite(operator)
    mailing.run(60)
    assert mailing.mails[0]["Subject"] == "Uw toegang tot Acme"
    assert '<html lang="nl" ' in Api().get(link_of(mailing)).text


def test_a_removed_person_or_a_suspended_workspace_gets_no_mail(
    operator: Browser, mailing: Mailing, workspace: NewWorkspace, workspace_api: Api
) -> None:
    invite(operator)
    workspace_api.delete(f"/v3/clients/{workspace_api.get('/v3/clients?q=ann@acme.test').data[0]['ID']}")
    mailing.run(60)
    invite(operator)
    workspaces.change_status(workspace.workspace_id, [None], workspaces.SUSPENDED)
    mailing.run(60)
    assert (mailing.mails, mailing.failures) == ([], 0)


def test_a_mail_that_ses_does_not_accept_is_sent_later(
    operator: Browser, mailing: Mailing, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_next_mail(monkeypatch)
    invite(operator)
    mailing.run(900)
    assert (len(mailing.mails), mailing.failures) == (1, 1)
    assert Api().get(link_of(mailing)).status == 200


def test_the_daily_allowance_limits_invitations(
    operator: Browser, mailing: Mailing, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime
) -> None:
    monkeypatch.setattr(allowance, "MAX_LINKS", 1)
    pass_time(-clock.seconds() % 3_600)  # a full hour, so that both emails are sent on one day
    for email in ("ann@acme.test", "eve@acme.test"):
        invite(operator, email=email)
    mailing.run(60)
    assert len(mailing.mails) == 1


def test_a_disabled_person_gets_no_link_and_uses_none(operator: Browser, mailing: Mailing, workspace_api: Api) -> None:
    page = operator.open("/settings/orgs/acme/clients/bo")
    operator.submit(page, "/clients/bo", {"action": "invite"})
    mailing.run(60)
    link = link_of(mailing)
    fields = {"name": "Bo", "email": "bo@acme.test", "disabled": "on"}
    pages = dict.fromkeys(re.findall(r'name="(canAccess\.[^"]*)"', page.text), "on")
    assert "Disabled" in operator.submit(page, "/clients/bo", {**fields, **pages}).text
    assert workspace_api.get("/v2/clients/bo").data["disabled"] is True
    assert Api().get(link).status == 404
    operator.submit(page, "/clients/bo", {"action": "invite"})
    mailing.run(60)
    assert len(mailing.mails) == 1
    assert 'value="invite"' not in operator.open("/settings/orgs/acme/clients/bo").text


def test_a_disabled_person_who_is_enabled_again_signs_in_anew(
    operator: Browser, mailing: Mailing, workspace: NewWorkspace, workspace_api: Api
) -> None:
    """A thief may still have the session or the link."""
    bo = Browser(workspace.workspace_id)
    bo.start_session(email="bo@acme.test", password=PASSWORD)
    page = operator.open("/settings/orgs/acme/clients/bo")
    operator.submit(page, "/clients/bo", {"action": "invite"})
    mailing.run(60)
    checked = dict.fromkeys(re.findall(r'name="(canAccess\.[^"]*)"', page.text), "on")
    for disabled in ("on", ""):
        page = operator.open("/settings/orgs/acme/clients/bo")
        fields = {"name": "Bo", "email": "bo@acme.test", "disabled": disabled, **checked}
        assert "Saved." in operator.submit(page, "/clients/bo", fields).text
    assert not workspace_api.get("/v2/clients/bo").data.get("disabled")
    assert Api().get(link_of(mailing)).status == 404
    assert "Workspace key" in bo.open("/account").text
    assert bo.sign_in("bo@acme.test", PASSWORD).status == 200


def test_a_disabled_person_is_no_choice_for_a_conversation(operator: Browser, workspace_api: Api) -> None:
    workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"state": "requested_chat"}})
    assert 'name="to" value="bo"' in operator.open("/convos/support/ann").text
    workspace_api.post("/v2/clients/bo", {"disabled": True})
    assert 'name="to" value="bo"' not in operator.open("/convos/support/ann").text


def status_of(browser: Browser, client_id: str) -> str:
    """Return the text of the card about a person's sign-in, and of the label beside the name."""
    text = browser.open(f"/settings/orgs/acme/clients/{client_id}").text
    label, card = re.search("</h1>(.*?)<button", text), re.search("<h2>Sign-in</h2>(.*?)</section>", text, re.DOTALL)
    assert label and card
    return " ".join(re.sub("<[^>]*>", " ", label[1] + card[1]).split())


def row_of(page: str, name: str) -> str:
    """Return the text of a person's row in the list of people."""
    (row,) = [one for one in page.partition('class="stacked people linked"')[2].split("<tr>") if name in one]
    return " ".join(re.sub("<[^>]*>", " ", row).split())


def test_the_page_of_a_person_shows_how_far_they_have_come(
    operator: Browser, mailing: Mailing, workspace: NewWorkspace, workspace_api: Api, pass_time: PassTime
) -> None:
    assert "Needs an invitation" not in row_of(invite(operator), ANN["email"])
    ann = workspace_api.get("/v3/clients?q=ann@acme.test").data[0]["ID"]
    assert "Needs an invitation" in status_of(operator, ann)
    mailing.run(60)
    shown = status_of(operator, ann)
    assert shown.startswith("Invited") and re.search(
        r"Not set yet Invitation Sent .* UTC \. The link works until .* UTC \. Send invitation again", shown
    )
    assert re.search(
        "Invited .* UTC Send invitation again", row_of(operator.open("/settings/orgs/acme").text, ANN["email"])
    )
    pass_time(7 * 24 * 60 * 60)
    operator.start_session(key=workspace.workspace_key)
    assert "Invitation Send one, so that they can set a password." in status_of(operator, ann)
    assert row_of(operator.open("/settings/orgs/acme").text, ANN["email"]).endswith(
        "Needs an invitation Send invitation"
    )
    operator.submit(operator.open(f"/settings/orgs/acme/clients/{ann}"), f"/clients/{ann}", {"action": "invite"})
    mailing.run(60)
    body = urlencode({"dashboardPassword": PASSWORD}).encode()
    assert Api().call("POST", link_of(mailing), body, FORM).status == 200
    assert "Active Password Set Session Signed out Send a password link" in status_of(operator, ann)
    Browser(workspace.workspace_id).start_session(email=ANN["email"], password=PASSWORD)
    assert re.search("Session Signed in since .* UTC . Send a password link", status_of(operator, ann))


def test_the_list_of_people_shows_when_they_signed_in(
    operator: Browser, workspace: NewWorkspace, workspace_api: Api, pass_time: PassTime
) -> None:
    for client_id in ("ann", "cas"):
        person = {"orgId": "acme", "email": f"{client_id}@acme.test", "dashboardPassword": PASSWORD}
        workspace_api.post(f"/v2/clients/{client_id}", person)
    for email in ("bo@acme.test", "bo@acme.test", "cas@acme.test"):
        pass_time(600)
        browser = Browser(workspace.workspace_id)
        browser.start_session(email=email, password=PASSWORD)
    page = operator.open("/settings/orgs/acme").text
    since = clock.iso(clock.seconds() - 600)
    assert f'Signed in <time datetime="{since}"' in page
    assert row_of(page, "ann@acme.test").endswith("Active")
    assert all("Active Signed in" in row_of(page, f"{name}@acme.test") for name in ("bo", "cas"))
    workspace_api.post("/v2/clients/bo", {"disabled": True})
    browser.post("/sign-out", csrf_field(browser.open("/account")))
    page = operator.open("/settings/orgs/acme").text
    assert row_of(page, "bo@acme.test").endswith("Member Disabled") and "Signed in" not in page
    workspace_api.post("/v2/clients/bo", {"disabled": None})
    pass_time(session_store.LIFETIME)
    operator.start_session(key=workspace.workspace_key)
    assert "Signed in" not in operator.open("/settings/orgs/acme").text


def test_a_link_to_the_address_before_is_not_shown_as_valid(
    operator: Browser, mailing: Mailing, workspace_api: Api
) -> None:
    invite(operator)
    ann = workspace_api.get("/v3/clients?q=ann@acme.test").data[0]["ID"]
    mailing.run(60)
    workspace_api.post(f"/v2/clients/{ann}", {"name": "Ann B."})
    assert "The link works until" in status_of(operator, ann)
    workspace_api.post(f"/v2/clients/{ann}", {"email": "anne@acme.test"})
    assert "Needs an invitation" in status_of(operator, ann) and Api().get(link_of(mailing)).status == 404
    assert "Needs an invitation" in row_of(operator.open("/settings/orgs/acme").text, "anne@acme.test")


def test_a_link_of_an_earlier_release_is_not_shown(
    operator: Browser, mailing: Mailing, workspace: NewWorkspace, workspace_api: Api
) -> None:
    invite(operator)
    ann = workspace_api.get("/v3/clients?q=ann@acme.test").data[0]["ID"]
    mailing.run(60)
    (row,) = storage.query(one_time_links.LinkRow, storage.join_key(workspace.workspace_id, "links"))
    row.sent_at = row.details = None
    with storage.unit_of_work():
        storage.put(row)
    assert "Needs an invitation" in status_of(operator, ann)
    assert Api().get(link_of(mailing)).status == 200
