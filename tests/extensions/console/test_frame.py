"""The frame around each page: the name of the workspace or organisation, and the navigation."""

import re

from tests.api import Api
from tests.extensions.console.browser import Browser


def place(text: str) -> str:
    """Return the name above a page's navigation, with the text below it."""
    (name,) = re.findall(r'<div class="organisation">.*?<div>(.*?)</div>', text)
    return " ".join(re.sub("<[^>]*>", " ", name).split())


def test_operators_see_the_name_of_the_workspace(operator: Browser, workspace_api: Api) -> None:
    workspace_api.patch("/v3/workspace", {"workspace": {"name": "Acme <b>Support</b>"}})
    page = operator.open("/settings/workspace")
    assert place(page.text) == "Acme &lt;b&gt;Support&lt;/b&gt; All organisations"
    assert place(operator.submit(page, "/settings/workspace", {"name": "Acme"}).text) == "Acme All organisations"
    workspace_id = workspace_api.get("/v3/workspace").data["id"]
    sign_in = Browser(workspace_id)
    assert "<strong>Acme</strong>" in sign_in.open("").text
    assert "<strong>Acme</strong>" in sign_in.post("", {"key": "wrong"}).text
    workspace_api.patch("/v3/workspace", {"workspace": {"name": "\u200b"}})
    assert f"<code>{workspace_id}</code>" in sign_in.open("").text
    operator.submit(page, "/settings/workspace", {})
    assert place(operator.open("/settings").text) == "Workspace All organisations"


def test_people_see_the_name_of_their_organisation(signed_in: Browser) -> None:
    assert place(signed_in.open("/account").text) == "Acme Travel"


def test_an_error_page_keeps_the_place_in_the_navigation(operator: Browser) -> None:
    for path, place in {"/agents/unknown": "/agents", "/settings/orgs/unknown": "/settings"}.items():
        page = operator.open(path)
        current = re.findall(r'href="[^"]*(/[^"]*)" aria-current="page"', page.text)
        assert (page.status, current) == (404, [place])


def test_the_page_of_a_missing_record_has_only_the_search_of_the_navigation(operator: Browser) -> None:
    page = operator.open("/agents/unknown").text
    assert page.count(f'href="{operator.home}/jump"') == 1 and 'name="q"' not in page.partition("</main>")[0]
