"""What an event and its delivery cost in database and queue requests."""

import pytest

from chalicelib.webhooks import retry_policy
from tests import costs
from tests.api import Api
from tests.builders import webhook_body
from tests.capacity import metered
from tests.engine_requests import counted
from tests.sending.receivers import status
from tests.webhooks.pipeline import Inbox, Stream, fan_out, inbox, take


def test_an_event_costs_one_write_and_each_delivery_two(stream: Stream, api: Api, inbox: Inbox) -> None:
    webhook = {"url": inbox.url(), "events": ["organisation_created"]}
    assert api.post("/v3/webhooks", {"webhook": webhook}).status == 200
    assert api.post("/v2/orgs/acme", {"name": "Acme"}).status == 200
    records = stream.read()
    with counted() as sent, metered() as meter:
        fan_out(records)
    assert sent["SendMessageBatch"] == 1
    assert meter.requests == {"Query": 1, "BatchWriteItem": 1}
    costs.check("store a webhook event", meter)
    messages = take()
    with metered() as meter:
        messages.run()
    assert meter.requests == {"BatchGetItem": 1, "PutItem": 1, "UpdateItem": 1}
    costs.check("deliver a webhook event", meter)
    assert len(inbox.posts) == 1


def test_a_failure_costs_a_write_more_for_its_index(stream: Stream, api: Api) -> None:
    with inbox(status(500)) as refusing:
        webhook_id = api.post("/v3/webhooks", webhook_body(refusing.url(), "organisation_created")).data["id"]
        assert api.post("/v2/orgs/acme", {"name": "Acme"}).status == 200
        fan_out(stream.read())
        messages = take()
        with metered() as meter:
            messages.run()
    assert meter.requests == {"BatchGetItem": 1, "PutItem": 1, "UpdateItem": 1}
    costs.check("deliver a webhook event that fails", meter)
    (failed,) = api.get(f"/v3/webhooks/{webhook_id}/deliveries?status=failed").data
    assert failed["responseStatus"] == 500


def test_events_of_one_write_share_a_message_and_its_reads(
    stream: Stream, api: Api, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry_policy, "SLOW_SECONDS", 60.0)  # a loaded machine takes more than 2 s for all deliveries
    webhook = {"url": inbox.url(), "events": ["message_received"]}
    assert api.post("/v3/webhooks", {"webhook": webhook}).status == 200
    assert api.post("/v2/agents/support", {}).status == 200
    turns = [{"from": "human", "messages": [{"type": "w"}] * 100}]
    assert api.post("/agents/support/interact/ann/state", {"turns": turns}).status == 200
    records = stream.read("conversations")
    with counted() as sent, metered() as meter:
        fan_out(records)
    assert sent["SendMessageBatch"] == 1
    assert meter.requests == {"Query": 1, "BatchWriteItem": 4}
    assert (meter.reads, meter.writes) == (1, 100)
    messages = take()
    assert len(messages.messages) == 3
    with metered() as meter:
        messages.run()
    assert meter.requests == {"BatchGetItem": 3, "PutItem": 100, "UpdateItem": 100}
    assert (meter.reads, meter.writes) == (3 * 2.5 + 100 * 0.5, 200)
    assert len(inbox.posts) == 100


def test_an_event_without_an_endpoint_costs_a_query(stream: Stream, api: Api, inbox: Inbox) -> None:
    assert api.post("/v2/orgs/acme", {"name": "Acme"}).status == 200
    records = stream.read()
    with metered() as meter:
        fan_out(records)
    assert meter.requests == {"Query": 1}
    costs.check("skip an event without an endpoint", meter)
