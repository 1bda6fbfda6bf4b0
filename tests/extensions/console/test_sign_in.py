"""Signing in to the console, and the actions that end a session."""

import re
from types import ModuleType
from urllib.parse import urlencode

import pytest

from chalicelib import errors, storage
from chalicelib.extensions.console.access import sessions, visible_agents
from chalicelib.extensions.console.access.session_store import MAX_ATTEMPTS, MAX_ATTEMPTS_ANYWHERE, TooManyAttempts
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD

UNKNOWN = "01jt0000000000000000000000"


def test_a_client_signs_in_and_sees_the_overview(browser: Browser) -> None:
    assert "Workspace key" in browser.open("").text
    page = browser.sign_in("bo@acme.test", PASSWORD)
    assert page.status == 200
    assert "Acme Travel" in page.text and "Bo de Vries" in page.text and "Conversations" in page.text
    assert browser.open("").text.count("Sign out") == 1


def test_a_wrong_password_is_401_at_the_form(browser: Browser) -> None:
    for email, password in (("bo@acme.test", "wrong"), ("nobody@acme.test", PASSWORD), ("bo@acme.test", "")):
        answer = browser.sign_in(email, password)
        assert (answer.status, "The email or password is wrong." in answer.text) == (401, True)
    assert browser.cookie == ""


@pytest.mark.parametrize("path", ["/convos/support/ann?before=1", "/convos?q=a%26b&state=ended_chat", "/account"])
def test_a_link_leads_to_its_page_after_the_sign_in(browser: Browser, workspace_api: Api, path: str) -> None:
    assert workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"userName": "Ann"}}).status == 200
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    expected = parts(browser.open(path).text)
    browser.cookie = ""
    page = browser.open(path)
    wrong = browser.submit(page, browser.home, {"email": "bo@acme.test", "password": "wrong"})
    assert wrong.status == 401 and 'value="bo@acme.test"' in wrong.text
    signed_in = browser.submit(wrong, browser.home, {"email": "bo@acme.test", "password": PASSWORD})
    assert parts(signed_in.text) == expected
    assert parts(browser.open(f"?{urlencode({'next': path})}").text) == expected


def parts(text: str) -> list[str]:
    """Return a page's title, and the values of its text fields."""
    return re.findall(r"<title>[^<]*|<(?:input|select)(?! type=.hidden)[^>]*", text)


@pytest.mark.parametrize(
    "path",
    ["//evil.test", "https://evil.test", "/\\evil.test", "/..//evil.test", "/convos/../../x", "/%2e%2E/x", "evil",
     "/ x", "/\n/x", "/convos#\n", "/.", "/..?x", "/convos//x", "/convos?q=\r\nSet-Cookie: x=1", "javascript:x",
     "/" + "x" * 2_000],
)  # fmt: skip
def test_a_sign_in_leads_to_no_other_place(browser: Browser, path: str) -> None:
    for fields in ({"email": "bo@acme.test", "password": PASSWORD}, {"email": "bo@acme.test", "password": "wrong"}):
        answer = browser._submit(browser.home, {**fields, "next": path})
        assert answer.headers.get("location", browser.home) == browser.home
        assert 'name="next" value=""' in (answer.text or 'name="next" value=""')


def test_the_sign_in_names_only_the_workspace(browser: Browser, workspace_api: Api) -> None:
    workspace_api.patch("/v3/workspace", {"workspace": {"name": "Harbour"}})
    assert '<p class="hint place">Workspace: <strong>Harbour</strong>' in browser.open("").text


def test_the_sign_in_says_who_has_a_workspace_key(browser: Browser) -> None:
    page = browser.open("").text
    assert (
        '<label for="with-key">Sign in with a workspace key</label><p class="hint with-email">For operators, ' in page
    )
    assert "You received this secret key with the workspace, or from another operator." in page


def test_a_wrong_key_keeps_its_section_open(browser: Browser) -> None:
    for page, selected in ((browser.open(""), "with-email"), (browser.post("", {"key": "wrong"}), "with-key")):
        assert re.findall(r'<input [^>]*type="radio"[^>]* id="([^"]*)" checked>', page.text) == [selected]


