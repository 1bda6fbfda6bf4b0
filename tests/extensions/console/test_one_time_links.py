"""One-time links: a client sets a password once, before the link expires, and only for themselves."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib import storage
from chalicelib.clients import store as clients
from chalicelib.credentials import tokens
from chalicelib.extensions.console.account_pages import one_time_links
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.conftest import PassTime
from tests.extensions.console.browser import FORM, Browser
from tests.extensions.console.conftest import PASSWORD
from tests.moto_tables import snapshot

NEW = "a new password"


def issue(workspace_id: str, client_id: str = "bo") -> str:
    """Store a link for a client, and return its token."""
    with storage.unit_of_work():
        return one_time_links.stage(clients.read(workspace_id, client_id), one_time_links.RESET)


@pytest.fixture
def link(workspace: NewWorkspace, workspace_api: Api) -> str:
    """Return the path of a link for the client `bo`."""
    return path(workspace.workspace_id, issue(workspace.workspace_id))


def path(workspace_id: str, token: str) -> str:
    return f"/console/{workspace_id}/password/{token}"


def use(link: str, password: str = NEW, **headers: str) -> Answer:
    body = urlencode({"dashboardPassword": password}).encode()
    return Api().call("POST", link, body, {**FORM, **headers})


def is_invalid(answer: Answer) -> bool:
    return answer.status == 404 and "This link no longer works" in answer.text


def test_a_link_sets_the_password_once(link: str, browser: Browser) -> None:
    assert 'name="dashboardPassword"' in Api().get(link).text
    assert "You can now sign in." in use(link).text
    assert browser.sign_in("bo@acme.test", PASSWORD).status == 401
    assert browser.sign_in("bo@acme.test", NEW).status == 200
    before = snapshot()
    assert is_invalid(use(link, "yet another"))
    assert is_invalid(Api().get(link))
    assert snapshot() == before


def test_opening_a_link_changes_nothing(link: str) -> None:
    before = snapshot()
    assert Api().get(link).status == 200
    assert snapshot() == before


def test_one_of_many_concurrent_uses_succeeds(link: str, browser: Browser) -> None:
    start = threading.Barrier(8)

    def run(number: int) -> Answer:
        start.wait()
        return use(link, f"password {number}")

    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(run, range(8))]
    (winner,) = (number for number, answer in enumerate(answers) if answer.status == 200)
    assert all(is_invalid(answer) for number, answer in enumerate(answers) if number != winner)
    assert browser.sign_in("bo@acme.test", f"password {winner}").status == 200


def test_an_invalid_password_keeps_the_link(link: str) -> None:
    for password in ("", "short"):
        answer = use(link, password)
        assert (answer.status, 'id="wrong-dashboardPassword"' in answer.text) == (400, True)
    assert use(link).status == 200


def test_a_link_expires(link: str, pass_time: PassTime) -> None:
    pass_time(one_time_links.LIFETIMES[one_time_links.RESET] - 1)
    assert Api().get(link).status == 200
    pass_time(1)
    assert is_invalid(Api().get(link))
    assert is_invalid(use(link))


@pytest.mark.parametrize(
    "change", [{"email": "other@acme.test"}, {"dashboardPassword": "set by someone"}, None], ids=str
)
def test_a_changed_or_deleted_client_invalidates_a_link(
    change: dict[str, Any] | None, link: str, workspace_api: Api
) -> None:
    if change:
        workspace_api.post("/v2/clients/bo", change)
    else:
        workspace_api.delete("/v3/clients/bo")
        workspace_api.post("/v2/clients/bo", {"email": "bo@acme.test", "dashboardPassword": PASSWORD})
    before = snapshot()
    assert is_invalid(Api().get(link))
    assert is_invalid(use(link))
    assert snapshot() == before


def test_a_used_link_invalidates_the_others(link: str, workspace: NewWorkspace) -> None:
    other = path(workspace.workspace_id, issue(workspace.workspace_id))
    assert use(link).status == 200
    assert is_invalid(use(other))


def test_a_link_works_in_its_own_workspace_only(link: str, other_workspace: NewWorkspace) -> None:
    Api(other_workspace.workspace_key).post("/v2/clients/bo", {"email": "bo@acme.test"})
    token = link.rpartition("/")[2]
    for wrong in (token, token[:-1], "x", "%FF", "a%00b"):
        assert use(path(other_workspace.workspace_id, wrong)).status in (400, 404)


def test_a_link_of_a_suspended_workspace_sets_nothing(link: str, workspace: NewWorkspace) -> None:
    workspaces.change_status(workspace.workspace_id, [None], workspaces.SUSPENDED)
    before = snapshot()
    assert use(link).status == 403
    assert snapshot() == before


def test_the_token_is_stored_only_as_a_hash(link: str) -> None:
    token = link.rpartition("/")[2]
    assert token not in str(snapshot())
    assert tokens.fingerprint(token) in str(snapshot())


def test_a_link_signs_nobody_in_and_ends_sessions(link: str, browser: Browser) -> None:
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert "set-cookie" not in use(link).headers
    assert "Sign in" in browser.open("/overview").text


def test_the_link_is_the_author_of_the_change(link: str, workspace: NewWorkspace) -> None:
    use(link)
    assert clients.read(workspace.workspace_id, "bo").changed_by == "session#bo#one-time link"
