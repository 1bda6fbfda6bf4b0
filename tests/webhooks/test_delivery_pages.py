"""An endpoint's delivery list, by status and cursor.

`test_delivery_list.py` tests which items a page reads.
"""

import pytest

from chalicelib.webhooks import ledger
from tests.api import Api
from tests.assertions import refused
from tests.engine_requests import counted
from tests.selection import zip_cycled
from tests.webhooks.recorded_deliveries import Ends, create_test, list_deliveries, read_pages
from tests.webhooks.recorded_deliveries import endpoint as endpoint
from tests.webhooks.recorded_deliveries import ends as ends
from tests.webhooks.recorded_deliveries import time as time


def test_an_endpoint_without_deliveries_has_an_empty_list(api: Api, endpoint: str) -> None:
    for query in ("", "?status=failed", "?status=pending&limit=1"):
        answer = api.get(f"{endpoint}/deliveries{query}")
        assert answer.json == {"success": True, "message": "Deliveries retrieved successfully", "data": []}


@pytest.mark.parametrize("limit", [3, 7])
def test_the_pages_have_every_delivery_once_newest_first(limit: int, api: Api, endpoint: str) -> None:
    made = [create_test(api, endpoint) for _ in range(7)]
    pages = read_pages(api, endpoint, f"limit={limit}")
    assert [one for page in pages for one in page] == made[::-1]
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert pages[-1]


def test_a_page_has_twenty_deliveries_by_default(api: Api, endpoint: str) -> None:
    for _ in range(21):
        create_test(api, endpoint)
    answer = api.get(f"{endpoint}/deliveries")
    assert len(answer.data) == 20
    assert len(list_deliveries(api, endpoint, f"?cursor={answer.json['nextCursor']}")) == 1


def test_a_cursor_is_not_affected_by_new_deliveries(api: Api, endpoint: str, ends: Ends) -> None:
    made = [create_test(api, endpoint) for _ in range(4)]
    answer = api.get(f"{endpoint}/deliveries?limit=2")
    assert answer.data == made[:1:-1]
    create_test(api, endpoint)
    ends(made[1], "delivered")
    rest = list_deliveries(api, endpoint, f"?limit=2&cursor={answer.json['nextCursor']}")
    assert [(one["id"], one["status"]) for one in rest] == [(made[1]["id"], "delivered"), (made[0]["id"], "pending")]


MIXED = ["failed", "delivered", "pending", "failed", "expired", "delivered", "failed", "failed", "delivered"]


@pytest.fixture
def mixed(api: Api, endpoint: str, ends: Ends) -> list[tuple[str, str]]:
    """Create a delivery in every status except `unknown`; return (id, status) pairs, newest first."""
    made = []
    for status in MIXED:
        delivery = create_test(api, endpoint)
        if status != "pending":
            ends(delivery, status)
        made.append((delivery["id"], status))
    return made[::-1]


@pytest.mark.parametrize(("status", "limit"), zip_cycled(ledger.STATUSES, [1, 2, 4, 100]))
def test_a_status_lists_its_deliveries_once(
    status: str, limit: int, mixed: list[tuple[str, str]], api: Api, endpoint: str
) -> None:
    pages = read_pages(api, endpoint, f"limit={limit}&status={status}")
    shown = [(one["id"], one["status"]) for page in pages for one in page]
    assert shown == [one for one in mixed if one[1] == status]
    assert all(len(page) <= limit for page in pages)


@pytest.mark.parametrize("most", [2, 9])
def test_a_page_of_one_status_may_be_short_and_its_cursor_continues(
    most: int, mixed: list[tuple[str, str]], api: Api, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_MAX_SCANNED", most)
    for status in ("failed", "pending", "unknown"):
        pages = read_pages(api, endpoint, f"limit=2&status={status}")
        shown = [(one["id"], one["status"]) for page in pages for one in page]
        assert shown == [one for one in mixed if one[1] == status]
        assert len(pages) <= len(mixed) + 1


def test_without_a_status_all_deliveries_are_listed(mixed: list[tuple[str, str]], api: Api, endpoint: str) -> None:
    assert [(one["id"], one["status"]) for one in list_deliveries(api, endpoint, "?limit=100")] == mixed


def test_an_invalid_query_is_refused_before_the_endpoint_is_read(api: Api) -> None:
    api.get("/v3/webhooks")
    with counted() as requests:
        refused(api.get("/v3/webhooks/unknown/deliveries?status=sent"), 400, "status")
    assert requests == {}


def test_an_endpoint_lists_only_its_own_deliveries(api: Api, endpoint: str) -> None:
    given = {"url": "https://example.com/other", "events": ["lead_captured"]}
    other = f"/v3/webhooks/{api.post('/v3/webhooks', {'webhook': given}).data['id']}"
    own, theirs = create_test(api, endpoint), create_test(api, other)
    assert (list_deliveries(api, endpoint), list_deliveries(api, other)) == ([own], [theirs])
