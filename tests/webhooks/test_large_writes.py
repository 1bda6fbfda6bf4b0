"""Bounded fan-out: writes of thousands of messages, partial batch failures, and event partitions."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib import clock, errors, ids, queues, storage
from chalicelib.webhooks import endpoints, events, functions, ledger, queue
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import stored
from tests.deletion.cascades import as_record, maintain
from tests.engines import clear_caches
from tests.webhooks import pipeline
from tests.webhooks.conftest import SetLimits
from tests.webhooks.pipeline import Inbox, Record, Stream

STATE = "/agents/support/interact/ann/state"
ENDPOINTS = 7


@pytest.fixture(autouse=True)
def support(agent_id: str) -> str:
    return agent_id


def listen(workspace_id: str, count: int, url: str = "https://example.com/hook") -> list[str]:
    made = []
    for _ in range(count):
        with storage.unit_of_work():
            row, _ = endpoints.create(workspace_id, {"url": url, "events": ["message_received"], "enabled": True})
        made.append(row.webhook_id)
    return made


def write(stream: Stream, api: Api, count: int) -> list[Record]:
    """Write this many messages in one request; return the stream records for the received messages."""
    stream.read()
    turns = [{"from": "human", "messages": [{"type": "w"}] * count}]
    assert api.post(STATE, {"turns": turns}).status == 200
    records = stream.read("conversations")
    return [one for one in records if "received" in one["dynamodb"].get("NewImage", {})]


def batches(records: list[Record], size: int = 10) -> Iterator[list[Record]]:
    return (records[start : start + size] for start in range(0, len(records), size))


def pairs(texts: list[str]) -> Counter[tuple[str, str]]:
    """Count the (endpoint, event) pairs in delivery messages."""
    messages = [queue.DeliveryMessage.parse(text) for text in texts]
    return Counter((one.webhook_id, event_id) for one in messages for event_id in one.event_ids)


def test_a_large_write_becomes_messages_of_forty_events_in_bounded_invocations(
    stream: Stream, api: Api, workspace: NewWorkspace, set_limits: SetLimits
) -> None:
    set_limits(messages=100)
    webhook_ids = listen(workspace.workspace_id, ENDPOINTS)
    records = write(stream, api, 1_000)
    events = pipeline.events_of(records)
    messages: list[str] = []
    parts = []
    for batch in batches(records, 2):
        pipeline.fan_out(batch)
        sent = pipeline.waiting(queue.FAST)
        assert len(sent) <= 100
        messages += sent
        parts += pipeline.waiting(queues.MAINTENANCE)
    assert {row["event_id"]["S"] for row in stored()["cams-events"]} == {one.id for one in events}
    for text in parts:
        maintain([as_record(text)])
        sent = pipeline.waiting(queue.FAST)
        assert 0 < len(sent) <= 10 * ENDPOINTS
        messages += sent
    assert parts
    assert pipeline.waiting(queues.MAINTENANCE) == []  # a continuation never enqueues another continuation
    assert len(messages) == 1_000 // 40 * ENDPOINTS
    assert pairs(messages) == {(webhook_id, one.id): 1 for webhook_id in webhook_ids for one in events}


def test_a_continuation_has_event_ids_and_no_document(
    stream: Stream, api: Api, workspace: NewWorkspace, set_limits: SetLimits
) -> None:
    set_limits(messages=0)
    listen(workspace.workspace_id, 1)
    records = write(stream, api, 100)
    pipeline.fan_out(records)
    (text,) = pipeline.waiting(queues.MAINTENANCE)
    event_ids = [one.id for one in pipeline.events_of(records)]
    groups = [event_ids[:40], event_ids[40:80], event_ids[80:]]
    assert json.loads(text) == ["ContinueFanOut", workspace.workspace_id, "message_received", groups]


def test_a_continuation_reaches_no_endpoint_that_is_newer_than_an_event(
    stream: Stream, api: Api, workspace: NewWorkspace, set_limits: SetLimits, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(messages=0)
    (old,) = listen(workspace.workspace_id, 1)
    records = write(stream, api, 80)  # the messages are a millisecond apart
    last = pipeline.events_of(records)[-1]
    tolerated = ids.timestamp_of(last.id) + 5_000
    monkeypatch.setattr(clock, "milliseconds", lambda: tolerated - 19)
    (new,) = listen(workspace.workspace_id, 1)
    pipeline.fan_out(records)
    pipeline.drain(queues.MAINTENANCE)
    reached = Counter(webhook_id for webhook_id, _ in pairs(pipeline.waiting(queue.FAST)))
    assert reached == {old: 80, new: 20}


def test_messages_with_long_events_have_fewer_of_them(
    stream: Stream, api: Api, workspace: NewWorkspace, set_limits: SetLimits
) -> None:
    set_limits(characters=1_000)
    listen(workspace.workspace_id, 1)
    stream.read()
    texts = ["x" * length for length in (10, 2_000, 10, 10, 970, 10)]
    turns = [{"from": "human", "messages": [{"item": {"text": text}} for text in texts]}]
    assert api.post(STATE, {"turns": turns}).status == 200
    pipeline.fan_out(stream.read())
    sizes = sorted(len(queue.DeliveryMessage.parse(text).event_ids) for text in pipeline.waiting(queue.FAST))
    assert sizes == [1, 1, 1, 1, 2]


def test_every_event_of_a_message_is_posted_once(
    stream: Stream, api: Api, workspace: NewWorkspace, inbox: Inbox
) -> None:
    listen(workspace.workspace_id, 2, inbox.url())
    records = write(stream, api, 100)
    pipeline.fan_out(records)
    pipeline.fan_out(records)  # the retry
    assert pipeline.drain() == 2 * 2 * 3
    assert Counter(post.id for post in inbox.posts) == {one.id: 2 for one in pipeline.events_of(records)}


def test_deliveries_of_a_batch_start_a_few_at_a_time(
    stream: Stream,
    api: Api,
    workspace: NewWorkspace,
    inbox: Inbox,
    set_limits: SetLimits,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most, running = [0], set()
    claim = ledger.claim

    def counted(row: ledger.DeliveryRow) -> bool:
        running.add(row.delivery_id)
        most[0] = max(most[0], len(running))
        return claim(row)

    def finished(row: ledger.DeliveryRow, *outcome: Any) -> None:
        running.discard(row.delivery_id)

    monkeypatch.setattr(ledger, "claim", counted)
    monkeypatch.setattr(ledger, "record_outcome", finished)
    set_limits(starts=5, poll_seconds=60, slow_seconds=60)
    listen(workspace.workspace_id, 1, inbox.url())
    pipeline.fan_out(write(stream, api, 80))
    pipeline.drain()
    assert len(inbox.posts) == 80
    assert most[0] <= 5


# Received items


def test_a_received_item_has_at_most_480_messages(stream: Stream, api: Api) -> None:
    counts = [len(pipeline.events_of([record])) for record in write(stream, api, 1_000)]
    assert counts == [480, 480, 40]


def test_a_write_adds_at_most_28_800_messages_of_the_user(stream: Stream, api: Api) -> None:
    turns = [{"from": "human", "ts": 1, "messages": [{"mid": f"{number:x}"} for number in range(28_801)]}]
    answer = api.post(STATE, {"turns": turns})
    assert answer.status == 413
    assert answer.json["message"] == "A write may add at most 28,800 user messages."
    turns[0]["messages"].pop()
    assert api.post(STATE, {"turns": turns}).status == 200


# Partial batch failures


def organisation(stream: Stream, api: Api, name: str) -> Record:
    assert api.post(f"/v2/orgs/{name}", {"name": name}).status == 200
    (record,) = stream.read("organisations")
    return record


def failures(records: list[Record]) -> Any:
    return functions.fan_out_organisations({"Records": records}, None)["batchItemFailures"]


def test_a_batch_comes_again_from_the_first_record_of_the_workspace_that_failed(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace, other_workspace: NewWorkspace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    other = Api(other_workspace.workspace_key)
    for client in (api, other):
        webhook = {"url": inbox.url(), "events": ["organisation_created"]}
        assert client.post("/v3/webhooks", {"webhook": webhook}).status == 200
    makers = (api, api, other, api, other)
    records = [organisation(stream, client, f"org-{number}") for number, client in enumerate(makers)]
    list_with_hosts = endpoints.list_with_hosts

    def failing(workspace_id: str) -> Any:
        if workspace_id == other_workspace.workspace_id:
            raise errors.Unavailable
        return list_with_hosts(workspace_id)

    monkeypatch.setattr(endpoints, "list_with_hosts", failing)
    numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
    assert failures(records) == [{"itemIdentifier": numbers[2]}]
    monkeypatch.setattr(endpoints, "list_with_hosts", list_with_hosts)
    assert failures(records[2:]) == []
    pipeline.drain()
    assert sorted(post.payload["organisationName"] for post in inbox.posts) == [f"org-{client}" for client in range(5)]


def test_a_batch_comes_again_from_the_record_that_cannot_be_read_now(
    stream: Stream, api: Api, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = {"url": inbox.url(), "events": ["organisation_created"]}
    assert api.post("/v3/webhooks", {"webhook": webhook}).status == 200
    records = [organisation(stream, api, f"org-{number}") for number in range(3)]
    from_change = events.from_change
    reads = iter((False, True))

    def failing(record: Any) -> Any:
        if next(reads, False):
            raise errors.Unavailable
        return from_change(record)

    monkeypatch.setattr(events, "from_change", failing)
    assert failures(records) == [{"itemIdentifier": records[1]["dynamodb"]["SequenceNumber"]}]
    assert failures(records[1:]) == []
    pipeline.drain()
    assert sorted(post.payload["organisationName"] for post in inbox.posts) == ["org-0", "org-1", "org-2"]


# Partitions


def test_the_events_of_a_workspace_are_spread_over_partitions(
    stream: Stream, api: Api, workspace: NewWorkspace
) -> None:
    listen(workspace.workspace_id, 1)
    records = write(stream, api, 480)
    pipeline.fan_out(records)
    sizes = Counter(row["workspace"]["S"] for row in stored()["cams-events"])
    assert len(sizes) == 32
    assert max(sizes.values()) < 48
    assert {one.partition("#")[0] for one in sizes} == {workspace.workspace_id}
    clear_caches()
    event = pipeline.events_of(records)[0]
    document = {"type": event.type, "payload": event.payload, "messageId": event.message_id}
    assert ledger.find_event(workspace.workspace_id, event.id) == document
