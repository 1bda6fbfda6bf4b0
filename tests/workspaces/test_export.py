"""Exports: their content, their file, and resuming an interrupted export."""

import json
from pathlib import Path

import pytest

from chalicelib.credentials import tokens
from chalicelib.workspaces import store
from chalicelib.workspaces.store import NewWorkspace
from infra.operator import exports
from tests.api import Api
from tests.conftest import PassTime
from tests.credentials.access_tokens import DAY
from tests.engine_requests import counted
from tests.moto_tables import items
from tests.workspaces.commands import run, succeed
from tests.workspaces.exports import resumed_export, suspended_export
from tests.workspaces.workspace_rows import of


def test_the_full_workspace_has_rows_in_every_table(full: NewWorkspace) -> None:
    assert set(of(full.workspace_id)) == set(items()) - {"cams-keyring"}


def test_a_credential_with_the_token_of_an_expired_one_is_exported_once_and_deleted(
    api: Api, workspace: NewWorkspace, agent_id: str, pass_time: PassTime, no_waiting: list[float], tmp_path: Path
) -> None:
    """The entry of an expired credential is listed until DynamoDB deletes the entry."""
    for key in ("k" * 32, "n" * 32):
        api.post("/v2/agents/support", {"SECRET_API_KEY": key})
    pass_time(DAY)
    api.post("/v2/agents/support", {"SECRET_API_KEY": "k" * 32})
    lines = [json.loads(line) for line in suspended_export(workspace.workspace_id, tmp_path / "export").splitlines()]
    hashes = [line["record"]["token_hash"] for line in lines if line["kind"] == "credential"]
    assert hashes.count(tokens.fingerprint("k" * 32)) == 1
    succeed("delete", workspace.workspace_id, "--yes")
    assert of(workspace.workspace_id) == {}


def test_an_export_is_readable_and_complete(full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    lines = [json.loads(line) for line in suspended_export(full.workspace_id, path).splitlines()]
    assert path.stat().st_mode & 0o777 == 0o600
    assert lines[0] == {"kind": "export", "format": 1, "workspace": full.workspace_id}
    assert lines[-1] == {"kind": "end", "records": len(lines) - 2}
    kinds = [line["kind"] for line in lines[1:-1]]
    assert list(dict.fromkeys(kinds)) == list(exports.records.KINDS)
    client = next(line for line in lines if line["kind"] == "client")
    assert (client["key"], client["record"]["document"]["email"]) == ("ann", "one.ann@example.com")
    ann = next(line["record"] for line in lines if line.get("record", {}).get("conversation") == "ann")
    assert (ann["metadata"]["userName"], ann["turns"][0]["messages"]["item"]) == ("one", {"text": "three"})
    assert (ann["seen"]["messages"], len(ann["seen"]["gone"]) // 12) == (5, 4)
    scoped = next(line["record"] for line in lines if line.get("record", {}).get("name") == "scoped")
    assert scoped["scopes"] == ["agents:read", "leads:write"]
    text = path.read_text()
    assert full.workspace_key not in text
    assert full.access_token not in text


@pytest.mark.parametrize("text", ["My notes\nof today\n", "My notes", "{}\n"])
@pytest.mark.parametrize("command", ["export", "import"])
def test_another_file_is_refused_and_stays_as_it_is(
    command: str, text: str, workspace: NewWorkspace, tmp_path: Path
) -> None:
    path = tmp_path / "notes"
    path.write_text(text)
    before = path.stat().st_mode, items()
    arguments = [workspace.workspace_id, str(path)] if command == "export" else [str(path)]
    assert "not an export" in run(command, *arguments).stderr
    assert (path.read_text(), path.stat().st_mode, items()) == (text, *before)


def test_a_file_that_cannot_be_written_is_an_error_in_one_line(workspace: NewWorkspace, tmp_path: Path) -> None:
    ran = run("export", workspace.workspace_id, str(tmp_path / "missing" / "file"))
    assert ran.exit_code == 1
    assert "No such file" in ran.stderr.splitlines()[-1]


def test_an_interrupted_export_continues_where_it_was(full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    complete = suspended_export(full.workspace_id, path)
    lines = complete.splitlines(keepends=True)
    for kept in range(0, len(lines) + 1, 12):
        size = len(b"".join(lines[:kept]))
        for cut in (size, size + 9):  # between two lines, and within a line
            assert resumed_export(full.workspace_id, path, complete[:cut]) == complete


def test_a_continued_export_does_not_read_the_records_again(full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    complete = suspended_export(full.workspace_id, path)
    with counted() as whole_export:
        resumed_export(full.workspace_id, path, b"")
    with counted() as rest:
        resumed_export(full.workspace_id, path, b"".join(complete.splitlines(keepends=True)[:-2]))
    assert rest.total() <= 3 < whole_export.total()  # two requests read the agents, and one reads the endpoints


def test_a_workspace_in_part_is_not_exported(workspace: NewWorkspace, tmp_path: Path) -> None:
    succeed("suspend", workspace.workspace_id, "--yes")
    for status in (store.DELETING, store.IMPORTING):
        store.change_status(workspace.workspace_id, (store.SUSPENDED, store.DELETING), status)
        assert status in run("export", workspace.workspace_id, str(tmp_path / "export")).stderr
    assert not (tmp_path / "export").exists()
