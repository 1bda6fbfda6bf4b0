"""Every link on a page or in an email works with the longest ids, and without the other extensions."""

import html
import os
import re
import subprocess
import sys
from urllib.parse import unquote, urlsplit

import pytest

from chalicelib import extensions
from chalicelib.extensions.console.notifications import unsubscribe_token
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.conftest import PassTime
from tests.extensions.console.browser import FORM, Browser
from tests.extensions.console.mailing import Mailing, request_person, settings, text_of
from tests.selection import whole
from tests.test_longest_ids import AGENT, CLIENT, CONVERSATION, ORG, OTHER, PASSWORD, longest
from tests.test_longest_ids import longest_ids as longest_ids


@pytest.mark.parametrize("email", ["", f"{CLIENT[-1]}@acme.test"], ids=["operator", "client"])
def test_every_link_of_a_page_works(
    email: str, workspace: NewWorkspace, longest_ids: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser(workspace.workspace_id)
    signed_in = browser.sign_in(email, PASSWORD) if email else browser.post("", {"key": workspace.workspace_key})
    assert signed_in.status == 200
    paths, seen, outside = ["/overview", "/account"], set[str](), set[str]()
    while paths:
        path = paths.pop()
        if path not in seen and not path.startswith("/assets"):
            seen.add(path)
            answer = browser.open(path)
            assert answer.status == 200, path
            linked = links(answer, f"{browser.home}{path}")
            paths += [one.removeprefix(browser.home) for one in linked if one.startswith(browser.home)]
            outside |= {one for one in linked if one and not one.startswith((browser.home, "mailto:", "tel:"))}
    assert all(Api().call("GET", one, None, {}).status == 200 for one in outside), outside
    assert all(any(one in unquote(path) for path in seen) for one in (AGENT, OTHER, ORG, longest("g"), CONVERSATION))


def links(answer: Answer, here: str) -> list[str]:
    """Return the paths that a console page links to."""
    found = [html.unescape(one) for one in re.findall(r'<a [^>]*href="([^"]*)"', answer.text)]
    return [urlsplit(here).path + one if one.startswith("?") else one.partition("#")[0] for one in found]


def test_a_mail_links_to_the_conversation_and_ends_mails(
    longest_ids: Api, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime
) -> None:
    mailing = Mailing(monkeypatch, pass_time)
    request_person(longest_ids, longest("h"), AGENT)
    mailing.happen()
    assert len(mailing.mails) == 2
    for mail, raw in zip(mailing.mails, mailing.raw_mails, strict=True):
        (shown,) = set(re.findall(r"https://cams\.test/prod(/console/\S*/unsubscribe/\S*)", text_of(mail)))
        (stop,) = re.findall(r"^List-Unsubscribe: <https://cams\.test/prod(/console/.*)>\r?$", raw, re.M)
        assert shown == stop
        assert Api().call("GET", stop, None, {}).status == 200
        assert Api().call("POST", stop, b"List-Unsubscribe=One-Click", FORM).status == 200
    for client in (CLIENT, longest("g")):
        assert longest_ids.get(f"/v2/clients/{client}").data["notificationsSettings"] == {
            "notifyThrough": None,
            "notifyIf": None,
        }


def test_the_link_to_end_mails_works_for_every_length(workspace: NewWorkspace, api: Api) -> None:
    for length in (1, 59, 60, 61, 127, 128):
        client = longest("x")[-length:]
        assert api.post(f"/v2/clients/{client}", {"name": "Bo", **settings()}).status == 200
        token = unsubscribe_token.token(workspace.workspace_id, client)
        path = f"/console/{workspace.workspace_id}/unsubscribe/{token}"
        assert Api().call("POST", path, b"", FORM).status == 200
        assert api.get(f"/v2/clients/{client}").data["notificationsSettings"]["notifyThrough"] is None


# The console has pages, forms or parts for these extensions. `make test-long` tests the others.
_WITH_PAGES = ("history", "reports", "tool_calls")


@whole
@pytest.mark.parametrize(
    "other",
    [
        pytest.param(name, marks=[] if name in _WITH_PAGES else pytest.mark.long)
        for name in extensions.present()
        if name != "console"
    ],
)
def test_every_link_works_with_one_other_extension(other: str) -> None:
    """The test runs in a separate process, because extensions are switched on or off for a process's lifetime.

    `make test-extensions` runs this module's tests with only the console.
    """
    environment = {**os.environ, "CAMS_EXTENSIONS": f"console,{other}"}
    test = f"{__file__}::{test_every_link_of_a_page_works.__name__}"
    line = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", test]
    ran = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