def test_a_wrong_workspace_id_is_explained_and_kept(browser: Browser, workspace: NewWorkspace) -> None:
    workspace_id = browser.home.rpartition("/")[2]
    for fields in ({"email": "bo@acme.test", "password": "wrong"}, {"key": "wrong"}):
        wrong = browser.post("", fields)
        message = re.findall(r'role="alert">([^<]*)', wrong.text)
        assert message == [
            f"The {'workspace key' if 'key' in fields else 'email or password'} is wrong. "
            "Also check that this is your workspace."
        ]
        assert len(re.findall(r'name="(?:password|key)"[^>]* autofocus', wrong.text)) == 1
    browser.home = "/console"
    for text in ("acme travel", "demonstration", workspace_id[:25], f"{workspace_id}0", workspace_id.replace("0", "u")):
        entrance = browser.post("", {"workspace": text})
        assert (entrance.status, 'id="wrong-workspace">This is not a workspace id.' in entrance.text) == (400, True)
        assert f'value="{text}"' in entrance.text
    for text in (workspace_id, f" {workspace_id.upper()} ", UNKNOWN):
        assert "Workspace key" in browser.submit(entrance, "/console", {"workspace": text}).text
    browser.home = f"/console/{UNKNOWN}"
    assert "The workspace key is wrong." in browser.post("", {"key": workspace.workspace_key}).text


def test_the_entrance_leads_to_the_workspace_of_the_last_sign_in(browser: Browser, workspace: NewWorkspace) -> None:
    home = browser.home
    assert "<h1>Sign in</h1>" in browser.open("").text and browser.cookie == ""

    def entrance(query: str = "") -> str:
        browser.home = "/console"
        page = browser.open(query)
        browser.home = home
        return page.text

    browser.sign_in("bo@acme.test", PASSWORD)
    assert "Bo de Vries" in entrance() and 'id="workspace"' in entrance("?other=on")
    browser.submit(browser.open("/account"), "/sign-out", {})
    signed_out = entrance()
    assert 'id="with-email" checked>' in signed_out and 'href="/console?other=on"' in signed_out
    assert browser.post("", {"key": workspace.workspace_key}).status == 200
    browser.submit(browser.open("/account"), "/sign-out", {})
    assert 'id="with-key" checked>' in entrance()
    assert 'id="with-email" checked>' in browser.post("", {"email": "bo@acme.test", "password": "x"}).text
    for value in ("key.x", "key", "other." + home.rpartition("/")[2], "key./evil.test"):
        browser.cookie = f"__Secure-cams-last={value}"
        assert 'id="workspace"' in entrance()


def test_the_cookie_of_the_last_sign_in_is_for_the_whole_console(browser: Browser) -> None:
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    cookie = browser._send("GET", browser.home, None, {}).headers["set-cookie"]
    name, path, *others = cookie.split("; ")
    assert (name, path) == (f"__Secure-cams-last=email.{browser.home.rpartition('/')[2]}", "Path=/console")
    assert others == ["Max-Age=31536000", "HttpOnly", "Secure", "SameSite=Lax"]


def test_the_first_field_has_the_focus(browser: Browser) -> None:
    def focused(text: str) -> list[str]:
        return re.findall(r'<input id="([^"]*)"[^>]* autofocus', text)

    pages = (browser.open(""), browser.post("", {"key": "x"}), browser.post("", {"email": "x", "password": "x"}))
    assert [focused(page.text) for page in pages] == [["email"], ["key"], ["password"]]
    assert focused(browser.open("/forgot-password").text) in (["email"], [])
    browser.home = "/console"
    assert focused(browser.open("").text) == ["workspace"]


