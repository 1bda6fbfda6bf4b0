"""The counts of the listing benchmark are those of its results: a page that costs more fails here first.

Of the 30,000 conversations only those of the pages are stored: a page is a range of numbers, and what is not in the
range is not read.
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
    """One for all; each test has tenants of its own."""
    with shared_engine():
        yield


@pytest.fixture(scope="module")
def tenant(engine: None) -> populate.Tenant:
    """A tenant with a list of 30,000 conversations, of which those are there that the pages show."""
    made = populate.tenant()
    for page in listing.PAGES:
        populate.store_only(made, Numbers(listing.ALL).page(page)[::-1])
    last = populate.sequence_of(made)
    last.high = listing.ALL
    put_now(last)
    return made


@pytest.fixture(scope="module")
def published() -> dict[tuple[str, str], float | None]:
    """The published numbers of ours by case and metric."""
    rows = results.read(results.LATEST)["rows"]
    return {(one["case"], one["metric"]): one["ours"] for one in rows if one["question"] == "listing"}


@pytest.mark.parametrize("page", listing.PAGES)
def test_a_page_costs_what_the_results_say(
    page: int, tenant: populate.Tenant, published: dict[tuple[str, str], float | None]
) -> None:
    case = listing.case(page, listing.ALL)
    counted = listing.ours_costs(tenant, page)
    assert counted == {metric: published[case, metric] for metric in counted}


def test_what_is_filled_is_what_the_service_stores() -> None:
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
    """The attributes of the first conversation's item as stored, and how large each is."""
    key = store.key(tenant.workspace_id, populate.AGENT, populate.conversation_id(1))
    stored = {"conversation": {"S": key.partition}, "item": {"S": key.sort}}
    item = storage.sdk_client("dynamodb").get_item(TableName=store.ConversationRow.Meta.table_name, Key=stored)["Item"]
    return {name: size({name: value}) for name, value in item.items()}
