"""Operators view the console as a client, without changing anything."""

import re
from collections.abc import Callable

import pytest

from chalicelib import clock
from chalicelib.extensions.console.access import session_store
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import PASSWORD
from tests.moto_tables import snapshot

BO = "/settings/orgs/acme/clients/bo"
VIEWING = "You are viewing the console as Bo de Vries."


def view(operator: Browser) -> Answer:
    """View the console as the client `bo`."""
    return operator.submit(operator.open(BO), "/clients/bo", {"action": "view"})


def main(page: Answer) -> str:
    """Return what a page shows apart from the view's form, form tokens and ids, and the session that is marked."""
    text = re.sub(r'<form class="card waits viewing".*?</form>\s*', "", page.text, flags=re.DOTALL)
    text = re.sub(
        r'<form class="card form" method="post" action="[^"]*/account/sign-out">.*?</form>', "", text, flags=re.DOTALL
    )
    text = re.sub(r'name="form(_id)?" value="[^"]*"', "", text)
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize(
    "path",
    ["/overview", "/convos", "/agents", "/agents/support", "/agents/other", "/settings", "/account", "/new-agent"],
)
def test_a_page_is_the_page_that_the_client_sees(
    path: str, operator: Browser, workspace: NewWorkspace, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert VIEWING in view(operator).text
    bo = Browser(workspace.workspace_id)
    bo.start_session(email="bo@acme.test", password=PASSWORD)
    now = clock.milliseconds()
    monkeypatch.setattr(clock, "milliseconds", lambda: now)  # both pages show the same minute
    bo.open("/overview")  # it counts who waits, as the view of the client has done
    seen, own = operator.open(path), bo.open(path)
    assert (seen.status, main(seen)) == (own.status, main(own))


def test_the_view_follows_the_client(operator: Browser, workspace_api: Api) -> None:
    view(operator)
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/leads"]})
    assert operator.open("/overview").status == 403
    workspace_api.delete("/v3/clients/bo")
    assert VIEWING not in operator.open("/overview").text


def test_nothing_can_be_changed(operator: Browser, workspace_api: Api) -> None:
    view(operator)
    page = operator.open("/account")
    before = snapshot()
    assert operator.submit(page, "/account", {"notify": "on"}).status == 403
    form = csrf_field(page)
    message = "/convos/support/ann/messages/first"
    for path in (
        *("/convos/support/ann", "/convos/support/ann/live", message, f"{message}/delete", "/account/sign-out"),
        *("/account/password", "/agents/support", BO, "/settings/tokens"),
    ):
        assert operator.post(path, form).status == 403
    assert snapshot() == before


def test_the_controls_of_a_conversation_are_disabled(operator: Browser, workspace_api: Api) -> None:
    """All its buttons and fields, apart from those of the list, are in these two groups."""
    workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"state": "requested_chat"}})
    assert "<fieldset" not in operator.open("/convos/support/ann").text
    view(operator)
    page = operator.open("/convos/support/ann").text
    groups = re.findall(r'<fieldset class="viewed" disabled>(.*?)</fieldset>', page, re.DOTALL)
    outside = page.partition('<section class="chat"')[2].partition('<dialog id="leaving"')[0]
    for group in groups:
        outside = outside.replace(group, "")
    assert len(groups) == 2 and "<textarea" in groups[0] and 'name="tags"' in groups[1]
    assert not re.search("<(button|textarea|input|select)", outside)


def test_a_view_of_a_removed_client_still_changes_nothing(operator: Browser, workspace_api: Api) -> None:
    """The operator does not know that a colleague has removed the client."""
    workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"state": "requested_chat"}})
    view(operator)
    page = operator.open("/convos/support/ann")
    workspace_api.delete("/v3/clients/bo")
    before = snapshot()
    assert operator.submit(page, "/convos/support/ann", {"action": "end"}).status in (403, 404)
    assert snapshot() == before
    seen = operator.open("/agents")
    assert "Support" not in seen.text and "You are viewing the console as bo." in seen.text
    operator.submit(seen, "/end-view", {})
    assert "Access tokens" in operator.open("/settings").text


def test_the_end_leads_back_to_the_client(operator: Browser) -> None:
    page = operator.submit(view(operator), "/end-view", {})
    assert ("<h1>Bo de Vries</h1>" in page.text, VIEWING in page.text) == (True, False)
    assert "Access tokens" in operator.open("/settings").text


def test_only_operators_view(browser: Browser, workspace: NewWorkspace, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    workspace_api.post("/v2/clients/eve", {"orgId": "acme", "name": "Eve", "email": "eve@acme.test"})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/settings/orgs/acme/clients/eve")
    assert 'value="view"' not in page.text
    form = {**csrf_field(page), "action": "view"}
    assert browser.post("/settings/orgs/acme/clients/eve", form).status == 403
    token = browser.cookie.partition("=")[2]
    browser.cookie += f"; __Secure-cams-view={session_store.selection_token(token, 'view', 'eve')}"
    assert "Bo de Vries" in browser.open("/account").text


@pytest.mark.parametrize(
    "change", [lambda text: text[1:], lambda text: text.replace(".bo", ".eve"), lambda _: "x", lambda _: ".bo"]
)
def test_a_forged_cookie_is_ignored(change: Callable[[str], str], operator: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/eve", {"orgId": "acme", "name": "Eve"})
    view(operator)
    own, _, value = operator.cookie.partition("__Secure-cams-view=")
    value, _, others = value.partition(";")
    operator.cookie = f"{own}__Secure-cams-view={change(value)};{others}"
    assert "You are viewing the console as" not in operator.open("/overview").text


def test_another_session_ignores_the_cookie(operator: Browser, workspace: NewWorkspace) -> None:
    view(operator)
    operator.start_session(key=workspace.workspace_key)
    assert VIEWING not in operator.open("/overview").text
