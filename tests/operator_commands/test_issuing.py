"""The rights, properties and lifetimes of keys and tokens that commands issue (§5)."""

import pytest

from chalicelib import clock
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.operator_commands.commands import DAY, run, run_json, status_of
from tests.selection import first_case


def test_an_issued_key_opens_the_workspace(workspace: NewWorkspace) -> None:
    issued = run_json("key", "issue", "--workspace", workspace.workspace_id, "--name", "ci")
    assert status_of(issued["workspace_key"], "/v2/clients") == 200


def test_an_issued_token_opens_the_v3_routes_only(workspace: NewWorkspace) -> None:
    token = run_json("token", "issue", "--workspace", workspace.workspace_id, "--name", "ci")["access_token"]
    assert (status_of(token, "/v3/agents"), status_of(token, "/v2/clients")) == (200, 403)


def test_an_issued_token_can_be_read_only(workspace: NewWorkspace) -> None:
    arguments = ["--workspace", workspace.workspace_id, "--name", "ci", "--read-only"]
    token = run_json("token", "issue", *arguments)["access_token"]
    assert status_of(token) == 200
    assert Api(token).post("/v3/agents", {"agent": {}}).status == 403


def test_an_issued_token_can_have_scopes(workspace: NewWorkspace) -> None:
    arguments = [
        "--workspace",
        workspace.workspace_id,
        "--name",
        "ci",
        "--scope",
        "leads:read",
        "--scope",
        "agents:read",
    ]
    issued = run_json("token", "issue", *arguments)
    assert (issued["scopes"], issued["read_only"]) == ("agents:read leads:read", True)
    assert status_of(issued["access_token"]) == 200
    assert Api(issued["access_token"]).get("/v3/webhooks").status == 403


@pytest.mark.parametrize("options", [["--scope", "agents:admin"], ["--scope", "agents:read", "--read-only"]])
def test_invalid_scopes_are_a_usage_error(workspace: NewWorkspace, options: list[str]) -> None:
    ran = run("token", "issue", "--workspace", workspace.workspace_id, "--name", "ci", *options)
    assert (ran.exit_code, "scope" in ran.stderr) == (2, True)


def test_an_issued_credential_is_printed_with_its_properties(workspace: NewWorkspace, pass_time: PassTime) -> None:
    arguments = ["--workspace", workspace.workspace_id, "--name", "ci"]
    key, token = run_json("key", "issue", *arguments), run_json("token", "issue", *arguments, "--read-only")
    now = clock.seconds()
    assert set(key) == {"key_id", "workspace_key", "name", "created_at", "expires_at"}
    assert set(token) == {"token_id", "access_token", "name", "read_only", "scopes", "created_at", "expires_at"}
    assert (key["name"], key["created_at"], token["read_only"]) == ("ci", clock.iso(now), True)


@pytest.mark.parametrize(
    ("noun", "options", "lifetime"),
    [
        pytest.param("key", [], 365 * DAY, id="a key for a year"),
        pytest.param("token", [], 30 * DAY, id="a token for 30 days"),
        pytest.param("key", ["--expires-in", "90"], 90, id="seconds"),
        pytest.param("key", ["--expires-in", "90s"], 90, id="seconds by name"),
        pytest.param("token", ["--expires-in", "30m"], 30 * 60, id="minutes"),
        pytest.param("token", ["--expires-in", "24h"], DAY, id="hours"),
        pytest.param("token", ["--expires-in", "7d"], 7 * DAY, id="days"),
    ],
)
@first_case
def test_an_issued_credential_expires_after_its_lifetime(
    workspace: NewWorkspace, pass_time: PassTime, noun: str, options: list[str], lifetime: int
) -> None:
    issued = run_json(noun, "issue", "--workspace", workspace.workspace_id, "--name", "ci", *options)
    token = issued.get("workspace_key") or issued["access_token"]
    end = clock.iso(clock.seconds() + lifetime)
    pass_time(lifetime - 1)
    before = status_of(token)
    pass_time(1)
    assert (before, status_of(token), issued["expires_at"]) == (200, 401, end)


def test_a_key_can_be_issued_without_expiry(workspace: NewWorkspace, pass_time: PassTime) -> None:
    arguments = ["--workspace", workspace.workspace_id, "--name", "ci", "--expires-in", "never"]
    issued = run_json("key", "issue", *arguments)
    pass_time(20 * 365 * DAY)
    assert (issued["expires_at"], status_of(issued["workspace_key"])) == (None, 200)
