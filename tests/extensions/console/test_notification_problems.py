"""The console's explanations for emails that do not arrive."""

import re
from typing import Any

import pytest

from chalicelib import clock
from chalicelib.extensions.console.access import sessions
from chalicelib.extensions.console.notifications import allowance, mail
from chalicelib.workspaces.store import NewWorkspace
from tests import moto_tables
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.mailing import BO, Mailing, request_person, settings, text_of

# The page texts about emails that do not arrive.
PROBLEMS: dict[str, dict[str, Any]] = {
    "The last email was rejected": {},
    "complete email address": {"email": "bø@acme.test"},
    "access to Conversations or Overview": {"canAccess": ["/leads", "/settings"]},
}


def problem_of(page: str) -> list[str]:
    """Return the text next to the notification field."""
    return re.findall('<p class="error" id="wrong-notify">(.*)</p>', page)


@pytest.mark.parametrize("expected", PROBLEMS)
def test_pages_say_why_no_mail_comes(
    expected: str,
    mailing: Mailing,
    workspace_api: Api,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.start_session(email=BO, password=PASSWORD)
    paths = ("/account", "/settings/orgs/acme/clients/bo")
    assert [problem_of(browser.open(path).text) for path in paths] == [[], []]
    workspace_api.post("/v2/clients/bo", PROBLEMS[expected])
    request_person(workspace_api, "ann")
    with monkeypatch.context() as patch:
        patch.setattr("chalicelib.extensions.console.notifications.mail.send", refuse)
        mailing.happen()
    sessions.clear_cache()
    browser.start_session(email=PROBLEMS[expected].get("email", BO), password=PASSWORD)
    for path in paths:
        (problem,) = problem_of(browser.open(path).text)
        assert expected in problem
    is_named = "Emails are sent to" in browser.open("/account").text
    assert is_named == (expected == "The last email was rejected")
    workspace_api.post("/v2/clients/bo", settings(None, None))
    sessions.clear_cache()
    assert [problem_of(browser.open(path).text) for path in paths] == [[], []]


def refuse(*_: Any) -> None:
    raise mail.Refused


def test_the_next_mail_ends_the_refusal(
    mailing: Mailing, workspace_api: Api, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("chalicelib.extensions.console.notifications.mail.send", refuse)
        request_person(workspace_api, "ann")
        mailing.happen(400)
    request_person(workspace_api, "bob")
    mailing.happen()
    browser.start_session(email=BO, password=PASSWORD)
    assert (len(mailing.mails), problem_of(browser.open("/account").text)) == (1, [])


def test_a_stage_without_mail_says_so(workspace_api: Api, browser: Browser) -> None:
    workspace_api.post("/v2/clients/bo", settings())
    browser.start_session(email=BO, password=PASSWORD)
    assert "does not send emails yet" in problem_of(browser.open("/account").text)[0]


def test_a_workspace_sends_a_limited_number_of_mails_a_day(
    mailing: Mailing,
    workspace: NewWorkspace,
    workspace_api: Api,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(allowance, "MAX_MAILS", 2)
    until_midnight = -(clock.milliseconds() // 1000) % (24 * 60 * 60)
    mailing.run(until_midnight + 12 * 60 * 60)  # the first three requests are on the same day
    for person in ("ann", "bob", "cem"):
        request_person(workspace_api, person)
        mailing.happen(400)
    assert (len(mailing.mails), mailing.failures, mailing.queued) == (2, 0, [])
    browser.start_session(email=BO, password=PASSWORD)
    assert "used up today" in problem_of(browser.open("/account").text)[0]
    mailing.run(24 * 60 * 60)
    request_person(workspace_api, "dan")
    mailing.happen()
    assert all(f"/convos/support/{one}" in text_of(mailing.mails[-1]) for one in ("cem", "dan"))
    sessions.clear_cache()
    assert problem_of(browser.open("/account").text) == []
    days = [row for row in moto_tables.items()["cams-workspaces"] if "mails" in row]
    assert len(days) == 2 and all("expires_at" in row for row in days)
