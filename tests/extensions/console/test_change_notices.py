"""Emails about a new email or password, at the person's address before the change."""

import logging
import re
from types import ModuleType
from typing import Any

import pytest

from chalicelib import clock, errors, queues
from chalicelib.extensions.console.account_pages import change_notices
from chalicelib.extensions.console.notifications import allowance
from chalicelib.storage import encryption
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.mailing import BO, Mailing, fail_next_mail, text_of
from tests.extensions.console.test_forgotten_password import NEW, links, request_link, set_password
from tests.extensions.console.test_notification_content import HOSTILE, LINK, LINKS

PERSON, NEW_EMAIL = "/settings/orgs/acme/clients/bo", "new@acme.test"


def change_password(browser: Browser, current: str = PASSWORD, new: str = NEW) -> Answer:
    """Change the password in the profile."""
    fields = {"currentPassword": current, "dashboardPassword": new}
    return browser.submit(browser.open("/account"), "/account/password", fields)


def change_email(browser: Browser, email: str = NEW_EMAIL, password: str = PASSWORD) -> Answer:
    """Change the email in an administrator's profile."""
    fields = {"action": "email", "email": email, "emailPassword": password}
    return browser.submit(browser.open("/account"), "/account/password", fields)


def save_person(operator: Browser, **fields: str) -> Answer:
    """Save the form for a person as an operator."""
    page = operator.open(PERSON)
    pages = dict.fromkeys(re.findall(r'name="(canAccess\.[^"]*)"', page.text), "on")
    return operator.submit(page, "/clients/bo", {"name": "Bo", "email": BO, **pages, **fields})


def subjects(mailing: Mailing) -> list[tuple[str, str]]:
    """Return the recipient and the subject of each email, oldest first."""
    mailing.run(1)
    return list(zip(mailing.recipients, [one["Subject"] for one in mailing.mails], strict=True))


def test_a_new_password_is_reported(signed_in: Browser, mailing: Mailing, workspace: NewWorkspace) -> None:
    assert change_password(signed_in).status == 200
    assert subjects(mailing) == [(BO, "Your password for Acme Travel was changed")]
    for kind in ("plain", "html"):
        text = text_of(mailing.mails[0], kind)
        assert f"https://cams.test/prod/console/{workspace.workspace_id}/forgot-password" in text
        assert not any(secret in text for secret in (PASSWORD, NEW, signed_in.cookie))
        assert " UTC" in text and "Without the link" not in text


def test_a_new_email_is_reported_to_the_address_before(
    signed_in: Browser, mailing: Mailing, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True, "preferredLanguage": "nl"})
    assert change_email(signed_in).status == 200
    assert workspace_api.get("/v2/clients/bo").data["email"] == NEW_EMAIL
    assert BO not in str(mailing.queued)
    assert subjects(mailing) == [(BO, "Het e-mailadres van uw account bij Acme Travel is gewijzigd")]
    for kind in ("plain", "html"):
        text = text_of(mailing.mails[0], kind)
        assert NEW_EMAIL not in text and "https://" not in text and 'class="button"' not in text


def test_each_change_is_reported_once(signed_in: Browser, mailing: Mailing) -> None:
    for current, new in ((PASSWORD, NEW), (NEW, "third horse")):
        change_password(signed_in, current, new)
    change_password(signed_in, "wrong", "fourth horse")
    assert len(subjects(mailing)) == 2


def test_the_changes_of_an_administrator_are_reported(operator: Browser, mailing: Mailing) -> None:
    assert "Saved." in save_person(operator, name="Bo V.").text
    assert subjects(mailing) == []
    assert "Saved." in save_person(operator, dashboardPassword=NEW, email=NEW_EMAIL).text
    assert subjects(mailing) == [(BO, "Your email and password for Acme Travel were changed")]
    text = text_of(mailing.mails[0])
    assert "another email address and another password" in text and "https://" not in text
    assert not any(secret in text for secret in (PASSWORD, NEW, NEW_EMAIL))


