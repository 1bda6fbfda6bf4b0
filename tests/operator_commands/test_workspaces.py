"""Commands that create, show and list workspaces (§5)."""

import json

from chalicelib import clock
from chalicelib.credentials import tokens
from tests.conftest import PassTime
from tests.operator_commands.commands import run, run_json, status_of


def test_workspace_create_prints_one_json_object_of_four_members(engine: None) -> None:
    ran = run("workspace", "create", "--name", "Shop", "--json")
    created = json.loads(ran.stdout)
    assert set(created) == {"workspace_id", "workspace_key", "access_token", "workspace_secret"}
    assert (ran.exit_code, ran.stderr) == (0, "")


def test_the_printed_credentials_open_the_workspace(engine: None) -> None:
    created = run_json("workspace", "create", "--name", "Shop")
    assert status_of(created["workspace_key"], "/v2/clients") == 200
    assert status_of(created["access_token"], "/v3/agents") == 200
    assert status_of(created["workspace_secret"], "/v3/agents") == 401


def test_as_text_each_secret_has_a_line_and_a_note_says_to_store_it(engine: None) -> None:
    ran = run("workspace", "create", "--name", "Shop")
    values = {line.rsplit(" ", 1)[0].rstrip(): line.rsplit(" ", 1)[1] for line in ran.stdout.splitlines()}
    assert list(values) == ["workspace id", "workspace key", "access token", "workspace secret"]
    assert tokens.kind(values["workspace key"]) == tokens.WORKSPACE
    assert "only this once" in ran.stderr


def test_workspace_show_prints_name_and_creation_time(engine: None, pass_time: PassTime) -> None:
    workspace_id = run_json("workspace", "create", "--name", "Café")["workspace_id"]
    assert run_json("workspace", "show", workspace_id) == {
        "workspace_id": workspace_id,
        "name": "Café",
        "status": "active",
        "created_at": clock.iso(clock.seconds()),
    }


def test_workspace_list_has_every_workspace_oldest_first(engine: None, pass_time: PassTime) -> None:
    created = []
    for name in ("A", "B", "C"):
        pass_time(1)
        created.append(run_json("workspace", "create", "--name", name)["workspace_id"])
    listed = run_json("workspace", "list")
    assert [(one["workspace_id"], one["name"]) for one in listed] == list(zip(created, "ABC", strict=True))
