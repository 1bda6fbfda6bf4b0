"""Signing in to the console, and what ends a session."""

from tests.console.browser import Browser
from tests.console.conftest import PASSWORD


def test_a_client_signs_in_and_sees_the_overview(browser: Browser) -> None:
    assert "Workspace key" in browser.open("").text
    page = browser.sign_in("bo@acme.test", PASSWORD)
    assert page.status == 200
    assert "Acme Travel" in page.text and "Bo de Vries" in page.text and "Conversations" in page.text
    assert browser.open("").text.count("Sign out") == 1


def test_a_wrong_password_is_401_at_the_form(browser: Browser) -> None:
    for email, password in (("bo@acme.test", "wrong"), ("nobody@acme.test", PASSWORD), ("bo@acme.test", "")):
        answer = browser.sign_in(email, password)
        assert (answer.status, "The email or the password is wrong." in answer.text) == (401, True)
    assert browser.cookie == ""


def test_signing_out_ends_the_session(browser: Browser) -> None:
    page = browser.sign_in("bo@acme.test", PASSWORD)
    cookie = browser.cookie
    browser.submit(page, "/sign-out", {})
    browser.cookie = cookie
    assert "Workspace key" in browser.open("/overview").text
