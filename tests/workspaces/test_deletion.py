"""Deleting a workspace leaves no rows, prevents later counts, and does not affect other workspaces."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib import followers, storage
from chalicelib.deletion import cascade
from chalicelib.http import auth
from chalicelib.webhooks import endpoints
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from infra.deploy.function import API
from infra.deploy.functions import declared_functions
from infra.operator import removal
from tests import extensions
from tests.api import Api
from tests.capacity import metered
from tests.engines import clear
from tests.moto_tables import items
from tests.webhooks import pipeline
from tests.workspaces.commands import run, succeed
from tests.workspaces.interruptions import crashes, each_crash
from tests.workspaces.workspace_rows import of, rows_of


def test_a_deletion_leaves_nothing_and_does_not_touch_a_neighbour(
    full: NewWorkspace, neighbour: NewWorkspace, no_waiting: list[float]
) -> None:
    for made in (full, neighbour):
        extensions.call("add_rows", made.workspace_id)
    succeed("suspend", full.workspace_id, "--yes")
    before, untouched = of(full.workspace_id), rows_of(neighbour)
    number = len(endpoints.list_all(full.workspace_id))
    stream = pipeline.Stream()
    no_waiting.clear()
    ran = succeed("delete", full.workspace_id, "--yes", "--json")
    timeout = max(one.timeout_seconds for one in declared_functions() if "webhooks" in one.tables and one.name != API)
    assert no_waiting == [timeout + followers.BATCHES["deliveries"].window_seconds + 10]
    assert of(full.workspace_id) == {}
    assert rows_of(neighbour) == untouched
    receipt = json.loads(ran.stdout)
    assert receipt.pop("workspace_id") == full.workspace_id
    assert {name: receipt[name] for name in ("workspace", "agent", "tool", "client", "organisation", "lead")} == {
        "workspace": 1, "agent": 2, "tool": 2, "client": 2, "organisation": 2, "lead": 2,
    }  # fmt: skip
    assert (receipt["conversation"], receipt["analytics"], receipt["webhook"]) == (5, 2, number)
    assert (receipt["event"], receipt["delivery"]) == (before["cams-events"], before["cams-deliveries"])
    assert receipt["credential"] == before["cams-credentials"]
    pipeline.fan_out(stream.read())
    assert pipeline.drain() == 0, "the deletion sent a webhook"
    assert of(full.workspace_id) == {}
    assert "no such workspace" in run("delete", full.workspace_id, "--yes").stderr


def test_a_deletion_leaves_visitor_tokens_that_open_nothing_and_expire(full: NewWorkspace) -> None:
    """No index lists visitor tokens, so finding them would require reading all workspaces' tokens."""
    path = "/agents/support/interact/ann"
    token = Api(full.workspace_key).post(f"{path}/visitor-tokens", {"token": {}}).data["token"]
    assert Api(token).post(f"{path}/state").status == 200
    succeed("suspend", full.workspace_id, "--yes")
    before = of(full.workspace_id)
    receipt = json.loads(succeed("delete", full.workspace_id, "--yes", "--json").stdout)
    assert receipt["credential"] == before["cams-credentials"] - 1
    assert of(full.workspace_id) == {"cams-credentials": 1}
    (row,) = rows_of(full)["cams-credentials"]
    assert (row["kind"]["S"], "expires_at" in row) == ("visitor", True)
    auth.clear_cache()
    assert Api(token).post(f"{path}/state").status == 401


def test_a_deletion_costs_the_same_whatever_another_workspace_has_stored(full: NewWorkspace) -> None:
    costs = []
    for is_alone in (False, True):
        if is_alone:
            clear()
        made = workspaces.create("Test")
        Api(made.workspace_key).post("/v2/agents/support", {})
        succeed("suspend", made.workspace_id, "--yes")
        with metered() as meter:
            removal.delete(made.workspace_id)
        costs.append((meter.requests, meter.reads, meter.writes))
    assert costs[0] == costs[1]
    assert "Scan" not in costs[0][0]


def test_a_deletion_includes_the_index_of_messages(full: NewWorkspace, neighbour: NewWorkspace) -> None:
    for made in (full, neighbour):
        api = Api(made.workspace_key)
        long = {"messages": [{"item": {"text": "x" * 1_000}} for _ in range(50)]}
        for _ in range(3):
            assert api.post("/agents/support/interact/ann/messages", long).status == 200
        assert any(row["item"]["S"].startswith("mid#") for row in rows_of(made)["cams-conversations"])
    succeed("suspend", full.workspace_id, "--yes")
    untouched = rows_of(neighbour)
    succeed("delete", full.workspace_id, "--yes", "--json")
    assert of(full.workspace_id) == {}
    assert rows_of(neighbour) == untouched


def test_a_deletion_includes_an_agent_whose_cascade_has_failed(
    full: NewWorkspace, neighbour: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cascade, "_run", lambda *_: True)
    for made in (full, neighbour):
        assert Api(made.workspace_key).delete("/v3/agents/support").status == 200
    untouched = rows_of(neighbour)
    succeed("suspend", full.workspace_id, "--yes")
    receipt = json.loads(succeed("delete", full.workspace_id, "--yes", "--json").stdout)
    assert of(full.workspace_id) == {}
    assert rows_of(neighbour) == untouched
    assert (receipt["agent"], receipt["conversation"]) == (2, 5)


def test_a_refused_write_is_an_error_in_one_line(full: NewWorkspace) -> None:
    succeed("suspend", full.workspace_id, "--yes")
    refusal = {"Error": {"Code": "AccessDeniedException", "Message": "You may not write."}, "ResponseMetadata": {}}

    def refuse(model: Any, **_: Any) -> Any:
        return (SimpleNamespace(status_code=400), refusal) if model.name == "PutItem" else None

    database = storage.sdk_client("dynamodb").meta.events
    database.register_first("before-call.dynamodb", refuse)
    try:
        ran = run("delete", full.workspace_id, "--yes")
    finally:
        database.unregister("before-call.dynamodb", refuse)
    assert (ran.exit_code, ran.stderr.count("\n")) == (1, 1)
    assert "You may not write" in ran.stderr


def test_a_deletion_needs_a_suspension_and_the_id(workspace: NewWorkspace) -> None:
    before = items()
    assert "active" in run("delete", workspace.workspace_id, "--yes").stderr
    assert run("delete", workspace.workspace_id, answer="Test\n").exit_code == 1
    assert items() == before
    succeed("suspend", workspace.workspace_id, "--yes")
    assert run("delete", workspace.workspace_id, answer=f"{workspace.workspace_id}\n").exit_code == 0
    assert of(workspace.workspace_id) == {}


@each_crash
def test_an_interrupted_deletion_is_repeated(points: slice, full: NewWorkspace) -> None:
    succeed("suspend", full.workspace_id, "--yes")
    for _ in crashes(lambda: removal.delete(full.workspace_id), points):
        succeed("delete", full.workspace_id, "--yes")
        assert of(full.workspace_id) == {}
