"""The counts of the listing benchmark equal its results: a more expensive page fails here first.

The tests store only the newest conversations, up to the last tested page: older ones are never read.
"""

from collections.abc import Iterator

import pytest

from benchmarks import populate, results
from benchmarks.questions import listing
from chalicelib import storage
from chalicelib.conversations import listing as conversations
from chalicelib.conversations import store, tallies
from chalicelib.conversations.listing import PAGE_SIZE
from chalicelib.conversations.state import State
from tests.capacity import size
from tests.engine import shared_engine

PAGES = listing.PAGES[:2]


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[None]:
    """One engine for all tests; each test has its own tenants."""
    with shared_engine():
        yield


@pytest.fixture(scope="module")
def tenant(engine: None) -> populate.Tenant:
    """Create a tenant with the newest of 30,000 conversations."""
    made = populate.tenant()
    newest = range(listing.ALL - PAGES[-1] * PAGE_SIZE, listing.ALL + 1)
    populate.fill(made, newest)
    populate.tally(made, newest)
    return made


@pytest.fixture(scope="module")
def published() -> dict[tuple[str, str], float | None]:
    """Return the published figures of CAMS by case and metric."""
    rows = results.read(results.LATEST)["rows"]
    return {(one["case"], one["metric"]): one["ours"] for one in rows if one["question"] == "listing"}


@pytest.mark.parametrize("page", PAGES)
def test_the_costs_of_a_page_equal_the_results(
    page: int, tenant: populate.Tenant, published: dict[tuple[str, str], float | None]
) -> None:
    case = listing.case(page, listing.ALL)
    counted = listing.ours_costs(tenant, page)
    assert counted == {metric: published[case, metric] for metric in counted}


def test_filling_stores_the_same_items_as_the_service() -> None:
    filled, created = populate.tenant(), populate.tenant()
    populate.fill(filled, [1])
    state = State(populate.metadata(1), b"[]")
    with storage.unit_of_work():
        store.create(created.workspace_id, populate.AGENT, populate.conversation_id(1), state)
    assert sizes(filled) == sizes(created)


def test_a_filled_list_has_every_conversation_once() -> None:
    tenant = populate.tenant()
    for numbers in (range(1, 4), range(4, 46)):
        populate.fill(tenant, numbers)
    pages = [tenant.api.get(f"/v2/agents/{populate.AGENT}/convos?page={page}").data for page in range(1, 5)]
    assert [one["ID"] for page in pages for one in page] == [populate.conversation_id(n) for n in range(45, 0, -1)]


def sizes(tenant: populate.Tenant) -> dict[str, int]:
    """Return the attributes of the first conversation's stored item with their sizes."""
    key = store.key(tenant.workspace_id, populate.AGENT, populate.conversation_id(1))
    stored = {"conversation": {"S": key.partition}, "item": {"S": key.sort}}
    item = storage.sdk_client("dynamodb").get_item(TableName=store.ConversationRow.Meta.table_name, Key=stored)["Item"]
    return {name: size({name: value}) for name, value in item.items()}


def test_tallies_of_numbers_equal_those_counted_from_the_index() -> None:
    filled, numbers = populate.tenant(), range(1, 41)
    populate.fill(filled, numbers)
    populate.tally(filled, numbers)
    written = tallies_of(filled)
    for quarter in conversations.list_quarters(filled.workspace_id, populate.AGENT):
        conversations.recount(filled.workspace_id, populate.AGENT, quarter)
    assert tallies_of(filled) == written
    assert sum(map(sum, written.values())) == 2 * len(numbers)


def tallies_of(tenant: populate.Tenant) -> dict[str, list[int]]:
    """Return the stored tallies by period."""
    rows = tallies.list_by_creation(tenant.workspace_id, populate.AGENT, 100)
    return {row.period: row.tallies() for row in rows}
