"""A forgotten password: a link by email, and pages that do not reveal whether an email belongs to a client."""

import re
from typing import Any

import pytest

from chalicelib.extensions.console.access import session_store, sessions
from chalicelib.extensions.console.account_pages import one_time_links
from chalicelib.extensions.console.notifications import allowance, mail
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.capacity import metered
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.mailing import BO, Crash, Mailing, request_person, text_of
from tests.moto_tables import items, snapshot

NEW = "battery staple"
LINK = re.compile(r"https://cams\.test/prod/console/[^/]+(/password/\S+)")


def request_link(browser: Browser, email: str = BO) -> Answer:
    """Fill in the form for a forgotten password."""
    return browser.submit(browser.open("/forgot-password"), "/forgot-password", {"email": email})


def links(mailing: Mailing) -> list[str]:
    """Return the links in all emails for new passwords, oldest first."""
    texts = [text_of(one) for one in mailing.mails if "new password" in one["Subject"]]
    return [LINK.findall(text)[0] for text in texts]


@pytest.fixture
def link(browser: Browser, mailing: Mailing) -> str:
    """Return the path of the link that the client has received."""
    request_link(browser)
    mailing.run(1)
    (path,) = links(mailing)
    return path


def set_password(browser: Browser, link: str, password: str = NEW, **headers: str) -> Answer:
    """Submit the form behind a link."""
    return browser.post(link, {"dashboardPassword": password}, **headers)


def test_a_forgotten_password_is_set_with_the_link_in_an_email(browser: Browser, mailing: Mailing) -> None:
    page = browser.open("")
    assert f'formaction="{browser.home}/forgot-password" formnovalidate>' in page.text
    assert "is on its way" in request_link(browser, " BO@acme.test ").text
    mailing.run(1)
    (received,) = mailing.mails
    assert (mailing.recipients, received["Subject"]) == ([BO], "A new password for Acme Travel")
    assert text_of(received, "html").count(links(mailing)[0]) == 1
    form = browser.open(links(mailing)[0])
    assert form.status == 200 and 'autocomplete="new-password"' in form.text
    assert "You can now sign in." in set_password(browser, links(mailing)[0]).text
    assert browser.sign_in(BO, PASSWORD).status == 401
    assert browser.sign_in(BO, NEW).status == 200


def test_the_form_has_the_email_of_the_sign_in(browser: Browser, mailing: Mailing) -> None:
    before = items()
    page = browser.post("/forgot-password", {"email": f'{BO}"><x>', "password": PASSWORD, "ask": "on", "next": ""})
    assert f'value="{BO}&#34;&gt;&lt;x&gt;" required' in page.text and PASSWORD not in page.text
    mailing.run(0)
    assert items() == before and mailing.mails == []
    assert "is on its way" in browser.submit(page, "/forgot-password", {"email": BO}).text


@pytest.mark.parametrize("password", [NEW, PASSWORD])
def test_a_new_password_ends_all_sessions_even_if_it_is_the_old_one(
    password: str, browser: Browser, link: str, workspace: NewWorkspace
) -> None:
    browsers = [Browser(workspace.workspace_id) for _ in range(2)]
    for browser_of_person in browsers:
        browser_of_person.start_session(email=BO, password=PASSWORD)
    set_password(browser, link, password)
    sessions.clear_cache()
    assert [one._send("GET", f"{one.home}/account", None, {}).status for one in browsers] == [303, 303]
    assert browser.sign_in(BO, password).status == 200


@pytest.mark.parametrize(
    "change",
    [
        lambda api: api.post("/v2/clients/bo", {"dashboardPassword": "third horse"}),
        lambda api: api.post("/v2/clients/bo", {"dashboardPassword": None}),
        lambda api: api.post("/v2/clients/bo", {"email": "bo@other.test"}),
        lambda api: api.delete("/v2/clients/bo"),
        lambda api: (
            api.delete("/v2/clients/bo"),
            api.post("/v2/clients/bo", {"email": BO, "dashboardPassword": PASSWORD}),
        ),
    ],
    ids=["password", "no password", "email", "deleted", "recreated"],
)
def test_a_link_ends_when_the_client_changes(change: Any, browser: Browser, link: str, workspace_api: Api) -> None:
    change(workspace_api)
    before = snapshot()
    assert [browser.open(link).status, set_password(browser, link).status] == [404, 404]
    assert snapshot() == before


def test_a_dead_link_says_how_long_links_work_and_what_invited_people_do(browser: Browser, mailing: Mailing) -> None:
    page = browser.open("/password/used").text
    assert "an invitation within seven days, and a link for a forgotten password within one hour" in page
    assert [*one_time_links.LIFETIMES.values()] == [7 * 86_400, 3_600]
    parts = ["Were you invited?", "Ask the person who invited you", "Forgot your password?", ">Ask for a new link</a>"]
    assert [*map(page.index, parts)] == sorted(map(page.index, parts))


def test_a_dead_link_explains_its_own_purpose(browser: Browser, link: str) -> None:
    assert link.endswith("?for=reset")
    pages = [browser.open(f"/password/used?for={one}").text for one in one_time_links.LIFETIMES]
    assert ["An invitation works once" in page for page in pages] == [True, False]
    assert [">Ask for a new link<" in page for page in pages] == [False, True]
    assert not any("Were you invited?" in page for page in pages)


def test_a_person_gets_one_link_in_five_minutes(browser: Browser, link: str, mailing: Mailing) -> None:
    for _ in range(3):
        request_link(browser)
    mailing.run(session_store.WINDOW - 10)
    assert links(mailing) == [link] and browser.open(link).status == 200


