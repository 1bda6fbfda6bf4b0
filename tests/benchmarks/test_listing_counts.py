"""The counts of the listing benchmark equal its results: a more expensive page fails here first.

The tests store only the conversations of the tested pages, of 30,000. A page is a range of numbers, so other
conversations are never read.
"""

from collections.abc import Iterator

import pytest

from benchmarks import populate, results
from benchmarks.questions import listing
from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.conversations.listing import Numbers
from tests.capacity import size
from tests.engine import shared_engine
from tests.writes import put_now


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[None]:
    """One engine for all tests; each test has its own tenants."""
    with shared_engine():
        yield


@pytest.fixture(scope="module")
def tenant(engine: None) -> populate.Tenant:
    """Create a tenant with a list of 30,000 conversations, and store those of the tested pages."""
    made = populate.tenant()
    for page in listing.PAGES:
        populate.store_only(made, Numbers(listing.ALL).page(page)[::-1])
    last = populate.sequence_of(made)
    last.high = listing.ALL
    put_now(last)
    return made


@pytest.fixture(scope="module")
def published() -> dict[tuple[str, str], float | None]:
    """Return the published figures of CAMS by case and metric."""
    rows = results.read(results.LATEST)["rows"]
    return {(one["case"], one["metric"]): one["ours"] for one in rows if one["question"] == "listing"}


@pytest.mark.parametrize("page", listing.PAGES)
def test_the_costs_of_a_page_equal_the_results(
    page: int, tenant: populate.Tenant, published: dict[tuple[str, str], float | None]
) -> None:
    case = listing.case(page, listing.ALL)
    counted = listing.ours_costs(tenant, page)
    assert counted == {metric: published[case, metric] for metric in counted}


def test_filling_stores_the_same_items_as_the_service() -> None:
    filled, created = populate.tenant(), populate.tenant()
    populate.store_only(filled, [1])
    populate.fill(created, 1)
    assert sizes(filled) == sizes(created)


def test_a_filled_list_has_every_conversation_once() -> None:
    tenant = populate.tenant()
    for count in (3, 45):
        populate.fill(tenant, count)
    pages = [tenant.api.get(f"/v2/agents/{populate.AGENT}/convos?page={page}").data for page in range(1, 5)]
    assert [one["ID"] for page in pages for one in page] == [populate.conversation_id(n) for n in range(45, 0, -1)]


def sizes(tenant: populate.Tenant) -> dict[str, int]:
    """Return the attributes of the first conversation's stored item with their sizes."""
    key = store.key(tenant.workspace_id, populate.AGENT, populate.conversation_id(1))
    stored = {"conversation": {"S": key.partition}, "item": {"S": key.sort}}
    item = storage.sdk_client("dynamodb").get_item(TableName=store.ConversationRow.Meta.table_name, Key=stored)["Item"]
    return {name: size({name: value}) for name, value in item.items()}
