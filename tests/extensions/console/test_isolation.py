"""Every console page and form rejects every kind of unauthorised request, and such requests change nothing."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from app import app
from chalicelib.extensions.console.access import colleagues, session_store
from chalicelib.extensions.console.inbox_pages import conversation_list
from chalicelib.http import auth
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.conftest import PassTime
from tests.extensions.console.browser import FORM, Browser
from tests.extensions.console.conftest import PASSWORD

# The links in emails contain a secret token (`test_unsubscribe`, `test_one_time_links`).
_LINKS = {"/console/{workspace}/unsubscribe/{token}", "/console/{workspace}/password/{token}"}
_FILES = {"/console/assets/{name}", "/console/site/{name}"}
OPEN = {"/console", "/console/{workspace}", "/console/{workspace}/forgot-password", *_FILES, *_LINKS}


class Place(NamedTuple):
    """One method of a console route."""

    method: str
    route: str

    def path(self, workspace_id: str) -> str:
        """Return the route's address, with the ids of the records in `workspace_api`."""
        values = {"workspace": workspace_id, "agent_id": "support", "convo_id": "ann", "client_id": "bo", "name": "x"}
        return re.sub(r"{(\w+)}", lambda match: values.get(match[1], "unknown"), self.route)


PLACES = sorted(
    Place(method, route) for route, methods in app.routes.items() if auth.is_open(route) for method in methods
)
GUARDED = [one for one in PLACES if one.route.startswith("/console") and one.route not in OPEN]


def send(
    place: Place, workspace_id: str, cookie: str, fields: dict[str, str] | bytes | None = None, **more: str
) -> Answer:
    """Send a request without following redirects."""
    sent = {**(FORM if place.method == "POST" else {}), **more, "Cookie": cookie}
    body = urlencode(fields).encode() if isinstance(fields, dict) else fields or b""
    return Api().call(place.method, place.path(workspace_id), body if place.method == "POST" else None, sent)


@pytest.fixture
def signed_in(browser: Browser, workspace_api: Api) -> Browser:
    """Return the client's browser, and create a conversation."""
    body = {"turns": [{"from": "human", "messages": [{"item": {"text": "Hello"}}]}]}
    assert workspace_api.post("/agents/support/interact/ann/state", body).status == 200
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def leads_to_sign_in(answer: Answer, workspace_id: str) -> bool:
    """Return whether the response only redirects to the sign-in page."""
    page = answer.headers.get("location", "").partition("?next=%2F")[0]
    return (answer.status, page, answer.text) == (303, f"/console/{workspace_id}", "")


ENDINGS: dict[str, Callable[[Api, PassTime], Any]] = {
    "an expired session": lambda api, pass_time: pass_time(session_store.LIFETIME),
    "a changed password": lambda api, _: api.post("/v2/clients/bo", {"dashboardPassword": "another one"}),
    "a cleared password": lambda api, _: api.post("/v2/clients/bo", {"dashboardPassword": None}),
    "a deleted client": lambda api, _: api.delete("/v2/clients/bo"),
}


@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_what_ends_a_session_ends_it_within_30_seconds(
    end: Callable[[Api, PassTime], Any],
    signed_in: Browser,
    workspace_api: Api,
    workspace: NewWorkspace,
    pass_time: PassTime,
) -> None:
    page = Place("GET", "/console/{workspace}/overview")
    assert send(page, workspace.workspace_id, signed_in.cookie).status == 200
    end(workspace_api, pass_time)
    pass_time(auth.CACHE_SECONDS)
    assert leads_to_sign_in(send(page, workspace.workspace_id, signed_in.cookie), workspace.workspace_id)


def test_a_session_is_no_bearer_token(signed_in: Browser, workspace: NewWorkspace) -> None:
    token = signed_in.cookie.partition("=")[2]
    assert Api(token).get("/v3/agents/support").status == 403
    assert Api(token).get("/v2/clients").status == 403
    for place in GUARDED:
        for bearer in (workspace.workspace_key, workspace.access_token, token):
            answer = send(place, workspace.workspace_id, "", Authorization=f"Bearer {bearer}")
            assert leads_to_sign_in(answer, workspace.workspace_id), place


def test_ten_wrong_attempts_from_an_address_close_the_sign_in_for_five_minutes(
    browser: Browser, pass_time: PassTime
) -> None:
    answers = [browser.sign_in("bo@acme.test", "wrong").status for _ in range(12)]
    assert answers == [401] * 10 + [429] * 2
    assert browser.sign_in("BO@acme.test ", PASSWORD).status == 429
    pass_time(session_store.WINDOW)
    assert browser.sign_in("bo@acme.test", PASSWORD).status == 200


