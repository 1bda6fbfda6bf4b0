"""Suspension: until a suspended workspace is resumed, its credentials are rejected, and operators cannot issue any."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from chalicelib import clock
from chalicelib.http import auth
from chalicelib.workspaces.store import NewWorkspace
from infra.operator.commands import cams
from tests.api import Api
from tests.conftest import PassTime
from tests.engine_requests import counted
from tests.moto_tables import items
from tests.workspaces.commands import SUSPENDED, answer_to, run, succeed


def test_a_suspended_workspace_answers_403_to_every_credential(
    api: Api, workspace: NewWorkspace, agent_id: str, other_workspace: NewWorkspace, no_waiting: list[float]
) -> None:
    agent_key = api.get("/v2/agents/support").json["SECRET_API_KEY"]
    succeed("suspend", workspace.workspace_id, "--yes")
    assert no_waiting == [60]
    auth.clear_cache()
    assert answer_to(workspace.workspace_key) == answer_to(workspace.access_token) == SUSPENDED
    assert answer_to(agent_key, "/v2/agents/support") == SUSPENDED
    assert answer_to(other_workspace.workspace_key) == (200, None)


def test_a_cached_credential_works_for_30_seconds_and_costs_no_read(
    workspace: NewWorkspace, pass_time: PassTime
) -> None:
    answer_to(workspace.workspace_key, "/v2/clients")
    succeed("suspend", workspace.workspace_id, "--yes")
    pass_time(29)
    with counted() as requests:
        assert answer_to(workspace.workspace_key, "/v2/clients") == (200, None)
    assert requests == {"Query": 1}
    pass_time(1)
    assert answer_to(workspace.workspace_key, "/v2/clients") == SUSPENDED


def test_an_unknown_credential_is_found_with_one_request(workspace: NewWorkspace) -> None:
    answer_to(workspace.workspace_key, "/v2/clients")
    auth.clear_cache()
    with counted() as requests:
        answer_to(workspace.workspace_key, "/v2/clients")
    assert requests == {"GetItem": 1, "Query": 1}


def test_a_resumed_workspace_is_as_before(workspace: NewWorkspace, agent_id: str) -> None:
    before = {name: rows for name, rows in items().items() if name != "cams-workspaces"}
    succeed("suspend", workspace.workspace_id, "--yes")
    succeed("resume", workspace.workspace_id)
    assert {name: rows for name, rows in items().items() if name != "cams-workspaces"} == before
    auth.clear_cache()
    assert answer_to(workspace.workspace_key) == (200, None)
    assert "active" in run("resume", workspace.workspace_id).stderr


@pytest.mark.parametrize(
    ("path", "body", "secret"),
    [
        ("/v3/tokens", {"token": {"name": "late"}}, "token"),
        ("/v3/workspace/key/rotate", {}, "key"),
        ("/v3/agents", {"agent": {}}, "SECRET_API_KEY"),
    ],
)
def test_a_credential_that_a_last_request_issues_is_suspended_too(
    path: str, body: Any, secret: str, api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.get("/v2/clients")
    made: list[str] = []

    def last_request(_: float) -> None:
        answer = api.post(path, body)
        if answer.status == 200:
            made.append(answer.data[secret])

    monkeypatch.setattr(clock, "sleep", last_request)
    succeed("suspend", workspace.workspace_id, "--yes")
    auth.clear_cache()
    # A suspended workspace issues no access tokens. Other credentials are issued, but are suspended.
    assert bool(made) is (path != "/v3/tokens")
    for token in (*made, workspace.workspace_key):
        assert answer_to(token, "/v2/agents/x" if "agent" in token else "/v3/agents") == SUSPENDED


def test_no_credential_is_issued_or_rotated_in_a_suspended_workspace(workspace: NewWorkspace, agent_id: str) -> None:
    succeed("suspend", workspace.workspace_id, "--yes")
    key_id = CliRunner().invoke(cams, ["key", "list", "--workspace", workspace.workspace_id, "--json"])
    of_workspace = ["--workspace", workspace.workspace_id]
    before = items()
    for arguments in (
        ["key", "issue", "--name", "late"],
        ["token", "issue", "--name", "late"],
        ["key", "rotate", json.loads(key_id.stdout)[0]["key_id"]],
        ["agent-key", "rotate", "support"],
    ):
        ran = CliRunner().invoke(cams, [*arguments, *of_workspace])
        assert (ran.exit_code, "suspended" in ran.stderr) == (1, True), arguments
    assert items() == before


def test_an_interrupted_suspension_is_repeated(workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(clock, "sleep", lambda _: 1 // 0)
        assert run("suspend", workspace.workspace_id, "--yes").exit_code == 1
    assert "status        suspending" in succeed("show", workspace.workspace_id).stdout
    assert "suspending" in run("delete", workspace.workspace_id, "--yes").stderr
    succeed("suspend", workspace.workspace_id, "--yes")
    assert "status        suspended" in succeed("show", workspace.workspace_id).stdout


def test_a_suspension_ends_if_the_workspace_is_resumed_meanwhile(
    workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "sleep", lambda _: succeed("resume", workspace.workspace_id))
    assert "active" in run("suspend", workspace.workspace_id, "--yes").stderr
    auth.clear_cache()
    assert answer_to(workspace.workspace_key) == (200, None)
