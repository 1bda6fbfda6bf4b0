"""Expiry on the local engine, whose transactions, scans, indexes and TTL do not depend on moto."""

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib import clock, storage
from chalicelib.conversations import leftovers
from chalicelib.workspaces import store as workspaces
from infra import tables
from tests.api import Api
from tests.deletion.cascades import as_record, maintain
from tests.followers import follow
from tests.person_records import fill
from tests.reliability.engine_fixture import running_engine
from tests.reliability.faults import line_to
from tests.webhooks import pipeline

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pipeline.Stream]:
    with running_engine(tmp_path_factory.mktemp("erasing"), "--expire-every", "0.1") as engine, line_to(engine):
        tables.create_missing(storage.sdk_client)
        yield pipeline.Stream()


def all_items(workspace_id: str, *names: str) -> list[dict[str, Any]]:
    """Return a workspace's items in these tables, or in all tables."""
    dynamodb = storage.sdk_client("dynamodb")
    found = names or [name.removeprefix("cams-") for name in dynamodb.list_tables()["TableNames"]]
    scanned = [item for name in found for item in dynamodb.scan(TableName=f"cams-{name}")["Items"]]
    return [item for item in scanned if workspace_id in repr(item)]


def test_an_expired_conversation_is_removed_with_its_parts(
    stream: pipeline.Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = workspaces.create("Expiring")
    api, now = Api(new.workspace_key), clock.milliseconds
    assert api.post("/v2/agents/support", {}).status == 200
    monkeypatch.setattr(clock, "milliseconds", lambda: now() - 86_400_000 + 2_000)
    assert api.patch("/v3/workspace", {"workspace": {"retentionDays": 1}}).status == 200
    fill(api, new.workspace_id, "zara")
    monkeypatch.undo()
    stream.read()
    records: list[dict[str, Any]] = []
    for _ in range(300):
        records += [one for one in stream.read("conversations") if one["eventName"] == "REMOVE"]
        if len([one for one in records if one["dynamodb"]["Keys"]["item"]["S"] == "conversation"]) == 2:
            break
        clock.sleep(0.1)
    assert {one["userIdentity"]["principalId"] for one in records} == {"dynamodb.amazonaws.com"}
    assert pipeline.events_of(records) == []
    assert all_items(new.workspace_id, "conversations") != []  # the conversation's chunks
    monkeypatch.setattr(leftovers, "CLEAR_DELAY_SECONDS", 0)
    follow("conversations", records)
    sqs = storage.sdk_client("sqs")
    waiting = sqs.receive_message(
        QueueUrl=sqs.get_queue_url(QueueName="cams-maintenance")["QueueUrl"], MaxNumberOfMessages=10
    )
    maintain([as_record(one["Body"]) for one in waiting["Messages"] if "ClearLeftovers" in one["Body"]])
    assert all_items(new.workspace_id, "conversations") == []
