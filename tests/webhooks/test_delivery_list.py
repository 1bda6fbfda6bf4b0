"""The list of deliveries: eight partitions merged newest first, and the sparse index of failed deliveries."""

import random
import sys
from collections.abc import Callable, Sequence

import pytest

from chalicelib import clock, ids, storage
from chalicelib.webhooks import ledger
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import webhook_body
from tests.capacity import Meter, metered
from tests.selection import whole
from tests.webhooks.deliveries import listen
from tests.webhooks.pipeline import Inbox, Stream

FAILURES = 5


@pytest.fixture(autouse=True)
def stop_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock: on a slow machine, the cached credential would expire while a test stores its deliveries."""
    now = clock.milliseconds()
    monkeypatch.setattr(clock, "milliseconds", lambda: now)


@pytest.fixture
def webhook_id(api: Api) -> str:
    found: str = api.post("/v3/webhooks", webhook_body()).data["id"]
    return found


def fill(
    workspace: NewWorkspace,
    webhook_id: str,
    count: int,
    failed: Sequence[int],
    wanted: Callable[[int, str], bool] = lambda *_: True,
) -> list[str]:
    """Store delivered deliveries, and failed ones in these places. Return all ids, newest first."""
    random_, start, rows = random.Random(7), clock.milliseconds() - count - 120_000, []
    for number in range(count):
        event_id = ids.id_at(start + number, random_.getrandbits(80))
        while not wanted(number, event_id):
            event_id = ids.id_at(start + number, random_.getrandbits(80))
        row = ledger.new(workspace.workspace_id, webhook_id, event_id, "lead_captured", event_id)
        row.claim = row.version_tag = event_id
        row.outcome, row.duration_ms, row.response_status = ledger.DELIVERED, 12, 200
        if number in failed:
            row.outcome, row.response_status, row.error = ledger.FAILED, 500, "The receiver answered 500."
            row.failed_webhook = row.webhook
        rows.append(row)
    storage.save_many(rows)
    return [row.delivery_id for row in reversed(rows)]


def partition(delivery_id: str) -> int:
    return ledger._partitions("w", "h").index(ledger._partition_of("w", "h", delivery_id))


def pages(api: Api, webhook_id: str, query: str) -> list[list[str]]:
    found, cursor = [], ""
    while len(found) < 100:
        answer = api.get(f"/v3/webhooks/{webhook_id}/deliveries?{query}{cursor}")
        found.append([one["id"] for one in answer.data])
        if "nextCursor" not in answer.json:
            break
        cursor = f"&cursor={answer.json['nextCursor']}"
    return found


def units(meter: Meter) -> str:
    return f"{sum(meter.requests.values())} requests, {meter.reads} read units"


@pytest.mark.parametrize("count", [1_000, pytest.param(20_000, marks=whole)])
def test_listing_failed_deliveries_reads_only_those(
    api: Api, workspace: NewWorkspace, webhook_id: str, count: int
) -> None:
    failed = random.Random(3).sample(range(count), FAILURES)
    newest_first = fill(workspace, webhook_id, count, failed)
    expected = [newest_first[count - 1 - number] for number in sorted(failed, reverse=True)]
    with metered() as meter:
        found = pages(api, webhook_id, "status=failed")
    sys.stdout.write(f"\n{FAILURES} failed of {count:,}: {len(found)} pages, {units(meter)}\n")
    assert found == [expected]
    # The endpoint, and its eight partitions of the index.
    assert meter.requests == {"GetItem": 1, "Query": 8}
    assert meter.reads == 1 + 8 * 0.5


@pytest.mark.parametrize("query", ["", "?status=delivered"])
def test_a_page_of_frequent_deliveries_reads_each_partition_once(
    query: str, api: Api, workspace: NewWorkspace, webhook_id: str
) -> None:
    newest_first = fill(workspace, webhook_id, 300, (), lambda number, one: partition(one) == number % 8)
    with metered() as meter:
        answer = api.get(f"/v3/webhooks/{webhook_id}/deliveries{query}")
    assert [one["id"] for one in answer.data] == newest_first[:20]
    assert meter.requests == {"GetItem": 1, "Query": 8}
    assert meter.reads == 1 + 4


def test_a_page_of_a_rare_status_examines_at_most_a_thousand_deliveries(
    api: Api, workspace: NewWorkspace, webhook_id: str
) -> None:
    fill(workspace, webhook_id, 1_400, (), lambda number, one: partition(one) == number % 8)
    with metered() as meter:
        answer = api.get(f"/v3/webhooks/{webhook_id}/deliveries?status=unknown")
    sys.stdout.write(f"\nan unknown one of 1,400: {units(meter)}\n")
    assert answer.data == []
    assert "nextCursor" in answer.json
    # The endpoint; and of each partition 8, 32 and 128 deliveries of less than 350 bytes.
    assert meter.requests == {"GetItem": 1, "Query": 8 * 3}
    assert meter.reads <= 1 + 8 * (0.5 + 1.5 + 5.5)
    assert [len(page) for page in pages(api, webhook_id, "status=unknown")] == [0, 0]


def test_pages_are_complete_if_all_deliveries_share_a_partition(
    api: Api, workspace: NewWorkspace, webhook_id: str
) -> None:
    newest_first = fill(workspace, webhook_id, 130, range(0, 130, 2), lambda _, one: partition(one) == 0)
    found = pages(api, webhook_id, "limit=50")
    assert [len(page) for page in found] == [50, 50, 30]
    assert [one for page in found for one in page] == newest_first
    found = pages(api, webhook_id, "limit=20&status=failed")
    assert [len(page) for page in found] == [20, 20, 20, 5]
    assert [one for page in found for one in page] == newest_first[1::2]


def test_deliveries_are_spread_evenly() -> None:
    found = [partition(ids.new_id()) for _ in range(8_000)]
    counts = [found.count(one) for one in range(8)]
    assert sum(counts) == 8_000
    assert min(counts) > 800


def test_only_failed_deliveries_of_the_endpoint_are_listed(api: Api, workspace: NewWorkspace, webhook_id: str) -> None:
    other = api.post("/v3/webhooks", webhook_body()).data["id"]
    own, _ = fill(workspace, webhook_id, 4, (3,))[:1], fill(workspace, other, 4, (0, 1))
    assert pages(api, webhook_id, "status=failed") == [own]


def test_the_pages_of_a_long_list_have_every_delivery_once(
    stream: Stream, api: Api, workspace: NewWorkspace, inbox: Inbox, later: Callable[[int], None]
) -> None:
    webhook = listen(api, inbox.url())
    later(120)
    start = clock.milliseconds() - 90_000
    rows = []
    for number in range(1_150):
        event_id = ids.id_at(start + number, number)
        row = ledger.new(workspace.workspace_id, webhook["id"], event_id, "organisation_created", event_id)
        row.claim, row.outcome = ids.id_at(start, number), ledger.DELIVERED
        if number % 1_000 == 0:
            row.outcome = None  # claimed 90 seconds ago
        if number % 1_000 == 1:
            row.outcome = ledger.FAILED
        row.version_tag = event_id
        rows.append(row)
    storage.save_many(rows)
    newest_first = [row.delivery_id for row in reversed(rows)]

    def pages(query: str, most: int = 100) -> list[list[str]]:
        found, cursor = [], ""
        while len(found) < most:
            answer = api.get(f"/v3/webhooks/{webhook['id']}/deliveries?limit=100{query}{cursor}")
            found.append([one["id"] for one in answer.data])
            if "nextCursor" not in answer.json:
                break
            cursor = f"&cursor={answer.json['nextCursor']}"
        return found

    whole = pages("")
    assert [len(page) for page in whole] == [100] * 11 + [50]
    assert [one for page in whole for one in page] == newest_first
    # A page of one status searches 1,000 deliveries, so it may be short although more pages follow.
    assert pages("&status=unknown") == [[newest_first[149]], [newest_first[1_149]]]
    others = [one for one in newest_first if one not in (newest_first[148], newest_first[149])]
    assert pages("&status=delivered", 1) == [others[:100]]
