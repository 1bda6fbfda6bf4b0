"""Agent clones and templates: keys, owners, ignored members and names."""

import pytest

from chalicelib import storage
from chalicelib.credentials import tokens
from chalicelib.http.bodies import IGNORED
from chalicelib.workspaces.store import NewWorkspace
from tests.agents.records import row_of
from tests.agents.test_keys import KEY_RULE, OTHER_TEXTS
from tests.api import Api
from tests.assertions import refused, stored
from tests.credentials.access_tokens import status_with
from tests.selection import first_case

IMPORT = "/v3/agents/import-template"


def test_a_clone_gets_a_key_of_its_own(api: Api, agent_id: str) -> None:
    api.post("/v2/agents/support", {"SECRET_API_KEY": "k" * 32})
    clone = api.post("/v3/agents/support/clone").data
    assert tokens.kind(clone["SECRET_API_KEY"]) == tokens.AGENT
    assert "SECRET_API_KEY" not in api.get("/v3/agents/support/export-template").json["agentTemplate"]["agentData"]
    assert status_with("k" * 32, f"/v2/agents/{clone['id']}") == 403


@first_case
@pytest.mark.parametrize("text", OTHER_TEXTS.values(), ids=OTHER_TEXTS)
def test_an_import_refuses_other_text_as_a_key(api: Api, text: str) -> None:
    api.get("/v3/tokens")
    before = stored()
    answer = api.post(IMPORT, {"agentTemplate": {"agentData": {"SECRET_API_KEY": text}}})
    issue = {"path": "agentTemplate.agentData.SECRET_API_KEY", "message": KEY_RULE}
    assert (answer.status, answer.json["issues"]) == (400, [issue])
    assert stored() == before


def test_the_owner_of_a_copy_is_the_workspace(workspace: NewWorkspace, api: Api, agent_id: str) -> None:
    """The owner that an earlier version stored is in no template and no clone."""
    with storage.unit_of_work():
        row = row_of(workspace)
        row.seal({**row.open(), "ownerID": "me", "title": 'An "ownerID"'})
        storage.put(row)
    template = api.get("/v3/agents/support/export-template").json["agentTemplate"]
    assert "ownerID" not in template["agentData"]
    assert "me" not in [*template.values(), *template["agentData"].values()]
    copies_of_agent = [
        api.post("/v3/agents/support/clone").data,
        api.post(IMPORT, {"agentTemplate": template}).data,
    ]
    assert [copy["ownerID"] for copy in copies_of_agent] == [workspace.workspace_id] * 2


def test_an_import_lists_what_it_ignores(api: Api) -> None:
    (warning,) = api.post(IMPORT, {"agentTemplate": {"agentData": {"id": "x"}}}).json["warnings"]
    assert warning == {"path": "agentTemplate.agentData.id", "message": IGNORED}


@pytest.mark.parametrize("name", [{}, {"name": None}, {"name": ""}, {"name": "  "}, {"name": "\u200b\ufeff"}], ids=str)
def test_the_name_of_an_imported_tool_is_required(api: Api, agent_id: str, name: dict[str, str | None]) -> None:
    before = stored()
    refused(api.post(IMPORT, {"agentTemplate": {"tools": [name]}}), 400, "agentTemplate.tools.0.name")
    assert stored() == before
