"""Fan-out from stream records to queue messages: subscribers, stored events, unreadable records, and failures."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from chalicelib import clock, errors, storage
from chalicelib.webhooks import endpoints, hosts, queue
from chalicelib.webhooks.fan_out import fan_out as fan_out_records
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import stored
from tests.clients.test_clients import noise
from tests.direct_writes import put_now
from tests.engine_requests import refuse_operation
from tests.engines import clear_caches
from tests.selection import one_of_each
from tests.webhooks import pipeline
from tests.webhooks.pipeline import Inbox, Record, Stream, drain, fan_out, waiting

FUNCTION = "fan_out_organisations"
MONTH = 30 * 24 * 60 * 60


def listen(api: Api, inbox: Any, *types: str, path: str = "hook", **members: Any) -> str:
    """Create an endpoint that subscribes to these event types; return the endpoint's id."""
    webhook = {"url": inbox.url(path), "events": list(types), **members}
    webhook_id: str = api.post("/v3/webhooks", {"webhook": webhook}).data["id"]
    return webhook_id


def organisations(api: Api, *names: str) -> None:
    for name in names:
        assert api.post(f"/v2/orgs/{name}", {"name": name}).status == 200


def posted_names(inbox: Inbox) -> list[str]:
    return sorted(post.payload["organisationName"] for post in inbox.posts)


# Subscribers


def test_an_endpoint_gets_only_the_types_that_it_subscribes_to(stream: Stream, api: Api, inbox: Inbox) -> None:
    listen(api, inbox, "organisation_created", path="organisations")
    listen(api, inbox, "agent_created", "agent_deleted", path="agents")
    organisations(api, "acme")
    api.post("/v2/orgs/acme", {"name": "Acme Ltd"})
    api.post("/v2/agents/support", {"title": "Support"})
    fan_out(stream.read())
    assert inbox.posts == []  # fan-out makes no HTTP requests
    drain()
    assert sorted((post.path, post.body["type"]) for post in inbox.posts) == [
        ("/agents", "agent_created"),
        ("/organisations", "organisation_created"),
    ]


def test_an_event_without_a_subscriber_is_not_stored(stream: Stream, api: Api, inbox: Inbox) -> None:
    listen(api, inbox, "agent_created")
    organisations(api, "acme")
    fan_out(stream.read())
    assert stored()["cams-events"] == []
    assert waiting(queue.FAST) == []


def test_a_subscribed_event_is_stored_for_thirty_days(stream: Stream, api: Api, inbox: Inbox) -> None:
    listen(api, inbox, "organisation_created")
    organisations(api, "acme")
    fan_out(stream.read())
    (event,) = stored()["cams-events"]
    assert abs(int(event["expires_at"]["N"]) - clock.seconds() - MONTH) < 60


def test_an_endpoint_gets_no_events_of_another_workspace(
    stream: Stream, api: Api, inbox: Inbox, other_workspace: NewWorkspace
) -> None:
    listen(Api(other_workspace.workspace_key), inbox, "organisation_created")
    organisations(api, "acme")
    fan_out(stream.read())
    assert waiting(queue.FAST) == []


def test_a_disabled_or_deleted_endpoint_gets_no_events(stream: Stream, api: Api, inbox: Inbox) -> None:
    listen(api, inbox, "organisation_created", enabled=False)
    deleted = listen(api, inbox, "organisation_created")
    assert api.delete(f"/v3/webhooks/{deleted}").status == 200
    organisations(api, "acme")
    fan_out(stream.read())
    assert waiting(queue.FAST) == waiting(queue.SLOW) == []


