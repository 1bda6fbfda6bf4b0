"""A person chooses the pages' colour scheme for a browser. Pages before the sign-in follow the system."""

import re

import pytest

from tests.api import Answer, Api
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import HOSTILE, PASSWORD
from tests.extensions.console.mailing import settings


def theme_of(page: Answer) -> list[str]:
    """Return the classes of the page's root element."""
    return re.findall(r'<html lang="[^"]*" class="([^"]*)"', page.text)


@pytest.mark.parametrize("kind", ["signed_in", "operator"])
def test_a_person_chooses_the_theme(kind: str, request: pytest.FixtureRequest) -> None:
    browser: Browser = request.getfixturevalue(kind)
    assert theme_of(browser.open("/account")) == []
    for theme, classes in (("dark", ["dark"]), ("light", ["light"]), ("", []), ("dark", ["dark"]), (HOSTILE, [])):
        saved = browser.submit(browser.open("/account"), "/account", {"theme": theme})
        assert "Saved." in saved.text and theme_of(saved) == theme_of(browser.open("/leads")) == classes
        chosen = re.findall(r'name="theme" value="(\w*)" checked', saved.text)
        assert chosen == [theme if classes else ""]


@pytest.mark.parametrize("kind", ["signed_in", "operator"])
def test_a_form_that_is_not_saved_keeps_the_chosen_theme(kind: str, request: pytest.FixtureRequest) -> None:
    browser: Browser = request.getfixturevalue(kind)
    page = browser.submit(browser.open("/account"), "/account", {"theme": "dark", "timezone": "Am"})
    assert page.status == 400 and theme_of(page) == theme_of(browser.open("/account")) == []
    assert 'name="theme" value="dark" checked' in page.text and 'value="Am"' in page.text


def test_the_form_of_the_release_before_saves_only_the_theme(
    signed_in: Browser, operator: Browser, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/bo", {"timezone": "Asia/Tokyo", **settings()})
    before = workspace_api.get("/v2/clients/bo").data
    saved = signed_in.post("/account", {**csrf_field(signed_in.open("/account")), "theme": "dark"})
    assert "Saved." in saved.text and theme_of(saved) == ["dark"]
    assert workspace_api.get("/v2/clients/bo").data == before
    operator.submit(operator.open("/account"), "/account", {"timezone": "Asia/Tokyo", "firstSteps": "on"})
    saved = operator.post("/account", {**csrf_field(operator.open("/account")), "theme": "dark"})
    assert 'data-time-zone="Asia/Tokyo"' in saved.text and 'name="firstSteps" type="checkbox" checked' in saved.text


def test_one_form_saves_the_profile_and_the_theme(signed_in: Browser) -> None:
    change = {"theme": "dark", "name": "Bo de Vries", "preferredLanguage": "nl"}
    saved = signed_in.submit(signed_in.open("/account"), "/account", change)
    assert theme_of(saved) == ["dark"] and "Bo de Vries" in saved.text and "Opgeslagen" in saved.text


def test_pages_before_the_sign_in_follow_the_system(signed_in: Browser) -> None:
    page = signed_in.submit(signed_in.open("/account"), "/account", {"theme": "dark"})
    assert theme_of(signed_in.submit(page, "/sign-out", {})) == theme_of(signed_in.open("/forgot-password")) == []
    signed_in.start_session(email="bo@acme.test", password=PASSWORD)
    assert theme_of(signed_in.open("/account")) == ["dark"]
    signed_in.cookie = re.sub("(cams-theme=)dark", rf"\1{'x' * 9}", signed_in.cookie)
    assert theme_of(signed_in.open("/account")) == []
