"""The cost of an event: counted at the SDK's clients, and documented in docs/benchmarks.md."""

from pathlib import Path

from tests.api import Api
from tests.capacity import metered
from tests.requests import counted
from tests.webhooks.pipeline import Inbox, Stream, fan_out, take

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
DOCUMENTED = (
    "An event that an endpoint wants costs a query of the workspace's endpoints and a write. Each delivery reads three"
    " items and writes two. For small records that is 1 + 3 read units and 1 + 2 write units"
)


def test_an_event_costs_one_write_and_each_delivery_two(stream: Stream, api: Api, inbox: Inbox) -> None:
    webhook = {"url": inbox.url(), "events": ["organisation_created"]}
    assert api.post("/v3/webhooks", {"webhook": webhook}).status == 200
    assert api.post("/v2/orgs/acme", {"name": "Acme"}).status == 200
    records = stream.read()
    with counted() as sent, metered() as meter:
        fan_out(records)
    assert sent["SendMessageBatch"] == 1
    assert meter.requests == {"Query": 1, "BatchWriteItem": 1}
    assert (meter.reads, meter.writes) == (1, 1)
    messages = take()
    with metered() as meter:
        messages.run()
    assert meter.requests == {"BatchGetItem": 1, "PutItem": 1, "UpdateItem": 1}
    assert (meter.reads, meter.writes) == (3, 2)
    assert len(inbox.posts) == 1


def test_an_event_without_an_endpoint_costs_a_query(stream: Stream, api: Api, inbox: Inbox) -> None:
    assert api.post("/v2/orgs/acme", {"name": "Acme"}).status == 200
    records = stream.read()
    with metered() as meter:
        fan_out(records)
    assert meter.requests == {"Query": 1}
    assert (meter.reads, meter.writes) == (1, 0)


def test_the_page_has_these_costs() -> None:
    assert DOCUMENTED in " ".join(PAGE.read_text(encoding="utf-8").split())