def test_a_person_who_never_had_a_password_gets_no_mail(
    operator: Browser, mailing: Mailing, workspace_api: Api
) -> None:
    """The address may have been mistyped."""
    workspace_api.post("/v2/clients/bo", {"dashboardPassword": None})
    assert "Saved." in save_person(operator, email=NEW_EMAIL).text
    assert subjects(mailing) == []


def test_a_forgotten_password_that_is_set_is_reported(browser: Browser, mailing: Mailing) -> None:
    request_link(browser)
    mailing.run(1)
    assert "You can now sign in." in set_password(browser, links(mailing)[0]).text
    assert subjects(mailing)[1:] == [(BO, "Your password for Acme Travel was changed")]


def test_a_suspended_workspace_or_a_removed_person_gets_no_mail(
    signed_in: Browser, mailing: Mailing, workspace: NewWorkspace, workspace_api: Api
) -> None:
    change_password(signed_in)
    workspaces.change_status(workspace.workspace_id, [None], workspaces.SUSPENDED)
    mailing.run(1)
    workspaces.change_status(workspace.workspace_id, [workspaces.SUSPENDED], None)
    change_password(signed_in, NEW, PASSWORD)
    workspace_api.delete("/v3/clients/bo")
    assert (subjects(mailing), mailing.failures) == ([], 0)


def test_the_allowance_limits_the_mails(
    signed_in: Browser, mailing: Mailing, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime
) -> None:
    monkeypatch.setattr(allowance, "MAX_LINKS", 1)
    pass_time(-clock.seconds() % 3_600)  # a full hour, so that all emails are sent on one day
    request_link(signed_in)
    for current, new in ((PASSWORD, NEW), (NEW, "third horse")):
        change_password(signed_in, current, new)
    assert sorted(subject for _, subject in subjects(mailing)) == [
        "A new password for Acme Travel", "Your password for Acme Travel was changed",
    ]  # fmt: skip


def test_a_mail_that_ses_does_not_accept_is_sent_later(
    signed_in: Browser, mailing: Mailing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowance, "MAX_LINKS", 1)
    fail_next_mail(monkeypatch)
    change_password(signed_in)
    mailing.run(900)
    assert (len(mailing.mails), mailing.failures) == (1, 1)


@pytest.mark.parametrize(("module", "name"), [(queues, "send"), (encryption, "seal")])
def test_a_failing_notice_does_not_hide_that_the_password_was_saved(
    module: ModuleType,
    name: str,
    signed_in: Browser,
    mailing: Mailing,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    real = getattr(module, name)

    def fail(*arguments: Any) -> Any:
        if module is encryption and change_notices.PURPOSE not in arguments:
            return real(*arguments)
        raise errors.Unavailable

    monkeypatch.setattr(module, name, fail)
    with caplog.at_level(logging.ERROR):
        assert "Your password has been changed." in change_password(signed_in).text
    assert "Cannot notify a person" in caplog.text and not any(one in caplog.text for one in (PASSWORD, NEW, BO))
    assert signed_in.another().sign_in(BO, NEW).status == 200 and subjects(mailing) == []


def test_hostile_names_stay_text(signed_in: Browser, mailing: Mailing, workspace_api: Api) -> None:
    passwords = [PASSWORD, NEW]
    for hostile in (HOSTILE, *LINKS):
        workspace_api.post("/v2/orgs/acme", {"name": hostile})
        workspace_api.post("/v2/clients/bo", {"name": hostile})
        change_password(signed_in, *passwords)
        passwords.reverse()
        mailing.run(300)
        received = mailing.mails[-1]
        assert received["Bcc"] is None and "<img" not in text_of(received, "html")
        own = re.compile(r"https://cams\.test/\S+|\d\d:\d\d")  # the link and the time
        for text in (own.sub("", text_of(received)), received["Subject"], received["To"].addresses[0].display_name):
            assert not LINK.search(text), hostile
