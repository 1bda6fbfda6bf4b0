"""Commands that list credentials print their properties as text or JSON, but no secrets (§5)."""

import pytest

from chalicelib import clock
from chalicelib.credentials import tokens
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.operator_commands.commands import DAY, run, run_json, status_of
from tests.operator_commands.existing import Credential
from tests.selection import each_value_once


def test_a_list_has_the_active_credentials_oldest_first(workspace: NewWorkspace, pass_time: PassTime) -> None:
    whose = ["--workspace", workspace.workspace_id]
    for name, lifetime in (("short", "5s"), ("long", "7d")):
        pass_time(1)
        run_json("key", "issue", *whose, "--name", name, "--expires-in", lifetime)
        run_json("token", "issue", *whose, "--name", name, "--expires-in", lifetime)
    pass_time(10)
    assert [one["name"] for one in run_json("key", "list", *whose)] == ["first key", "long"]
    assert [one["name"] for one in run_json("token", "list", *whose)] == ["first token", "long"]


@pytest.mark.parametrize("noun", ["key", "token"])
def test_a_list_has_the_issued_properties_and_the_time_of_last_use(
    workspace: NewWorkspace, pass_time: PassTime, noun: str
) -> None:
    whose = ["--workspace", workspace.workspace_id]
    issued = run_json(noun, "issue", *whose, "--name", "ci")
    token = issued.pop("workspace_key", None) or issued.pop("access_token")
    pass_time(5)
    status_of(token)
    assert run_json(noun, "list", *whose)[-1] == {**issued, "last_used_at": clock.iso(clock.seconds())}


def test_agent_keys_are_listed_by_agent_with_the_expiry_of_rotated_keys(
    api: Api, agent_id: str, workspace: NewWorkspace, pass_time: PassTime
) -> None:
    pass_time(1)
    whose = ["--workspace", workspace.workspace_id]
    run_json("agent-key", "rotate", "support", *whose)
    now = clock.seconds()
    assert [(one["agent_id"], one["expires_at"]) for one in run_json("agent-key", "list", *whose)] == [
        ("support", clock.iso(now + DAY)),
        ("support", None),
    ]


@each_value_once
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "JSON"])
@pytest.mark.parametrize(
    "command",
    ["workspace list", "workspace show", "key list", "token list", "agent-key list"],
)
def test_no_list_shows_a_secret(workspace: NewWorkspace, command: str, form: list[str]) -> None:
    agent = Credential("agent-key", workspace)
    secrets = [*workspace[1:], agent.token, agent.rotate(), Credential("key", workspace).rotate()]
    whose = {"workspace list": [], "workspace show": [workspace.workspace_id]}.get(command, agent.workspace)
    ran = run(*command.split(), *whose, *form)
    assert ran.exit_code == 0
    shown = [secret for secret in secrets for part in (secret[-40:], tokens.fingerprint(secret)) if part in ran.output]
    assert shown == []


def test_as_text_a_list_is_a_table(workspace: NewWorkspace) -> None:
    heading, row = run("token", "list", "--workspace", workspace.workspace_id).stdout.splitlines()
    assert heading.split("  ")[0] == "token id"
    assert heading.index("read only") == row.index("no  ")
    assert row.endswith("never")


def test_as_text_an_empty_list_says_so(workspace: NewWorkspace) -> None:
    assert run("agent-key", "list", "--workspace", workspace.workspace_id).stdout == "There are none.\n"


def test_a_name_from_http_cannot_send_terminal_escape_sequences(api: Api, workspace: NewWorkspace) -> None:
    api.post("/v3/tokens", {"token": {"name": "\x1b[2Jgone\r\n\x9b"}})
    shown = run("token", "list", "--workspace", workspace.workspace_id).stdout
    assert "?[2Jgone???" in shown
