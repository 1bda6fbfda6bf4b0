"""A workspace's settings over HTTP: its name and retention."""

import pytest

from chalicelib import clock
from chalicelib.workspaces import store
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.workspaces.commands import answer_to


def test_a_workspace_shows_its_name_and_no_secret(api: Api, workspace: NewWorkspace) -> None:
    shown = api.get("/v3/workspace").data
    created = clock.iso(store.read(workspace.workspace_id).open()["createdAt"])
    assert shown == {"id": workspace.workspace_id, "name": "Test", "createdAt": created}


def test_a_change_of_a_workspace_merges_and_null_clears_the_retention(api: Api, workspace: NewWorkspace) -> None:
    before = store.read(workspace.workspace_id).open()
    changed = api.patch("/v3/workspace", {"workspace": {"retentionDays": 30}}).data
    assert (changed["name"], changed["retentionDays"]) == ("Test", 30)
    changed = api.patch("/v3/workspace", {"workspace": {"name": "New", "retentionDays": None}}).data
    assert (changed["name"], "retentionDays" in changed) == ("New", False)
    assert api.get("/v3/workspace").data == changed
    assert store.read(workspace.workspace_id).open() == {**before, "name": "New"}


@pytest.mark.parametrize("days", [1, 3650, 7.0])
def test_a_retention_is_a_whole_number_of_days(days: float, api: Api) -> None:
    assert api.patch("/v3/workspace", {"workspace": {"retentionDays": days}}).data["retentionDays"] == days


def test_an_access_token_does_not_open_the_workspace(workspace: NewWorkspace) -> None:
    assert answer_to(workspace.access_token, "/v3/workspace") == (403, "FORBIDDEN")