def test_an_endpoint_gets_no_events_from_before_its_creation(
    stream: Stream, api: Api, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    organisations(api, "before")
    now = clock.milliseconds() + 10_000
    monkeypatch.setattr(clock, "milliseconds", lambda: now)
    listen(api, inbox, "organisation_created")
    organisations(api, "after")
    fan_out(stream.read())
    drain()
    assert posted_names(inbox) == ["after"]


def test_a_duplicate_record_in_one_batch_or_in_a_later_one_is_one_event(stream: Stream, api: Api, inbox: Inbox) -> None:
    listen(api, inbox, "organisation_created")
    organisations(api, *(f"org-{number}" for number in range(60)))
    records = stream.read()
    fan_out([*records, *records[::-1]])
    # DynamoDB rejects a write batch that contains an item twice.
    assert [len(queue.DeliveryMessage.parse(text).event_ids) for text in waiting(queue.FAST)] == [40, 20]
    fan_out(records)
    assert len(stored()["cams-events"]) == 60
    drain()
    assert posted_names(inbox) == sorted(f"org-{number}" for number in range(60))


def test_events_of_a_slow_endpoint_go_to_the_slow_queue(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    listen(api, inbox, "organisation_created")
    slow = listen(api, SimpleNamespace(url=lambda _: "http://slow.cams.test/hook"), "organisation_created")
    hosts.demote(workspace.workspace_id, "slow.cams.test:80")
    organisations(api, "acme")
    records = stream.read()
    fan_out(records)
    (fast_text,), (slow_text,) = waiting(queue.FAST), waiting(queue.SLOW)
    assert (
        queue.DeliveryMessage.parse(slow_text).webhook_id == slow != queue.DeliveryMessage.parse(fast_text).webhook_id
    )


# Unreadable records


def junk() -> list[Any]:
    arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/cams-organisations/stream/2026-01-01T00:00:00.000"
    keys = {"workspace": {"S": "w"}, "org_id": {"S": "o"}}
    image = {**keys, "version": {"N": "1"}}
    return [
        None,
        "text",
        7,
        [],
        {},
        {"eventSourceARN": arn},
        {"eventSourceARN": arn, "dynamodb": None},
        {"eventSourceARN": arn, "dynamodb": {}},
        {"eventSourceARN": "not an ARN", "dynamodb": {"Keys": keys}},
        {"eventSourceARN": arn, "dynamodb": {"Keys": {"workspace": {"N": "1"}}, "NewImage": image}},
        {"eventSourceARN": arn, "dynamodb": {"Keys": keys, "NewImage": image}},
        {"eventSourceARN": arn, "dynamodb": {"Keys": keys, "NewImage": image, "ApproximateCreationDateTime": 1.0}},
        {"eventSourceARN": arn, "dynamodb": {"Keys": keys, "NewImage": {**image, "written": {"S": "not an id"}}}},
        {"eventSourceARN": arn, "dynamodb": {"Keys": keys, "NewImage": {**image, "document": {"B": "%%%"}}}},
    ]


@one_of_each(lambda bad: type(bad))
@pytest.mark.parametrize("bad", junk(), ids=str)
def test_an_unreadable_record_goes_to_the_dead_letter_queue_and_the_batch_continues(
    stream: Stream, api: Api, inbox: Inbox, bad: Any
) -> None:
    listen(api, inbox, "organisation_created")
    organisations(api, "before", "after")
    before, after = stream.read()
    fan_out_records(FUNCTION, [before, bad, after])
    drain()
    assert posted_names(inbox) == ["after", "before"]
    assert len(dead_letters()) == 1


def test_a_repeated_batch_sends_an_unreadable_record_to_the_dead_letter_queue_once(
    stream: Stream, api: Api, inbox: Inbox
) -> None:
    listen(api, inbox, "organisation_created")
    organisations(api, "acme")
    (record,) = stream.read()
    for _ in range(3):
        with refuse_operation("BatchWriteItem", "ThrottlingException"), pytest.raises(errors.Unavailable):
            fan_out_records(FUNCTION, [record, 7])
    assert dead_letters() == []
    fan_out_records(FUNCTION, [record, 7])
    assert len(dead_letters()) == 1


def test_a_tampered_document_goes_to_the_dead_letter_queue_as_the_stream_has_it(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    listen(api, inbox, "organisation_created")
    organisations(api, "before", "altered", "after")
    records = stream.read()
    altered = records[1]
    sealed = altered["dynamodb"]["NewImage"]["document"]["B"]
    altered["dynamodb"]["NewImage"]["document"]["B"] = sealed[:-4] + ("AAAA" if sealed[-4:] != "AAAA" else "BBBB")
    fan_out(records)
    drain()
    assert posted_names(inbox) == ["after", "before"]
    (text,) = dead_letters()
    assert json.loads(text) == {
        "function": FUNCTION,
        "error": "DecryptionError",
        "table": "organisations",
        "eventID": altered["eventID"],
        "eventSourceARN": altered["eventSourceARN"],
        "Keys": {"workspace": {"S": workspace.workspace_id}, "org_id": {"S": "altered"}},
        "SequenceNumber": altered["dynamodb"]["SequenceNumber"],
        "record": altered,
    }


@pytest.mark.parametrize(
    ("member", "value"),
    [("url", None), ("url", "no URL"), ("url", "https://["), ("events", 7), ("enabled", ...), ("createdAt", "x")],
)
def test_an_endpoint_that_cannot_be_used_does_not_block_the_others(
    member: str, value: Any, stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    """The service never stores such an endpoint, but another program may."""
    broken = endpoints.read(workspace.workspace_id, listen(api, inbox, "organisation_created", path="broken"))
    listen(api, inbox, "organisation_created")
    broken.seal({name: one for name, one in {**broken.open(), member: value}.items() if one is not ...})
    put_now(broken)
    organisations(api, "acme")
    fan_out(stream.read())
    drain()
    assert (posted_names(inbox), dead_letters()) == (["acme"], [])


def test_an_unreadable_endpoint_does_not_block_the_others(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    broken = listen(api, inbox, "organisation_created", path="broken")
    listen(api, inbox, "organisation_created")
    row = endpoints.read(workspace.workspace_id, broken)
    row.document = row.document[:-1] + bytes([row.document[-1] ^ 1])
    put_now(row)
    organisations(api, "acme")
    fan_out(stream.read())
    drain()
    assert [post.path for post in inbox.posts] == ["/hook"]


def test_a_name_of_the_maximum_length_is_truncated_to_fit_an_event(stream: Stream, api: Api, inbox: Inbox) -> None:
    long = noise(500_000)
    listen(api, inbox, "organisation_created", "client_created")
    assert api.post("/v2/orgs/long", {"name": long}).status == 200
    client = {"name": long[:150_000], "email": long[150_000:300_000], "orgId": long[300_000:450_000]}
    assert api.post("/v2/clients/long", client).status == 200
    organisations(api, "after")
    fan_out(stream.read())
    drain()
    payloads = {post.body["type"] + str(len(post.text) > 500): post.payload for post in inbox.posts}
    assert payloads["organisation_createdTrue"]["organisationName"] == long[:1_000]
    assert payloads["organisation_createdFalse"]["organisationName"] == "after"
    client_payload = payloads["client_createdTrue"]
    assert (client_payload["clientName"], client_payload["clientEmail"]) == (long[:1_000], long[150_000:151_000])
    assert client_payload["organisationId"] == long[300_000:301_000]


def dead_letters() -> list[str]:
    return waiting(queue.DEAD_LETTER)


# Failures


@contextmanager
def unavailable(request: str) -> Iterator[None]:
    """Make a request fail inside the block, in the service that would handle it."""
    service, _, operation = request.partition(".")
    if service == "dynamodb":
        with refuse_operation(operation, "ThrottlingException"):
            yield
        return

    def refuse(**_: Any) -> tuple[AWSResponse, dict[str, Any]]:
        return AWSResponse("", 500, {}, None), {"Error": {"Code": "InternalError", "Message": "Refused for a test"}}

    known = storage.sdk_client(service).meta.events
    known.register_first(f"before-call.{service}.{operation}", refuse)
    try:
        yield
    finally:
        known.unregister(f"before-call.{service}.{operation}", refuse)


@pytest.mark.parametrize(
    "request_",
    ["kms.Decrypt", "dynamodb.GetItem", "dynamodb.Query", "dynamodb.BatchWriteItem", "sqs.GetQueueUrl",
     "sqs.SendMessageBatch"],
)  # fmt: skip
def test_after_a_failure_the_batch_is_retried_and_each_event_is_sent_once(
    stream: Stream, api: Api, inbox: Inbox, request_: str
) -> None:
    listen(api, inbox, "organisation_created", path="one")
    listen(api, inbox, "organisation_created", path="two")
    organisations(api, *(f"org-{number}" for number in range(15)))
    records = stream.read()
    clear_caches()
    with unavailable(request_), pytest.raises(errors.Unavailable):
        fan_out(records)
    fan_out(records)
    drain()
    assert posted_names(inbox) == sorted([f"org-{number}" for number in range(15)] * 2)
    assert dead_letters() == []


def test_if_the_queue_accepts_only_some_messages_all_of_them_are_sent_again(
    stream: Stream, api: Api, inbox: Inbox
) -> None:
    listen(api, inbox, "organisation_created")
    organisations(api, *(f"org-{number}" for number in range(15)))
    records = stream.read()

    def fail_one(parsed: dict[str, Any], **_: Any) -> None:
        parsed["Failed"] = [{"Id": "0", "SenderFault": False, "Code": "InternalError"}]

    known = storage.sdk_client("sqs").meta.events
    known.register("after-call.sqs.SendMessageBatch", fail_one)
    try:
        with pytest.raises(errors.Unavailable):
            fan_out(records)
    finally:
        known.unregister("after-call.sqs.SendMessageBatch", fail_one)
    fan_out(records)
    drain()
    assert posted_names(inbox) == sorted(f"org-{number}" for number in range(15))


def test_each_watched_table_has_a_function(stream: Stream, api: Api, inbox: Inbox) -> None:
    listen(api, inbox, "agent_created", "organisation_created", "client_created", "lead_captured", "message_received")
    api.post("/v2/agents/support", {})
    organisations(api, "acme")
    api.post("/v2/clients/ann", {"name": "Ann"})
    api.post("/v3/leads", {"lead": {"agentId": "support"}})
    api.post("/agents/support/interact/ann/state", {"turns": [{"from": "human", "messages": [{}]}]})
    by_table: dict[str, list[Record]] = {table: stream.read(table) for table in pipeline.WATCHED}
    for records in by_table.values():
        fan_out(records)
        assert drain() == 1
    assert len(inbox.posts) == 5
