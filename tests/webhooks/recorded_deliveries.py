"""Deliveries to a test endpoint. They stay in their queue, or a test records their outcome."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import clock, storage
from chalicelib.sending.sender import Outcome
from chalicelib.webhooks import ledger
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.direct_writes import delete_now
from tests.listed_pages import follow_cursors

NOW = 1_793_611_800_123
ENDED = {
    "delivered": Outcome(200, None, 12),
    "failed": Outcome(500, "The receiver responded with 500.", 34),
}


class Time:
    """A clock that advances by a millisecond at each call."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        self.now += 1
        return self.now


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Replace the wall clock."""
    time = Time()
    monkeypatch.setattr(clock, "milliseconds", time)
    return time


@pytest.fixture
def endpoint(api: Api) -> str:
    """Create an endpoint; return the endpoint's path."""
    given = {"url": "https://example.com/hooks", "events": ["lead_captured"]}
    return f"/v3/webhooks/{api.post('/v3/webhooks', {'webhook': given}).data['id']}"


Ends = Callable[[Any, str], None]


@pytest.fixture
def ends(endpoint: str, workspace: NewWorkspace, time: Time) -> Ends:
    """Return a function that claims a delivery and records its outcome, or no outcome for the status `claimed`."""

    def end(delivery: Any, status: str) -> None:
        row = ledger.read(workspace.workspace_id, endpoint.rsplit("/", 1)[1], delivery["id"])
        assert ledger.claim(row)
        if status in ENDED:
            ledger.record_outcome(row, ENDED[status])
        elif status == "expired":
            ledger.expire(row, "The event has expired.")

    return end


def create_test(api: Api, endpoint: str) -> Any:
    """Request a test delivery; return the delivery."""
    return api.post(f"{endpoint}/test").data


def list_deliveries(api: Api, endpoint: str, query: str = "") -> Any:
    return api.get(f"{endpoint}/deliveries{query}").data


def read_delivery(api: Api, endpoint: str, delivery: Any) -> Any:
    return api.get(f"{endpoint}/deliveries/{delivery['id']}").data


def redeliver(api: Api, endpoint: str, delivery: Any) -> Answer:
    return api.post(f"{endpoint}/deliveries/{delivery['id']}/redeliver")


def read_pages(api: Api, endpoint: str, query: str) -> list[list[Any]]:
    return [one.data for one in follow_cursors(api, f"{endpoint}/deliveries?{query}")]


def expire_event(workspace: NewWorkspace, delivery: Any) -> None:
    """Delete a delivery's event, as TTL does after thirty days."""
    row = storage.find(*ledger.event_key(workspace.workspace_id, delivery["eventId"])[:3])
    assert row is not None
    delete_now(row)
