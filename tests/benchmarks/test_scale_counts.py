"""Operations cost the same with few and many conversations, even after deletions."""

from collections.abc import Iterator

import pytest

from benchmarks import populate
from chalicelib import storage
from chalicelib.conversations import listing, store, tallies
from chalicelib.conversations.state import State
from tests.benchmarks import scale_costs
from tests.capacity import size
from tests.engines import new_engine

LISTS = {scale_costs.BY_CURSOR, *scale_costs.PAGES}
SMALL, LARGE = 10, 400


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[None]:
    """Provide one engine for all tests. Each test uses its own tenants."""
    with new_engine():
        yield


@pytest.fixture(scope="module")
def figures(engine: None) -> scale_costs.Figures:
    """Return the cost of each operation at both sizes, with and without deletions."""
    figures: scale_costs.Figures = {}
    for count in (SMALL, LARGE):
        for name, tenant, numbers in scale_costs.sizes(count):
            for operation, costs in scale_costs.measured(tenant, numbers):
                figures.setdefault(operation, {})[name] = costs
    return figures


def test_an_operation_costs_the_same_at_any_size(figures: scale_costs.Figures) -> None:
    assert len(figures) == 8
    for name in figures.keys() - LISTS:
        assert all(costs == figures[name][f"{SMALL} conversations"] for costs in figures[name].values()), name


def test_a_list_costs_the_same_after_deletions(figures: scale_costs.Figures) -> None:
    for name in LISTS:
        assert figures[name][f"{LARGE} conversations"] == figures[name][f"half of {LARGE} deleted"]


def test_a_page_by_number_stays_within_its_limits(figures: scale_costs.Figures) -> None:
    for name in scale_costs.PAGES:
        for costs in figures[name].values():
            assert all(costs[metric] <= limit for metric, limit in scale_costs.ANY_PAGE.items())


def test_a_list_of_deliveries_costs_the_same_at_any_size() -> None:
    few, many = (dict(scale_costs.delivery_costs(count)) for count in (200, 1_000))
    assert few == many
    assert len(few) == 2


def test_filling_stores_the_same_items_as_the_service() -> None:
    filled, created = populate.tenant(), populate.tenant()
    populate.fill(filled, [1])
    state = State(populate.metadata(1), b"[]")
    with storage.unit_of_work():
        store.create(created.workspace_id, populate.AGENT, populate.conversation_id(1), state)
    assert sizes_of_first(filled) == sizes_of_first(created)


def sizes_of_first(tenant: populate.Tenant) -> dict[str, int]:
    """Return the attribute sizes of the first conversation's item."""
    key = store.key(tenant.workspace_id, populate.AGENT, populate.conversation_id(1))
    stored = {"conversation": {"S": key.partition}, "item": {"S": key.sort}}
    item = storage.sdk_client("dynamodb").get_item(TableName=store.ConversationRow.Meta.table_name, Key=stored)["Item"]
    return {name: size({name: value}) for name, value in item.items()}


def test_tallies_of_numbers_equal_those_counted_from_the_index() -> None:
    filled, numbers = populate.tenant(), range(1, 41)
    populate.fill(filled, numbers)
    populate.tally(filled, numbers)
    written = tallies_of(filled)
    for quarter in listing.list_quarters(filled.workspace_id, populate.AGENT):
        listing.recount(filled.workspace_id, populate.AGENT, quarter)
    assert tallies_of(filled) == written
    assert sum(map(sum, written.values())) == 2 * len(numbers)


def tallies_of(tenant: populate.Tenant) -> dict[str, list[int]]:
    """Return the stored tallies by period."""
    return {row.period: row.tallies() for row in tallies.list_by_creation(tenant.workspace_id, populate.AGENT, 100)}
