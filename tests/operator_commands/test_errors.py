"""A failing command prints one line, reveals no secret and changes nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from moto import mock_aws

from chalicelib.workspaces import store
from chalicelib.workspaces.store import NewWorkspace
from tests.assertions import stored
from tests.operator_commands.commands import run
from tests.operator_commands.existing import Credential
from tests.selection import one_of_each, whole

ROOT = Path(__file__).parents[2]

UNKNOWN = [
    ("workspace", "show", "unknown"),
    ("key", "issue", "--workspace", "unknown", "--name", "ci"),
    ("key", "list", "--workspace", "unknown"),
    ("token", "issue", "--workspace", "unknown", "--name", "ci"),
    ("token", "list", "--workspace", "unknown"),
    ("agent-key", "list", "--workspace", "unknown"),
    *(
        (noun, verb, name, "--workspace", whose)
        for noun in ("key", "token", "agent-key")
        for verb in ("rotate", "revoke")
        for name, whose in (("unknown", "WORKSPACE"), ("OWN", "unknown"), ("OWN", "OTHER"))
    ),
]


@pytest.mark.parametrize("command", UNKNOWN, ids=" ".join)
@one_of_each(lambda command: command[:1])
def test_an_unknown_id_is_reported_in_one_line_and_changes_nothing(
    workspace: NewWorkspace, other_workspace: NewWorkspace, command: tuple[str, ...]
) -> None:
    own = Credential(command[0], workspace).id if "OWN" in command else ""
    names = {"OWN": own, "WORKSPACE": workspace.workspace_id, "OTHER": other_workspace.workspace_id}
    before = stored()
    ran = run(*(names.get(word, word) for word in command))
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert ran.stderr.startswith("Error: There is no such ")
    assert len(ran.stderr.splitlines()) == 1
    assert stored() == before


@pytest.mark.parametrize(("noun", "other"), [("key", "token"), ("token", "key")])
@pytest.mark.parametrize("verb", ["rotate", "revoke"])
def test_a_command_accepts_only_its_own_kind(workspace: NewWorkspace, noun: str, other: str, verb: str) -> None:
    credential = Credential(other, workspace)
    ran = run(noun, verb, credential.id, *credential.workspace)
    assert (ran.exit_code, ran.stderr) == (1, "Error: There is no such credential.\n")
    assert credential.statuses(credential.token) == [200]


@pytest.mark.parametrize("noun", ["key", "token"])
def test_a_token_given_as_an_id_is_not_echoed(workspace: NewWorkspace, noun: str) -> None:
    ran = run(noun, "revoke", workspace.workspace_key, "--workspace", workspace.workspace_id)
    assert ran.exit_code == 1
    assert workspace.workspace_key not in ran.output


def test_missing_tables_are_reported_in_one_line() -> None:
    with mock_aws():
        ran = run("workspace", "create", "--name", "Shop")
    assert (ran.exit_code, ran.stderr) == (
        1,
        "Error: The service's tables do not exist; create them first.\n",
    )


def test_an_aws_error_is_reported_in_one_line(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAMS_ENCRYPTION_KEY", "alias/none")
    ran = run("data-key", "rotate")
    assert (ran.exit_code, len(ran.stderr.splitlines())) == (1, 1)
    assert "NotFoundException" in ran.stderr


_REGION = {"AWS_DEFAULT_REGION": "eu-west-1"}
_NO_ENVIRONMENT = (
    "Use the environment that the stage's deployment prints, or `set -a; . .local/environment; set +a` for `make run`."
)
_LOGIN = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        pytest.param({}, f"You must specify a region. {_NO_ENVIRONMENT}", id="no region", marks=whole),
        pytest.param(_REGION, f"Unable to locate credentials. {_NO_ENVIRONMENT}", id="no credentials", marks=whole),
        pytest.param(
            {**_REGION, **_LOGIN, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
            'Could not connect to the endpoint URL: "http://127.0.0.1:9/". '
            "Start `make run`, then `set -a; . .local/environment; set +a`.",
            id="nothing listens",
        ),
    ],
)
def test_an_unreachable_database_is_reported_in_one_line(environment: dict[str, str], reason: str) -> None:
    nothing = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true"}
    command = [sys.executable, "-m", "infra.cams", "workspace", "list"]
    ran = subprocess.run(command, cwd=ROOT, env=nothing | environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"Error: {reason}\n")


def test_a_bug_is_not_hidden(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(store, "list_all", fail)
    assert isinstance(run("workspace", "list").exception, ZeroDivisionError)


@one_of_each(lambda option: option[:1])
@pytest.mark.parametrize(
    ("command", "option"),
    [
        *((("token", "issue", "--name", "ci"), ("--expires-in", value)) for value in ("0", "366d", "never", "1.5h")),
        *((("key", "issue", "--name", "ci"), ("--expires-in", value)) for value in ("0s", "9999999999d", "x", "")),
        *((("key", "rotate", "x"), ("--overlap", value)) for value in ("-1", "366d", "never", "1w", "٣d")),
        *((("key", "issue"), ("--name", value)) for value in ("", "  ", "n" * 201, "a\nb", "\udcff")),
        (("key", "list"), ("--workspace", "")),
        (("workspace", "show"), ("",)),
        (("key", "rotate"), ("",)),
        (("agent-key", "rotate"), ("",)),
    ],
    ids=lambda words: " ".join(words).encode("ascii", "backslashreplace").decode()[:40],
)
def test_an_invalid_value_is_rejected_before_any_request(command: tuple[str, ...], option: tuple[str, ...]) -> None:
    whose = [] if "--workspace" in option or command[0] == "workspace" else ["--workspace", "x"]
    ran = run(*command, *option, *whose)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "Error: Invalid value for" in ran.stderr