def test_links_have_an_allowance_of_their_own(
    browser: Browser, mailing: Mailing, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowance, "MAX_LINKS", 1)
    kim = {"orgId": "acme", "email": "kim@acme.test", "dashboardPassword": PASSWORD}
    assert workspace_api.post("/v2/clients/kim", kim).status == 200
    for email in (BO, "kim@acme.test"):
        request_link(browser, email)
        mailing.run(1)
    assert mailing.recipients == [BO]
    request_person(workspace_api, "ann")
    mailing.happen()
    assert mailing.recipients == [BO, BO] and "waiting" in mailing.mails[1]["Subject"]


def test_another_site_can_neither_request_a_link_nor_use_it(browser: Browser, link: str, mailing: Mailing) -> None:
    before, foreign = snapshot(), {"Sec-Fetch-Site": "cross-site"}
    assert browser.post("/forgot-password", {"email": BO}, **foreign).status == 403
    assert set_password(browser, link, **foreign).status == 403
    assert snapshot() == before and mailing.queued == []


def test_known_and_unknown_emails_cause_the_same_requests_and_page(
    browser: Browser, mailing: Mailing, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/kim", {"email": "kim@acme.test"})
    outcomes = set()
    for email in (BO, "kim@acme.test", "unknown@acme.test", "no address", ""):
        page = browser.open("/forgot-password")
        mailing.queued.clear()
        with metered() as meter:
            answer = browser.submit(page, "/forgot-password", {"email": email})
        (message,) = mailing.queued
        cost = (str(meter.requests), meter.reads, meter.writes)
        outcomes.add((answer.status, answer.text, cost, re.sub(r"[0-9a-z#]{20,}|#", "?", message[1])))
        assert not email or email not in message[1]
    assert len(outcomes) == 1, outcomes


@pytest.mark.parametrize(
    "members",
    [{"dashboardPassword": None}, {"email": "bo@localhost"}, {"email": "a@b.test, c@d.test"}, {"email": None}],
)
def test_no_email_leaves_for_a_person_who_cannot_sign_in_or_receive_it(
    members: dict[str, Any], browser: Browser, mailing: Mailing, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/bo", members)
    request_link(browser, members.get("email") or BO)
    mailing.run(10)
    assert (mailing.mails, mailing.failures) == ([], 0)


def test_requests_are_limited_like_sign_ins_and_use_up_no_sign_ins(
    browser: Browser, mailing: Mailing, pass_time: PassTime
) -> None:
    statuses = [request_link(browser).status for _ in range(session_store.MAX_ATTEMPTS + 1)]
    assert statuses == [200] * session_store.MAX_ATTEMPTS + [429]
    assert len(mailing.queued) == session_store.MAX_ATTEMPTS
    assert request_link(browser, "unknown@acme.test").status == 200
    assert browser.sign_in(BO, PASSWORD).status == 200
    pass_time(session_store.WINDOW)
    assert request_link(browser.another()).status == 200


def test_an_address_has_100_requests(browser: Browser, mailing: Mailing) -> None:
    for number in range(session_store.MAX_FAILURES):
        session_store.count_link_request("w", f"{number}@spray.test", "127.0.0.1")
    before = items()
    with metered() as meter:
        assert browser.post("/forgot-password", {"email": BO}).status == 429
    assert (meter.requests["UpdateItem"], items(), mailing.queued) == (1, before, [])


def test_an_email_that_was_not_sent_is_sent_again(
    browser: Browser, mailing: Mailing, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, tries = mail.send, [mail.NotSent, Crash]

    def fail_twice(content: bytes, address: str) -> None:
        if tries:
            raise tries.pop(0)
        send(content, address)

    monkeypatch.setattr(mail, "send", fail_twice)
    request_link(browser)
    mailing.run(900)
    (link,) = links(mailing)
    assert mailing.failures == 2 and browser.open(link).status == 200


def test_logs_contain_no_link_email_or_password(
    browser: Browser, mailing: Mailing, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    send = mail.send

    def refuse(content: bytes, address: str) -> None:
        send(content, address)
        raise mail.Refused(address)

    monkeypatch.setattr(mail, "send", refuse)
    request_link(browser)
    ((_, text),) = mailing.queued
    mailing.run(10)
    (link,) = links(mailing)
    set_password(browser, link, "short")
    set_password(browser, link)
    output = "".join(capsys.readouterr())
    assert "/password/{token}" in output and "rejected an email" in output
    claim = text.split('"')[5]
    assert len(claim) == 64
    for secret in (link.rpartition("/")[2], BO, NEW, PASSWORD, claim):
        assert secret not in output


def test_without_emails_the_page_names_who_can_help(browser: Browser) -> None:
    before = items()
    page = browser.open("/forgot-password")
    assert "<form" not in page.text and "sends no emails" in page.text
    assert "sends no emails" in browser.post("/forgot-password", {"email": BO}).text
    assert items() == before


def test_an_unknown_workspace_stores_and_sends_nothing(mailing: Mailing) -> None:
    before = items()
    assert "is on its way" in request_link(Browser("01hzzzzzzzzzzzzzzzzzzzzzzz")).text
    assert (items(), mailing.queued) == (before, [])


def test_the_email_is_in_the_language_of_the_organisation(
    browser: Browser, mailing: Mailing, workspace_api: Api
) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": "nl"})
    request_link(browser)
    mailing.run(1)
    assert mailing.mails[0]["Subject"] == "Een nieuw wachtwoord voor Acme"