def test_the_root_leads_people_to_the_console_and_programs_to_the_documentation(api: Api) -> None:
    page = api.call("GET", "/", None, {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert 'href="/console"' in page.text and 'href="/docs"' in page.text
    assert page.headers["vary"] == "Accept, Accept-Language" and "no-store" in page.headers["cache-control"]
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
        answer = api.call("GET", "/", None, accept)
        assert (answer.status, answer.headers["location"]) == (302, "docs")


def test_signing_out_ends_the_session(browser: Browser) -> None:
    page = browser.sign_in("bo@acme.test", PASSWORD)
    cookie = browser.cookie
    browser.submit(page, "/sign-out", {})
    browser.cookie = cookie
    assert "Workspace key" in browser.open("/overview").text


def attempt(workspace: NewWorkspace, fields: dict[str, str], address: str) -> None:
    """Try to sign in with these fields."""
    with pytest.raises(sessions.WrongSignIn):
        sessions.sign_in(workspace.workspace_id, fields, address)


def test_strangers_with_wrong_keys_keep_no_operator_out(workspace: NewWorkspace) -> None:
    for number in range(MAX_ATTEMPTS_ANYWHERE):
        attempt(workspace, {"key": "wrong", "email": f"{number}@acme.test"}, f"192.0.2.{number // MAX_ATTEMPTS}")
    with pytest.raises(TooManyAttempts):
        sessions.sign_in(workspace.workspace_id, {"key": "wrong", "email": "new@acme.test"}, "192.0.2.0")
    with storage.unit_of_work():
        assert sessions.sign_in(workspace.workspace_id, {"key": workspace.workspace_key}, "198.51.100.1").token


def test_an_email_has_50_attempts_from_all_networks_however_it_is_written(workspace: NewWorkspace) -> None:
    written = ("bo@acme.test", "BO@acme.test", " Bo@ACME.test\t")
    for number in range(MAX_ATTEMPTS_ANYWHERE):
        fields = {"email": written[number % 3], "password": "wrong"}
        attempt(workspace, fields, f"2001:db8:0:{number // MAX_ATTEMPTS}::{number}")
    for address in ("2001:db8:0:0:ffff::1", "198.51.100.1", "", "unknown"):
        with pytest.raises(TooManyAttempts):
            sessions.sign_in(workspace.workspace_id, {"email": "bo@acme.test", "password": PASSWORD}, address)


def test_without_a_session_pages_are_in_the_language_of_the_browser(browser: Browser) -> None:
    for header, heading in (
        ("nl-BE,nl;q=0.9,en;q=0.8", "Inloggen"),
        ("fr,en,nl", "Sign in"),
        ("", "Sign in"),
        (";,-", "Sign in"),
    ):
        assert f"<h1>{heading}</h1>" in browser.open("", **{"Accept-Language": header}).text
    wrong = browser.post("", {"email": "x", "password": "y"}, **{"Accept-Language": "nl"})
    assert (wrong.status, "Inloggen is mislukt." in wrong.text) == (401, True)


def test_a_page_asks_nobody_for_json(browser: Browser) -> None:
    for language, said in (("en", "was not sent from a console page"), ("nl", "komt niet van een pagina")):
        headers = {"Content-Type": "text/plain", "Accept-Language": language}
        answer = browser.post("", {"email": "x"}, **headers)
        assert (answer.status, said in answer.text, "JSON" in answer.text) == (415, True, False)


def test_pages_say_months_numbers_and_errors_in_the_language_of_the_organisation(
    browser: Browser, workspace_api: Api, workspace: NewWorkspace
) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": "nl"})
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/leads", "/agents"]})
    workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "name": "Ann", "createdAt": 1_780_000_000_000}})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    months = ["jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec"]
    captured = browser.open("/leads").text.partition("<tbody ")[2].partition("<time ")[2].partition(">")[2]
    assert captured.split()[1] in months
    for path, said in (("/overview", "geen toegang tot deze pagina"), ("/agents/other", "bestaat niet")):
        page = browser.open(path)
        assert said in page.text and "agent does not" not in page.text and "administrator" not in page.text


@pytest.mark.parametrize(("module", "name"), [(sessions, "current"), (visible_agents, "read")])
def test_an_unavailable_page_does_not_name_an_address(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str
) -> None:
    browser.start_session(email="bo@acme.test", password=PASSWORD)

    def fail(*_: object) -> None:
        raise errors.Unavailable("The database is not reachable at http://127.0.0.1:8000.")

    monkeypatch.setattr(module, name, fail)
    page = browser.open("/overview")
    assert (page.status, "<h1>Temporarily unavailable</h1>" in page.text) == (503, True)
    assert "127.0.0.1" not in page.text and "try again in a moment" in page.text


def test_an_error_page_names_the_missing_record_and_leads_to_its_list(browser: Browser, workspace_api: Api) -> None:
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    for path, kind in (("/agents/unknown", "agent"), ("/agents/other", "agent"), ("/convos/support/x", "conversation")):
        page = browser.open(path)
        assert (page.status, f"This {kind} does not exist, or you cannot see it." in page.text) == (404, True)
        assert "<h1>Not found</h1>" in page.text and "Something went wrong" not in page.text
        list_page = f"/{path.split('/')[1]}"
        assert f'class="button" href="{browser.home}{list_page}"' in page.text
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/leads"]})
    sessions.clear_cache()
    page = browser.open("/agents/support")
    assert (page.status, "<h1>No access</h1>" in page.text) == (403, True)
    assert f'class="button" href="{browser.home}/leads">Go to Leads</a>' in page.text