def test_a_suspended_workspace_signs_nobody_in(browser: Browser, workspace: NewWorkspace) -> None:
    workspaces.change_status(workspace.workspace_id, [None], workspaces.SUSPENDED)
    assert browser.sign_in("bo@acme.test", PASSWORD).status == 403
    assert browser.cookie == ""


def test_a_client_without_a_password_cannot_sign_in(browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/eve", {"email": "eve@acme.test"})
    for password in ("", "\0", "None"):
        assert browser.sign_in("eve@acme.test", password).status == 401


def test_can_access_decides_which_pages_open(browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/overview"]})
    page = browser.sign_in("bo@acme.test", PASSWORD)
    assert (page.status, "/convos" in page.text) == (200, False)
    assert browser.open("/convos").status == 403


@pytest.mark.parametrize(
    ("pages", "title"),
    [(["/leads", "/convos"], "Conversations"), (["/settings"], "Your profile"), ([], "Your profile")],
)
def test_a_person_arrives_at_the_first_page_that_is_open_to_them(
    pages: list[str], title: str, browser: Browser, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/bo", {"canAccess": pages})
    for page in (browser.sign_in("bo@acme.test", PASSWORD), browser.open("")):
        assert (page.status, f"<h1>{title}</h1>" in page.text) == (200, True)
    refused = browser.open("/overview")
    assert (refused.status, title in refused.text) == (403, True)


def test_a_link_from_a_mail_arrives_signed_in(signed_in: Browser, workspace: NewWorkspace) -> None:
    cookie, signed_in.cookie = signed_in.cookie, ""
    again = signed_in.open("/convos/support/ann", **{"Sec-Fetch-Site": "cross-site"})
    assert '<meta http-equiv="refresh" content="0">' in again.text
    signed_in.cookie = cookie
    assert "Hello" in signed_in.open("/convos/support/ann", **{"Sec-Fetch-Site": "same-origin"}).text


@pytest.mark.parametrize("org_id", [None, ""])
def test_a_client_without_organisation_has_no_colleagues(
    browser: Browser, workspace_api: Api, org_id: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an organisation, the API lists the people of all organisations."""
    lone, listed = {"orgId": org_id, "email": "lone@acme.test", "dashboardPassword": PASSWORD}, []
    workspace_api.post("/v2/clients/lone", lone)
    browser.start_session(email="lone@acme.test", password=PASSWORD)
    monkeypatch.setattr(
        conversation_list,
        "list_colleagues",
        lambda session: listed.append(colleagues.list_colleagues(session)) or listed[-1],
    )
    assert browser.open("/convos").status == 200
    assert listed == [([], False)]


def test_a_file_that_is_missing_is_an_error_page(browser: Browser) -> None:
    answer = send(Place("GET", "/console/assets/{name}"), "", "")
    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/%0d%0aSet-Cookie:%20x=1/overview", None, 400),
        ("GET", "/%2f%2fevil.test/overview", None, 400),
        ("GET", "/..%2f..%2f%2fevil.test/overview", None, 400),
        ("GET", "/{}/convos/support/%2e%2e", None, 400),
        ("GET", "/{}/convos/support/..%2fother", None, 400),
        ("GET", "/assets/..%2fpages.py", None, 400),
        ("HEAD", "/{}/overview", None, 405),
        ("PUT", "/{}/overview", b"{}", 405),
        ("POST", "/{}", b"{}", 415),
    ],
)
def test_what_no_view_answers_is_a_page_that_leads_nowhere(
    workspace: NewWorkspace, method: str, path: str, body: bytes | None, status: int
) -> None:
    headers = {} if body is None else {"Content-Type": "application/json"}
    answer = Api().call(method, f"/console{path.format(workspace.workspace_id)}", body, headers)
    found = answer.status, answer.headers["content-type"], "location" in answer.headers, 'role="alert"' in answer.text
    assert found == (status, "text/html; charset=utf-8", False, True)
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_disabled_client_cannot_sign_in_until_they_are_enabled(
    signed_in: Browser, browser: Browser, workspace_api: Api, workspace: NewWorkspace, pass_time: PassTime
) -> None:
    page = Place("GET", "/console/{workspace}/overview")
    workspace_api.post("/v2/clients/bo", {"disabled": True})
    pass_time(auth.CACHE_SECONDS)
    assert leads_to_sign_in(send(page, workspace.workspace_id, signed_in.cookie), workspace.workspace_id)
    assert browser.sign_in("bo@acme.test", PASSWORD).status == 401
    workspace_api.post("/v2/clients/bo", {"disabled": False})
    assert browser.sign_in("bo@acme.test", PASSWORD).status == 200
