"""Exporting and importing a workspace with a pull endpoint."""

import json
from pathlib import Path
from typing import Any

import pytest

from chalicelib.workspaces.store import NewWorkspace
from infra.operator import shapes
from tests.api import Api
from tests.engines import clear_caches
from tests.extensions.feeds.conftest import PullEndpoint
from tests.webhooks import pipeline
from tests.workspaces.commands import run, succeed
from tests.workspaces.conftest import no_waiting as no_waiting
from tests.workspaces.exports import other_account, suspended_export


def test_an_imported_pull_endpoint_has_a_new_feed(
    workspace: NewWorkspace, api: Api, endpoint: PullEndpoint, stream: pipeline.Stream, tmp_path: Path
) -> None:
    for agent_id in ("a", "b"):
        assert api.post(f"/v2/agents/{agent_id}", {}).status == 200
    endpoint.run()
    after = endpoint.page().json["after"]
    path = tmp_path / "export"
    suspended_export(workspace.workspace_id, path)
    other_account()
    succeed("import", str(path))
    succeed("resume", workspace.workspace_id)
    clear_caches()
    stream.read()
    assert api.get(endpoint.path).data == endpoint.answer.data
    assert endpoint.page().data == []
    assert endpoint.page(after).status == 400
    assert api.post("/v2/agents/c", {}).status == 200
    endpoint.run()
    assert [event["payload"]["agentId"] for event in endpoint.read()] == ["c"]


@pytest.mark.parametrize(
    ("members", "rule"),
    [
        ({"url": "https://example.com"}, "record.document must have a url, unless its kind is pull"),
        ({"kind": "push"}, "record.document must have a url, unless its kind is pull"),
        ({"kind": "other"}, "record.document.kind must be push or pull"),
        ({"kind": None}, "record.document.kind must be push or pull"),
    ],
)
def test_an_edited_pull_endpoint_is_not_imported(
    workspace: NewWorkspace, endpoint: PullEndpoint, members: dict[str, Any], rule: str, tmp_path: Path
) -> None:
    path = tmp_path / "export"
    lines = [json.loads(line) for line in suspended_export(workspace.workspace_id, path).splitlines()]
    number = next(index for index, line in enumerate(lines) if line["kind"] == "webhook")
    assert shapes.find_problem(lines[number], number + 1, lines[number - 1]) is None
    lines[number]["record"]["document"] |= members
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    other_account()
    ran = run("import", str(path))
    assert ran.exit_code == 1
    assert f"Line {number + 1} of the file is not an export record: {rule}" in ran.stderr
