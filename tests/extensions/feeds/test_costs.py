"""The costs of a feed, in docs/costs.csv."""

import pytest

from chalicelib import ids, storage
from chalicelib.extensions.feeds import feed
from chalicelib.webhooks import ledger
from chalicelib.webhooks.events import Event
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.capacity import metered
from tests.conftest import PassTime
from tests.costs import check
from tests.extensions.feeds.conftest import PullEndpoint
from tests.webhooks import pipeline

COUNT = feed.MAX_APPENDED


def _events(workspace: NewWorkspace, count: int) -> list[str]:
    """Store events as large as those of a change to an agent."""
    payload = {"agentId": "support", "agentName": "Customer support", "operation": "updated", "createdAt": 1}
    events = [Event(ids.new_id(), workspace.workspace_id, "agent_updated", payload) for _ in range(count)]
    ledger.save_events(events)
    return [event.id for event in events]


@pytest.fixture
def filled(workspace: NewWorkspace, api: Api, endpoint: PullEndpoint) -> PullEndpoint:
    """Return an endpoint whose feed has 200 events, for cached credentials."""
    feed.append(workspace.workspace_id, endpoint.id, _events(workspace, 200))
    endpoint.page()
    return endpoint


def test_the_cost_of_an_append(workspace: NewWorkspace, filled: PullEndpoint) -> None:
    one, many = _events(workspace, 1), _events(workspace, COUNT)
    for operation, event_ids in (("append an event to a feed", one), ("append one of 49 events to a feed", many)):
        with metered() as meter:
            feed.append(workspace.workspace_id, filled.id, event_ids)
        assert meter.writes == 4 * len(event_ids) + 2
        check(operation, meter, len(event_ids))


def test_the_cost_of_a_page(filled: PullEndpoint) -> None:
    with metered() as meter:
        first = filled.page(limit=100)
    check("read 100 events of a feed", meter)
    assert len(first.data) == 100
    with metered() as meter:
        filled.page(first.json["after"], limit=1)
    check("read an event of a feed", meter)
    last = first
    while last.json["hasMore"]:
        last = filled.page(last.json["after"], limit=100)
    with metered() as meter:
        assert filled.page(last.json["after"]).data == []
    check("read a feed without new events", meter)


def test_rows_that_ttl_deletes_in_random_order_cost_no_further_requests(
    workspace: NewWorkspace, filled: PullEndpoint, pass_time: PassTime
) -> None:
    pass_time(40 * 24 * 60 * 60)
    feed.append(workspace.workspace_id, filled.id, _events(workspace, 1))
    rows = [row for row in feed.list_all(workspace.workspace_id, filled.id) if isinstance(row, feed.FeedRow)]
    storage.delete_many(rows[0:180:2])
    filled.page()
    with metered() as meter:
        assert filled.page(limit=100).json["hasMore"] is True
    assert meter.requests == {"Query": 1, "BatchGetItem": 2}


def test_without_a_pull_endpoint_fan_out_sends_the_same_requests(
    api: Api, stream: pipeline.Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare the requests for a push endpoint alone with those for a push and a pull endpoint."""
    assert (
        api.post("/v3/webhooks", {"webhook": {"url": "https://example.com", "events": ["agent_created"]}}).status == 200
    )
    requests = []
    for agent_id in ("warm", "push", "both"):
        if agent_id == "both":
            PullEndpoint(api, stream)
        assert api.post(f"/v2/agents/{agent_id}", {}).status == 200
        records = stream.read("agents")
        with metered() as meter:
            pipeline.fan_out(records)
        requests.append((meter.requests, meter.reads, meter.writes))
    assert requests[1] == requests[2]
