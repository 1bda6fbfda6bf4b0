"""Imports: restoring an equal workspace in another account, and rejecting invalid files and workspaces."""

from pathlib import Path

from chalicelib.http import auth
from chalicelib.workspaces.store import NewWorkspace
from infra.operator import imports
from tests.api import Api
from tests.engines import clear_caches
from tests.moto_tables import items
from tests.webhooks import pipeline
from tests.workspaces.commands import SUSPENDED, answer_to, run, succeed
from tests.workspaces.exports import other_account, resumed_export, suspended_export
from tests.workspaces.interruptions import crashes, each_crash
from tests.workspaces.workspace_rows import of


def test_an_import_elsewhere_gives_an_equal_export(full: NewWorkspace, tmp_path: Path) -> None:
    api = Api(full.workspace_key)
    exports = {
        path: (api.get(path).json, api.get(path).headers.get("etag"))
        for path in ("/v2/agents/support", "/v3/agents/support-2", "/v2/clients", "/v2/agents/support/convos")
    }
    state = "/agents/support/interact/{}/state"
    states = {name: api.post(state.format(name), {}).text for name in ("ann", "odd", "long", "kept")}
    before = suspended_export(full.workspace_id, tmp_path / "one")
    other_account()
    stream = pipeline.Stream()
    succeed("import", str(tmp_path / "one"))
    pipeline.fan_out(stream.read())
    assert pipeline.drain() == 0, "the import sent a webhook"
    assert not of(full.workspace_id).keys() & {"cams-events", "cams-deliveries"}
    assert answer_to(full.workspace_key) == SUSPENDED
    succeed("export", full.workspace_id, str(tmp_path / "two"))
    assert (tmp_path / "two").read_bytes() == before
    succeed("resume", full.workspace_id)
    clear_caches()
    assert {path: (api.get(path).json, api.get(path).headers.get("etag")) for path in exports} == exports
    assert {name: api.post(state.format(name), {}).text for name in states} == states
    # A change after the import causes an event for each subscribed endpoint.
    endpoints = [one for one in api.get("/v3/webhooks").data if "agent_updated" in one["events"]]
    api.post("/v2/agents/support", {"title": "Changed"})
    pipeline.fan_out(stream.read())
    assert pipeline.drain() == len(endpoints) > 0


def test_an_import_into_an_existing_workspace_is_refused(full: NewWorkspace, tmp_path: Path) -> None:
    suspended_export(full.workspace_id, tmp_path / "export")
    before = items()
    assert "already exists" in run("import", str(tmp_path / "export")).stderr
    assert items() == before


def test_an_import_of_an_incomplete_or_changed_file_is_refused(full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    lines = suspended_export(full.workspace_id, path).splitlines(keepends=True)
    other_account()
    for damaged in (lines[:-1], lines[:-2] + lines[-1:], [*lines[:-1], lines[-1][:9]], [lines[0], lines[-1]]):
        path.write_bytes(b"".join(damaged))
        assert "incomplete" in run("import", str(path)).stderr
    assert not of(full.workspace_id)


def test_an_import_does_not_take_a_credential_of_another_workspace(full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    suspended_export(full.workspace_id, path)
    path.write_text(path.read_text().replace(full.workspace_id, "01arz3ndektsv4rrffq69g5fav"))
    assert "belongs to another workspace" in run("import", str(path)).stderr
    succeed("resume", full.workspace_id)
    auth.clear_cache()
    assert answer_to(full.workspace_key) == (200, None)


@each_crash
def test_an_interrupted_import_is_repeated(points: slice, full: NewWorkspace, tmp_path: Path) -> None:
    path = tmp_path / "export"
    complete = suspended_export(full.workspace_id, path)
    other_account()
    for _ in crashes(lambda: imports.import_file(path), points):
        succeed("import", str(path))
        assert resumed_export(full.workspace_id, tmp_path / "again", b"") == complete
