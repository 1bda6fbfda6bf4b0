"""The delivery list merges eight partitions, newest first. A sparse index lists failed deliveries."""

import random
from collections.abc import Callable, Sequence

import pytest

from chalicelib import clock, ids, storage
from chalicelib.webhooks import ledger
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import webhook_body
from tests.capacity import metered
from tests.listed_pages import follow_cursors

FAILURES = 5


@pytest.fixture(autouse=True)
def stop_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock, because the cached credential could expire while a test stores its deliveries."""
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
    failed: Sequence[int] = (),
    accepts: Callable[[int, str], bool] = lambda *_: True,
    unknown: Sequence[int] = (),
) -> list[str]:
    """Store deliveries; return all ids, newest first.

    The positions in `failed` and `unknown` get these statuses; the rest are delivered.
    """
    random_, start, rows = random.Random(7), clock.milliseconds() - count - 120_000, []
    for number in range(count):
        event_id = ids.id_at(start + number, random_.getrandbits(80))
        while not accepts(number, event_id):
            event_id = ids.id_at(start + number, random_.getrandbits(80))
        row = ledger.new(workspace.workspace_id, webhook_id, event_id, "lead_captured", event_id)
        row.claim = row.version_tag = event_id
        row.outcome, row.duration_ms, row.response_status = ledger.DELIVERED, 12, 200
        if number in unknown:
            row.outcome = None  # an old claim without an outcome
        if number in failed:
            row.outcome, row.response_status, row.error = ledger.FAILED, 500, "The receiver responded with 500."
            row.failed_webhook = row.webhook
        rows.append(row)
    storage.save_many(rows)
    return [row.delivery_id for row in reversed(rows)]


def partition(delivery_id: str) -> int:
    return ledger._partitions("w", "h").index(ledger._partition_of("w", "h", delivery_id))


def pages(api: Api, webhook_id: str, query: str) -> list[list[str]]:
    answers = follow_cursors(api, f"/v3/webhooks/{webhook_id}/deliveries?{query}")
    return [[one["id"] for one in answer.data] for answer in answers]


def test_listing_failed_deliveries_reads_only_those(api: Api, workspace: NewWorkspace, webhook_id: str) -> None:
    count = 400
    failed = random.Random(3).sample(range(count), FAILURES)
    newest_first = fill(workspace, webhook_id, count, failed)
    expected = [newest_first[count - 1 - number] for number in sorted(failed, reverse=True)]
    with metered() as meter:
        found = pages(api, webhook_id, "status=failed")
    assert found == [expected]
    # The request reads the endpoint and the eight partitions of its index.
    assert meter.requests == {"GetItem": 1, "Query": 8}
    assert meter.reads == 1 + 8 * 0.5


@pytest.mark.parametrize("query", ["", "?status=delivered"])
def test_a_page_of_frequent_deliveries_reads_each_partition_once(
    query: str, api: Api, workspace: NewWorkspace, webhook_id: str
) -> None:
    newest_first = fill(
        workspace, webhook_id, 300, accepts=lambda number, delivery_id: partition(delivery_id) == number % 8
    )
    with metered() as meter:
        answer = api.get(f"/v3/webhooks/{webhook_id}/deliveries{query}")
    assert [one["id"] for one in answer.data] == newest_first[:20]
    assert meter.requests == {"GetItem": 1, "Query": 8}
    assert meter.reads == 1 + 4


def test_a_page_of_a_rare_status_examines_at_most_a_thousand_deliveries(
    api: Api, workspace: NewWorkspace, webhook_id: str
) -> None:
    newest_first = fill(
        workspace,
        webhook_id,
        1_010,
        accepts=lambda number, delivery_id: partition(delivery_id) == number % 8,
        unknown=(0, 1_008),
    )
    with metered() as meter:
        answer = api.get(f"/v3/webhooks/{webhook_id}/deliveries?status=unknown")
    assert [one["id"] for one in answer.data] == [newest_first[1]]
    # The request reads the endpoint, and 8, 32 or 128 deliveries of less than 350 bytes per partition.
    assert meter.requests == {"GetItem": 1, "Query": 8 * 3}
    assert meter.reads <= 1 + 8 * (0.5 + 1.5 + 5.5)
    rest = api.get(f"/v3/webhooks/{webhook_id}/deliveries?status=unknown&cursor={answer.json['nextCursor']}")
    assert ([one["id"] for one in rest.data], "nextCursor" in rest.json) == ([newest_first[-1]], False)


@pytest.mark.parametrize("partitions", [1, 8])
def test_the_pages_together_have_every_delivery_once(
    api: Api, workspace: NewWorkspace, webhook_id: str, partitions: int
) -> None:
    newest_first = fill(
        workspace,
        webhook_id,
        130,
        range(0, 130, 2),
        lambda number, delivery_id: partition(delivery_id) == number % partitions,
    )
    all_pages = pages(api, webhook_id, "limit=50")
    assert [len(page) for page in all_pages] == [50, 50, 30]
    assert [one for page in all_pages for one in page] == newest_first
    for status, expected in (("failed", newest_first[1::2]), ("delivered", newest_first[::2])):
        all_pages = pages(api, webhook_id, f"limit=20&status={status}")
        assert [len(page) for page in all_pages] == [20, 20, 20, 5]
        assert [one for page in all_pages for one in page] == expected


def test_deliveries_are_spread_evenly() -> None:
    found = [partition(ids.new_id()) for _ in range(8_000)]
    counts = [found.count(one) for one in range(8)]
    assert sum(counts) == 8_000
    assert min(counts) > 800


def test_only_failed_deliveries_of_the_endpoint_are_listed(api: Api, workspace: NewWorkspace, webhook_id: str) -> None:
    other = api.post("/v3/webhooks", webhook_body()).data["id"]
    own, _ = fill(workspace, webhook_id, 4, (3,))[:1], fill(workspace, other, 4, (0, 1))
    assert pages(api, webhook_id, "status=failed") == [own]
