"""No two records have the same key: identifiers exclude every separator that joins them into a key or a hash."""

from itertools import product
from typing import Any

import pytest

from chalicelib import errors, storage
from chalicelib.extensions.console import session_store, sessions
from chalicelib.http import parameters
from chalicelib.ids import IDENTIFIER
from chalicelib.storage.rows import associated_data
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.extensions.console.browser import Browser

# `#` joins the parts of a key, `/` those of associated data and of the hash of an event.
SEPARATORS = "#/"
PARTS = ("a", "b", "a.b", "a:b", "a|b", "a,b", "~", "-")


@pytest.mark.parametrize("separator", SEPARATORS)
def test_an_identifier_contains_no_separator(separator: str) -> None:
    for text in (separator, f"a{separator}b", f"a{separator}"):
        assert IDENTIFIER.fullmatch(text) is None
        for encoded in (text, text.replace("#", "%23").replace("/", "%2F")):
            with pytest.raises(errors.Invalid):
                parameters.identifier("agent_id", encoded)


def test_keys_and_associated_data_of_other_parts_differ() -> None:
    keys, data = [], []
    for count in (1, 2, 3):
        for parts in product(PARTS, repeat=count):
            keys.append(storage.key("01hzzzzzzzzzzzzzzzzzzzzzzz", *parts))
            data.append(associated_data("clients", parts, "document"))
    assert len({*keys}) == len(keys)
    assert len({*data}) == len(data)


@pytest.mark.parametrize("text", ["", "a#b", "support#", "é", "x" * 2_000])
def test_a_text_that_is_no_identifier_names_no_record_in_the_console(
    workspace: NewWorkspace, api: Api, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`widgetIDs` and `orgId` accept any text. DynamoDB refuses an empty key and one of more than 1,024 bytes."""
    read: list[Any] = []
    api.post("/v2/agents/support", {"title": "Support"})
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support", text]})
    members = {"email": "bo@acme.test", "dashboardPassword": "correct horse"}
    api.post("/v2/clients/bo", {**members, "orgId": "acme"})
    browser = Browser(workspace.workspace_id)
    assert browser.sign_in("bo@acme.test", "correct horse").status == 200
    find = sessions.organisations.find
    monkeypatch.setattr(sessions.organisations, "find", lambda *key: read.append(key) or find(*key))
    for path in ("/overview", "/agents", "/convos", "/leads", "/analytics"):
        assert browser.open(path).status == 200
    api.post("/v2/clients/bo", {"orgId": text})
    sessions.clear_cache()
    read.clear()
    issued = session_store.of_client(workspace.workspace_id, "bo", [])
    session = sessions.Session(issued.credential, issued.token, {}, {"widgetIDs": ["support", text]})
    assert session.agent_ids == ["support"]
    assert browser.open("/overview").status == 200
    assert read == []
