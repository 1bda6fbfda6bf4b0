"""Rotating the workspace secret, which webhook receivers check."""

import json

import pytest

from chalicelib.workspaces import store
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import webhook_body
from tests.webhooks import pipeline
from tests.workspaces.commands import succeed


def test_a_rotated_secret_is_printed_once_and_replaces_the_old_one(workspace: NewWorkspace) -> None:
    ran = succeed("rotate-secret", workspace.workspace_id, "--json")
    secret = json.loads(ran.stdout)["workspace_secret"]
    assert secret.startswith("cams_events_")
    assert secret != workspace.workspace_secret
    assert store.read(workspace.workspace_id).open()["workspaceSecret"] == secret
    assert secret not in succeed("show", workspace.workspace_id).output


def test_webhooks_of_earlier_changes_are_sent_during_a_suspension_with_the_new_secret(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    stream = pipeline.Stream()
    with pipeline.inbox() as inbox:
        api.post("/v3/webhooks", webhook_body(inbox.url(), "client_created"))
        api.post("/v2/clients/ann", {"name": "Ann"})
        succeed("suspend", workspace.workspace_id, "--yes")
        secret = json.loads(succeed("rotate-secret", workspace.workspace_id, "--json").stdout)["workspace_secret"]
        pipeline.fan_out(stream.read())
        pipeline.drain()
        (posted,) = inbox.posts
    assert (posted.payload["clientName"], posted.body["payload"]["workspaceSecret"]) == ("Ann", secret)
