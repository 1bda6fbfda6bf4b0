"""The history: every change once, with who, when and which members, and no value."""

from typing import Any

import pytest

from chalicelib.history import functions
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.webhooks import pipeline


class History:
    """Passes what the streams have to the functions, and reads the history."""

    def __init__(self, api: Api) -> None:
        self._stream, self._api = pipeline.Stream(), api

    def records(self) -> list[dict[str, Any]]:
        return self._stream.read(*pipeline.HISTORY)

    def keep(self) -> None:
        for table in pipeline.HISTORY:
            if records := self._stream.read(table):
                keep(table, records)

    def of(self, resource: str) -> list[dict[str, Any]]:
        self.keep()
        entries: list[dict[str, Any]] = self._api.get(f"/v3/history?resource={resource}").data
        return entries


def keep(table: str, records: list[dict[str, Any]]) -> None:
    assert getattr(functions, f"history_{table}")({"Records": records}, None) is None


@pytest.fixture
def history(workspace: NewWorkspace, api: Api) -> History:
    return History(api)


def test_a_change_of_an_agent_says_who_when_and_which_members(
    history: History, workspace: NewWorkspace, api: Api
) -> None:
    api.post("/v2/agents/support", {"title": "Support"})
    token = Api(workspace.access_token)
    token.patch("/v3/agents/support", {"agent": {"title": "Help", "description": "x"}})
    updated, created = history.of("agents/support")
    assert created["operation"] == "create"
    assert "title" in created["changed"]
    assert {name: created["by"][name] for name in ("kind", "name")} == {"kind": "workspace", "name": "first key"}
    assert updated["operation"] == "update"
    assert updated["changed"] == ["description", "title"]
    assert {name: updated["by"][name] for name in ("kind", "name")} == {"kind": "access", "name": "first token"}
