"""The unsubscribe link in an email: its question, its effect, and how forged links are rejected."""

import base64
import re
from typing import Any

import pytest

from chalicelib.clients import store as clients
from chalicelib.extensions.console.notifications import unsubscribe_token
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.mailing import Mailing, request_person, settings
from tests.moto_tables import snapshot

FORM = "application/x-www-form-urlencoded"
ONE_CLICK = b"List-Unsubscribe=One-Click"


@pytest.fixture
def link(workspace: NewWorkspace, workspace_api: Api) -> str:
    """Return the path of the unsubscribe link in an email to a client who has enabled notifications."""
    for client in ("bo", "kim"):
        assert workspace_api.post(f"/v2/clients/{client}", {"orgId": "acme", **settings()}).status == 200
    return path(workspace.workspace_id, unsubscribe_token.token(workspace.workspace_id, "bo"))


def path(workspace_id: str, token: str) -> str:
    return f"/console/{workspace_id}/unsubscribe/{token}"


def send(method: str, link: str, content_type: str = FORM, body: bytes = ONE_CLICK) -> Answer:
    """Send a request without a cookie, as an email program does."""
    if method == "GET":
        return Api().call("GET", link, None, {})
    return Api().call(method, link, body, {"Content-Type": content_type})


def setting(api: Api, client: str = "bo") -> Any:
    return api.get(f"/v2/clients/{client}").data["notificationsSettings"]


def test_the_link_of_a_mail_ends_mails(
    workspace_api: Api, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime
) -> None:
    workspace_api.post("/v2/clients/bo", settings())
    mailing = Mailing(monkeypatch, pass_time)
    request_person(workspace_api, "ann")
    mailing.happen()
    (mail,) = mailing.mails
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    # Check the raw header, because email programs do not decode it.
    (found,) = re.findall(r"^List-Unsubscribe: <https://cams\.test/prod(/console/.*)>\r?$", mailing.raw_mails[0], re.M)
    assert send("POST", found).status == 200
    request_person(workspace_api, "bob")
    mailing.happen(900)
    assert len(mailing.mails) == 1


def test_opening_the_link_asks_and_changes_nothing(link: str, workspace_api: Api) -> None:
    before = snapshot()
    answer = send("GET", link)
    assert (answer.status, '<form class="card form" method="post">' in answer.text) == (200, True)
    assert "bo@acme.test" not in answer.text
    assert snapshot() == before


def test_the_pages_are_in_the_language_of_the_mail(link: str, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": "nl"})
    for method in ("GET", "POST"):
        assert '<html lang="nl" ' in send(method, link).text


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (FORM, ONE_CLICK),
        (FORM, b""),
        (f"{FORM}; charset=UTF-8", ONE_CLICK),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\n'),
    ],
)
def test_the_button_ends_the_mails_of_this_client_only(
    content_type: str, body: bytes, link: str, workspace_api: Api
) -> None:
    assert send("POST", link, content_type, body).status == 200
    assert setting(workspace_api) == settings(None, None)["notificationsSettings"]
    assert setting(workspace_api, "kim") == settings()["notificationsSettings"]
    assert workspace_api.get("/v2/clients/bo").data["name"] == "Bo de Vries"


def test_a_second_click_changes_nothing(link: str, workspace_api: Api) -> None:
    send("POST", link)
    before = snapshot()
    assert send("POST", link).status == 200
    assert snapshot() == before


def test_the_page_offers_to_undo(link: str, workspace_api: Api) -> None:
    assert 'value="undo"' in send("POST", link).text
    undone = send("POST", link, body=b"action=undo")
    assert (undone.status, "You will receive emails" in undone.text) == (200, True)
    assert setting(workspace_api) == settings()["notificationsSettings"]
    assert "?next=/account" in undone.text
    send("POST", link)
    before = snapshot()
    foreign = Api().call("POST", link, b"action=undo", {"Content-Type": FORM, "Sec-Fetch-Site": "cross-site"})
    assert foreign.status == 403
    assert snapshot() == before


def test_the_link_of_a_deleted_client_makes_no_client(link: str, workspace_api: Api) -> None:
    workspace_api.delete("/v3/clients/bo")
    before = snapshot()
    for body in (ONE_CLICK, b"action=undo"):
        assert send("POST", link, body=body).status == 200
    assert snapshot() == before


def forged(token: str) -> dict[str, str]:
    sealed = base64.urlsafe_b64decode(token + "==")
    swapped = [bytes([*sealed[:at], sealed[at] ^ 1, *sealed[at + 1 :]]) for at in (0, 3, 10, -1)]
    texts = {f"bit {number}": base64.urlsafe_b64encode(one).decode().rstrip("=") for number, one in enumerate(swapped)}
    newer = base64.urlsafe_b64encode(bytes([30, *sealed[1:]])).decode().rstrip("=")
    return {**texts, "newer": newer, "cut": token[:-4], "empty": "x", "text": "bo", "other": "%FF", "accent": "%C3%A9"}


def test_a_forged_link_does_nothing(link: str, workspace: NewWorkspace, workspace_api: Api) -> None:
    before = snapshot()
    for name, token in forged(link.rpartition("/")[2]).items():
        for method in ("GET", "POST"):
            answer = send(method, path(workspace.workspace_id, token))
            assert answer.status in (400, 404), name
            assert answer.status == 400 or "you may still receive emails" in answer.text, name
            assert answer.status == 400 or ">Back to sign-in</a>" in answer.text, name
    assert snapshot() == before


def test_a_link_works_in_its_own_workspace_only(link: str, other_workspace: NewWorkspace) -> None:
    foreign = Api(other_workspace.workspace_key)
    foreign.post("/v2/clients/bo", settings())
    before = snapshot()
    assert send("POST", path(other_workspace.workspace_id, link.rpartition("/")[2])).status == 404
    assert snapshot() == before


def test_a_link_signs_nobody_in(link: str) -> None:
    for method in ("GET", "POST"):
        assert "set-cookie" not in send(method, link).headers


def test_the_account_page_shows_and_changes_the_same(link: str, workspace_api: Api, browser: Browser) -> None:
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    box = '<input id="notify"[^>]* checked'
    assert re.search(box, browser.open("/account").text)
    send("POST", link)
    assert not re.search(box, browser.open("/account").text)
    browser.submit(browser.open("/account"), "/account", {"notify": "on"})
    assert setting(workspace_api) == settings()["notificationsSettings"]


def test_the_link_is_the_author_of_the_change(link: str, workspace: NewWorkspace) -> None:
    send("POST", link)
    assert clients.read(workspace.workspace_id, "bo").changed_by == "client#bo#unsubscribe link"


def test_the_account_page_keeps_a_setting_that_it_does_not_know(workspace_api: Api, browser: Browser) -> None:
    workspace_api.post("/v2/clients/bo", settings("email", "assigned"))
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/account")
    assert "Saved." in browser.submit(page, "/account", {}).text
    assert setting(workspace_api) == settings("email", "assigned")["notificationsSettings"]
    browser.submit(page, "/account", {"notify": "on"})
    assert setting(workspace_api) == settings()["notificationsSettings"]
