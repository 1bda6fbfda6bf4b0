"""Fair queues: every message that the service sends has the workspace as its message group."""

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib import queues, storage
from chalicelib.deletion import cascade
from chalicelib.queues.tasks import ResumeCascade
from chalicelib.webhooks import queue
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import webhook_body
from tests.webhooks import pipeline
from tests.webhooks.conftest import SetLimits
from tests.webhooks.pipeline import Inbox, Stream, fan_out


@pytest.fixture
def groups() -> Iterator[list[tuple[str, str | None]]]:
    """Record the queue and the message group of each message that is sent during the test."""
    sent: list[tuple[str, str | None]] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        name = params["QueueUrl"].rpartition("/")[2].removeprefix(storage.table(""))
        sent.extend((name, entry.get("MessageGroupId")) for entry in params["Entries"])

    events = storage.sdk_client("sqs").meta.events
    events.register("provide-client-params.sqs.SendMessageBatch", note)
    yield sent
    events.unregister("provide-client-params.sqs.SendMessageBatch", note)


def test_deliveries_of_events_belong_to_their_workspace(
    stream: Stream,
    api: Api,
    other_workspace: NewWorkspace,
    workspace: NewWorkspace,
    inbox: Inbox,
    groups: list[tuple[str, str | None]],
) -> None:
    for one in (api, Api(other_workspace.workspace_key)):
        one.post("/v3/webhooks", webhook_body(inbox.url(), "organisation_created"))
        one.post("/v2/orgs/acme", {"name": "Acme"})
    fan_out(stream.read())
    assert sorted(group or "" for _, group in groups) == sorted([workspace.workspace_id, other_workspace.workspace_id])
    assert {name for name, _ in groups} <= {queue.FAST, queue.SLOW}


def test_continuations_and_their_deliveries_belong_to_their_workspace(
    stream: Stream,
    api: Api,
    workspace: NewWorkspace,
    inbox: Inbox,
    groups: list[tuple[str, str | None]],
    set_limits: SetLimits,
) -> None:
    set_limits(messages=0)
    api.post("/v3/webhooks", webhook_body(inbox.url(), "organisation_created"))
    api.post("/v2/orgs/acme", {"name": "Acme"})
    fan_out(stream.read())
    assert groups == [(queues.MAINTENANCE, workspace.workspace_id)]
    pipeline.drain(queues.MAINTENANCE)
    assert [group for _, group in groups] == [workspace.workspace_id] * 2


def test_a_requested_delivery_and_its_replay_belong_to_their_workspace(
    stream: Stream, api: Api, workspace: NewWorkspace, inbox: Inbox, groups: list[tuple[str, str | None]]
) -> None:
    webhook = api.post("/v3/webhooks", webhook_body(inbox.url(), "organisation_created")).data
    headers = {"Authorization": f"Bearer {workspace.workspace_key}", "Idempotency-Key": "once"}
    path = f"/v3/webhooks/{webhook['id']}/test"
    for _ in range(2):
        assert api.call("POST", path, headers=headers).status == 200
    assert [group for _, group in groups] == [workspace.workspace_id] * 2


def test_cascades_belong_to_their_workspace(
    api: Api, workspace: NewWorkspace, groups: list[tuple[str, str | None]]
) -> None:
    api.post("/v2/agents/support", {"title": "Support"})
    api.post("/agents/support/interact/ann/state", {"turns": []})
    cascade.delete(workspace.workspace_id, "support", -1, lambda row: row)
    cascade.resume(ResumeCascade(workspace.workspace_id, "support"), -1)
    assert groups == [(queues.MAINTENANCE, workspace.workspace_id)] * 2


def test_unreadable_messages_share_a_group(stream: Stream, groups: list[tuple[str, str | None]]) -> None:
    queue.send_to_dead_letter("no JSON")
    assert groups == [(queue.DEAD_LETTER, "unreadable")]
