"""The profile page: a person changes only their own record and password, and ends only their own sessions."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from chalicelib import clock
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.extensions.console.access import open_sessions, operator_selection, session_store, sessions
from chalicelib.extensions.console.access.session_store import MAX_ATTEMPTS
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import PASSWORD
from tests.moto_tables import snapshot

NEW, EMAIL = "battery staple", "bo@acme.test"


def another(browser: Browser) -> Browser:
    """Return another browser of the same person, which is signed in."""
    other = browser.another()
    other.start_session(email=EMAIL, password=PASSWORD)
    return other


def is_signed_in(browser: Browser) -> bool:
    sessions.clear_cache()
    return browser._send("GET", f"{browser.home}/account", None, {}).status == 200


def change_password(browser: Browser, current: str = PASSWORD, new: str = NEW) -> Answer:
    """Submit the form for the password."""
    fields = {"currentPassword": current, "dashboardPassword": new}
    return browser.submit(browser.open("/account"), "/account/password", fields)


def test_a_person_changes_their_name_and_nothing_else(signed_in: Browser, workspace_api: Api) -> None:
    before = workspace_api.get("/v2/clients/bo").data
    forged = {"isOrgAdmin": "on", "email": "x@acme.test", "orgId": "rival", "canAccess": "/settings"}
    fields = {"name": "Bo V.", "dashboardPassword": NEW, **forged}
    page = signed_in.submit(signed_in.open("/account"), "/account", fields)
    assert "Saved." in page.text and 'value="Bo V."' in page.text
    assert workspace_api.get("/v2/clients/bo").data == {**before, "name": "Bo V."}


def test_a_form_without_changes_writes_nothing(signed_in: Browser) -> None:
    page, before = signed_in.open("/account"), snapshot()
    assert "Saved." in signed_in.submit(page, "/account", {"name": "Bo de Vries"}).text
    assert snapshot() == before


def test_a_password_needs_the_current_one(signed_in: Browser, workspace_api: Api) -> None:
    for current in ("wrong", "", NEW):
        answer = change_password(signed_in, current)
        assert (answer.status, 'id="wrong-currentPassword"' in answer.text) == (400, True)
        assert NEW not in answer.text and (not current or f'value="{current}"' not in answer.text)
    assert workspace_api.get("/v2/clients/bo").data["dashboardPassword"] == PASSWORD


def test_a_new_password_ends_all_other_sessions(signed_in: Browser, workspace_api: Api) -> None:
    other, earlier = another(signed_in), signed_in.cookie
    assert "Your password has been changed." in change_password(signed_in).text
    assert workspace_api.get("/v2/clients/bo").data["dashboardPassword"] == NEW
    assert [is_signed_in(one) for one in (signed_in, other)] == [True, False]
    other.cookie = earlier
    assert not is_signed_in(other)


@pytest.mark.parametrize(("new", "text"), [("short", "at least 8"), (PASSWORD, "Choose another one"), ("", "at least")])
def test_a_password_must_be_new_and_follow_the_rules(new: str, text: str, signed_in: Browser) -> None:
    page = change_password(signed_in, new=new)
    assert (page.status, 'id="wrong-dashboardPassword"' in page.text, text in page.text) == (400, True, True)
    assert is_signed_in(signed_in)


def test_a_member_cannot_change_their_email(signed_in: Browser, workspace_api: Api) -> None:
    page, before = signed_in.open("/account"), workspace_api.get("/v2/clients/bo").data
    assert 'name="email"' not in page.text and EMAIL in page.text and "administrator can change it" in page.text
    fields = {"action": "email", "email": "new@acme.test", "emailPassword": PASSWORD}
    assert signed_in.submit(page, "/account/password", fields).status == 403
    fields = {"email": "new@acme.test", "currentPassword": PASSWORD, "dashboardPassword": NEW}
    assert signed_in.submit(page, "/account/password", fields).status == 200
    assert workspace_api.get("/v2/clients/bo").data == {**before, "dashboardPassword": NEW}


def test_a_form_asks_for_the_current_password_before_the_new_one(signed_in: Browser) -> None:
    page = signed_in.open("/account").text
    names = re.findall(r'<input id="(\w+)" name="\w+" type="password"', page)
    assert names == ["currentPassword", "dashboardPassword"] and ">Change password</button>" in page


@pytest.mark.usefixtures("pass_time")  # the clock is stopped, because attempts count in windows
def test_a_stolen_session_cannot_guess_the_password(signed_in: Browser) -> None:
    # The sign-in was the first attempt.
    statuses = [change_password(signed_in, f"guess {number}").status for number in range(MAX_ATTEMPTS)]
    assert statuses == [400] * (MAX_ATTEMPTS - 1) + [429]
    assert change_password(signed_in).status == 429
    assert is_signed_in(signed_in)


@pytest.mark.usefixtures("pass_time")  # the clock is stopped, because attempts count in windows
def test_wrong_passwords_count_as_failures_of_the_address(signed_in: Browser) -> None:
    for _ in range(session_store.MAX_FAILURES - 1):
        session_store.count_failure("127.0.0.1")
    assert [change_password(signed_in, "wrong").status for _ in range(2)] == [400, 429]


def test_a_password_is_changed_once_by_concurrent_requests(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open("/account")
    new = [f"battery staple {number}" for number in range(4)]

    def send(password: str) -> int:
        browser = signed_in.another()
        browser.cookie = signed_in.cookie
        fields = {"currentPassword": PASSWORD, "dashboardPassword": password}
        return browser.submit(page, "/account/password", fields).status

    with ThreadPoolExecutor(4) as pool:
        statuses = [*pool.map(send, new)]
    stored = workspace_api.get("/v2/clients/bo").data["dashboardPassword"]
    assert stored in new and statuses[new.index(stored)] == 200


def test_sign_out_everywhere_ends_every_session(signed_in: Browser, workspace_api: Api) -> None:
    other, before = another(signed_in), workspace_api.get("/v2/clients/bo").data
    page = signed_in.submit(signed_in.open("/account"), "/account/sign-out", {})
    assert 'name="password"' in page.text and signed_in.cookie.endswith("=")
    assert not is_signed_in(other)
    assert workspace_api.get("/v2/clients/bo").data == before
    assert is_signed_in(another(signed_in))


def test_sign_out_everywhere_leaves_the_sessions_of_others(signed_in: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/kim", {"orgId": "acme", "email": "kim@acme.test", "dashboardPassword": PASSWORD})
    kim = signed_in.another()
    kim.start_session(email="kim@acme.test", password=PASSWORD)
    signed_in.submit(signed_in.open("/account"), "/account/sign-out", {})
    assert is_signed_in(kim)


def test_a_later_change_through_the_api_keeps_sessions_ended(signed_in: Browser, workspace_api: Api) -> None:
    other = another(signed_in)
    signed_in.submit(signed_in.open("/account"), "/account/sign-out", {})
    workspace_api.post("/v2/clients/bo", {"name": "Bo"})
    assert not is_signed_in(other)


CHROME = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0 Safari/537.36"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Safari/604.1"
_OTHER = re.compile('name="session" value="(?!others")([^"]*)"')


def with_browser(browser: Browser, user_agent: str) -> Browser:
    """Return another browser of the same person, which is signed in."""
    other = browser.another()
    other.post("", {"email": EMAIL, "password": PASSWORD}, **{"User-Agent": user_agent})
    return other


def test_the_sessions_are_listed_with_their_browsers(browser: Browser, workspace_api: Api) -> None:
    first = with_browser(browser, CHROME)
    other = with_browser(browser, SAFARI)
    page = first.open("/account").text
    assert "Chrome on Windows" in page and "Safari on iPhone" in page
    assert (page.count(">This session<"), len(_OTHER.findall(page))) == (1, 1)
    change_password(first)
    page = first.open("/account").text
    assert "Chrome on Windows" in page and "Safari" not in page and not _OTHER.findall(page)
    assert not is_signed_in(other)


def test_one_session_is_ended_and_the_others_stay(browser: Browser, workspace_api: Api) -> None:
    first, second, third = (with_browser(browser, agent) for agent in (CHROME, SAFARI, "unknown"))
    page = first.open("/account")
    ids = _OTHER.findall(page.text)  # newest first
    assert len(ids) == 2 and "Unknown browser" in page.text
    ended = first.submit(page, "/account/sign-out", {"session": ids[1]})
    assert "Ended sessions stop working" in ended.text and len(_OTHER.findall(ended.text)) == 1
    assert [is_signed_in(one) for one in (first, second, third)] == [True, False, True]


def test_sessions_that_are_not_listed_are_ended_too(browser: Browser, workspace_api: Api, pass_time: PassTime) -> None:
    earliest = with_browser(browser, "unknown")
    for _ in range(open_sessions.MAX_LISTED):
        pass_time(session_store.WINDOW // 8)  # fewer sign-ins in a window than the limit
        another(browser)
    last = with_browser(browser, CHROME)
    assert last.open("/account").text.count('name="session" value=') == open_sessions.MAX_LISTED
    ended = last.submit(last.open("/account"), "/account/sign-out", {"session": "others"})
    assert "Ended sessions stop working" in ended.text and "Chrome on Windows" in ended.text
    assert [is_signed_in(one) for one in (last, earliest)] == [True, False]


def test_an_ended_session_ends_no_others(browser: Browser, workspace_api: Api) -> None:
    """A process may still accept the session for 30 seconds."""
    stolen, owner = with_browser(browser, CHROME), with_browser(browser, SAFARI)
    page, cached = stolen.open("/account"), dict(sessions._cache)
    change_password(owner)
    sessions._cache.update(cached)
    assert stolen.submit(page, "/account/sign-out", {"session": "others"}).status == 403
    assert is_signed_in(owner)


def test_all_other_sessions_are_ended_at_once(browser: Browser, workspace_api: Api) -> None:
    first = with_browser(browser, CHROME)
    assert 'value="others"' not in first.open("/account").text
    second, third = (with_browser(browser, agent) for agent in (SAFARI, "unknown"))
    ended = first.submit(first.open("/account"), "/account/sign-out", {"session": "others"})
    assert ">This session<" in ended.text and not _OTHER.findall(ended.text)
    assert [is_signed_in(one) for one in (first, second, third)] == [True, False, False]


def test_the_session_of_another_person_is_not_ended(signed_in: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo2", {"orgId": "acme", "email": "kim@acme.test", "dashboardPassword": PASSWORD})
    kim, kims = signed_in.another(), signed_in.another()
    for one in (kim, kims):
        one.start_session(email="kim@acme.test", password=PASSWORD)
    (session_id,) = _OTHER.findall(kim.open("/account").text)
    page = signed_in.open("/account")
    assert not _OTHER.findall(page.text)
    signed_in.submit(page, "/account/sign-out", {"session": session_id})
    assert is_signed_in(kims) and is_signed_in(signed_in)


def test_a_hostile_browser_name_is_no_html_and_is_stored_truncated(browser: Browser, workspace_api: Api) -> None:
    hostile = with_browser(browser, "<img src=x onerror=alert(1)>" * 400)
    assert "<img" not in hostile.open("/account").text and "Unknown browser" in hostile.open("/account").text


@pytest.mark.parametrize(
    ("user_agent", "names"),
    [
        (CHROME, ("Chrome", "Windows")),
        (SAFARI, ("Safari", "iPhone")),
        (f"{CHROME} Edg/131.0", ("Edge", "Windows")),
        ("Mozilla/5.0 (Android 14; Mobile; rv:133.0) Gecko/133.0 Firefox/133.0", ("Firefox", "Android")),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/17.6 Safari/605.1.15", ("Safari", "macOS")),
        ("curl/8.0", ("", "")),
    ],
)
def test_a_browser_has_a_name(user_agent: str, names: tuple[str, str]) -> None:
    assert open_sessions.names_of(user_agent) == names


def test_an_operator_has_no_profile(workspace: NewWorkspace, workspace_api: Api) -> None:
    operator = Browser(workspace.workspace_id)
    operator.start_session(key=workspace.workspace_key)
    page = operator.open("/account")
    assert "give each operator a key of their own" in page.text
    assert f"infra.cams key issue --workspace {workspace.workspace_id} --name NAME</code>" in page.text
    assert re.findall(r'<form[^>]* action="([^"]*)"', page.text) == [
        f"{operator.home}/{one}" for one in ("sign-out", "account", "jump")
    ]
    assert '<h1>Your profile</h1><em class="state">Workspace key</em>' in page.text
    assert re.search(r'<dt>Created</dt><dd><time datetime="[^"]*">', page.text)
    assert re.search(r"<span>[^<]+<small>Workspace key</small></span></a>\n<button", page.text)
    assert (
        re.search(f'<code data-copy="Copy"[^>]*>{workspace.workspace_id}</code>', page.text)
        and f'href="{operator.home}/settings#tokens"' in page.text
    )
    form, before = csrf_field(page), snapshot()
    for path in ("/account/password", "/account/sign-out"):
        assert operator.post(path, form).status == 403
    assert snapshot() == before


def test_an_operator_reads_what_the_key_is(workspace: NewWorkspace, pass_time: PassTime) -> None:
    operator = Browser(workspace.workspace_id)
    operator.start_session(key=workspace.workspace_key)
    key = credentials.find_active(tokens.fingerprint(workspace.workspace_key))
    assert key is not None and key.ends_at is not None
    page = operator.open("/account").text
    assert f'data-copied="Copied">{key.credential_id}</code>' in page and workspace.workspace_key not in page
    assert f'<dt>Expires</dt><dd><time datetime="{clock.iso(key.ends_at)}"' in page and "in 364 days</span>" in page
    assert '<dt>Last used</dt><dd>Never <span class="hint">for API requests' in page
    Api(workspace.workspace_key).get("/v3/workspace")
    pass_time(31)
    assert '<dt>Last used</dt><dd><time datetime="' in operator.open("/account").text


def test_an_operator_chooses_a_language_and_a_time_zone_for_the_browser(workspace: NewWorkspace) -> None:
    operator = Browser(workspace.workspace_id)
    operator.start_session(key=workspace.workspace_key)
    page, before = operator.open("/account"), snapshot()
    wrong = operator.submit(page, "/account", {"preferredLanguage": "nl", "timezone": "Nowhere; x"})
    assert (wrong.status, 'id="wrong-timezone"' in wrong.text, 'value="nl" selected' in wrong.text) == (400, True, True)
    saved = operator.submit(page, "/account", {"preferredLanguage": "nl", "timezone": "Asia/Tokyo"})
    assert "Opgeslagen." in saved.text and 'lang="nl"' in saved.text and 'data-time-zone="Asia/Tokyo"' in saved.text
    analytics = operator.open("/analytics?tz=Europe/Amsterdam").text
    assert 'lang="nl"' in analytics and 'data-time-zone="Europe/Amsterdam"' in operator.open("/account").text
    operator.submit(page, "/account", {"preferredLanguage": "xx", "timezone": ""})
    page = operator.open("/account")
    assert '<html lang="en' in page.text and "data-time-zone" not in page.text
    assert '<html lang="en' in operator.another().open("").text and snapshot() == before


def test_a_time_zone_that_an_earlier_release_remembered_still_applies(workspace: NewWorkspace) -> None:
    operator = Browser(workspace.workspace_id)
    operator.start_session(key=workspace.workspace_key)
    operator.cookie += f"; {operator_selection.ZONE_COOKIE}=Asia/Tokyo"
    assert 'data-time-zone="Asia/Tokyo"' in operator.open("/account").text


def test_a_person_who_was_disabled_through_the_api_signs_in_anew(signed_in: Browser, workspace_api: Api) -> None:
    """Even a session ends that was idle until the person was enabled again."""
    for disabled in (True, False):
        assert workspace_api.post("/v2/clients/bo", {"disabled": disabled}).status == 200
    assert not is_signed_in(signed_in)
    workspace_api.post("/v2/clients/bo", {"name": "Bo"})
    assert is_signed_in(another(signed_in))
