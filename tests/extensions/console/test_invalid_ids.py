"""Stored text that is not an identifier never becomes part of a key."""

from typing import Any

import pytest

from chalicelib.extensions.console.access import session_store, sessions
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.moto_tables import items


@pytest.mark.parametrize("text", ["", "a#b", "support#", "é", "x" * 2_000])
def test_a_text_that_is_no_identifier_names_no_record(
    workspace: NewWorkspace, api: Api, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`widgetIDs` and `orgId` accept any text. DynamoDB rejects empty keys and keys of more than 1,024 bytes."""
    read: list[Any] = []
    api.post("/v2/agents/support", {"title": "Support"})
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support", text]})
    members = {"email": "bo@acme.test", "dashboardPassword": "correct horse"}
    api.post("/v2/clients/bo", {**members, "orgId": "acme"})
    browser = Browser(workspace.workspace_id)
    assert browser.sign_in("bo@acme.test", "correct horse").status == 200
    find = session_store.organisations.find
    monkeypatch.setattr(session_store.organisations, "find", lambda *key: read.append(key) or find(*key))
    for path in ("/overview", "/agents", "/convos", "/leads"):
        assert browser.open(path).status == 200
    api.post("/v2/clients/bo", {"orgId": text})
    sessions.clear_cache()
    read.clear()
    issued = session_store.of_client(workspace.workspace_id, "bo", [])
    session = sessions.Session(issued.credential, issued.token, {}, {"widgetIDs": ["support", text]})
    assert session.agent_ids == ["support"]
    assert browser.open("/overview").status == 200
    assert read == []


@pytest.mark.parametrize("text", ["a#b", "é", "x" * 2_000])
def test_a_form_with_a_text_that_is_no_identifier_is_rejected(browser: Browser, workspace_api: Api, text: str) -> None:
    """The ids in a form do not pass the checks of the ids in an address."""
    workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"state": "requested_chat"}})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    list_page, page, before = browser.open("/convos"), browser.open("/convos/support/ann"), items()
    for picked, fields in ((text, {"action": "end"}), ("ann", {"action": "assign", "to": text})):
        answer = browser.submit(list_page, "/convos", {f"pick.support/{picked}": "on", **fields})
        assert answer.status == 409 and "characters" in answer.text
    assert browser.submit(page, "/convos/support/ann", {"action": "assign", "to": text}).status == 400
    assert items() == before
