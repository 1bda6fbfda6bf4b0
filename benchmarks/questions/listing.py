"""Listing: the cost of a page of conversations at any depth."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import boto3

from benchmarks import populate
from benchmarks.peers import keys_only_index, offset_by_skip
from benchmarks.results import Goal, Row, row
from chalicelib.conversations.listing import PAGE_SIZE
from infra.local import children
from infra.local.children import Engine
from tests.capacity import metered

if TYPE_CHECKING:  # the tests do not install the suite's terminal output
    from benchmarks.run import Run

TITLE = "Listing: cost of page N of the conversations"
OURS = "ours"
ALL, PAGES = 30_000, (1, 10, 100, 1_000)
QUICK_ALL, QUICK_PAGES = 2_500, (1, 10, 100)
# The first pages need only the index, any other one the tallies.
FIRST_PAGE = {"requests": 2, "read units": 2}
ANY_PAGE = {"requests": 4, "read units": 12}
_STEP = 5_000

Page = list[dict[str, Any]]


class Design(NamedTuple):
    """A list design: its client, and functions to store conversations and to read a page."""

    client: Any
    fill: Callable[[range], None]
    page: Callable[[int], Page]


def measure(run: "Run") -> list[Row]:
    """Return the rows: requests and read units of each page, for CAMS and the two usual designs."""
    count, pages = (QUICK_ALL, QUICK_PAGES) if run.quick else (ALL, PAGES)
    with populate.service(run.engine) as tenant:
        designs = {OURS: _ours(tenant), **_peers(run.engine, tenant.agent)}
        parts = [range(start + 1, min(start + _STEP, count) + 1) for start in range(0, count, _STEP)]
        with ThreadPoolExecutor(len(designs)) as pool:
            for numbers in run.each(parts, "storing conversations"):
                for done in [pool.submit(design.fill, numbers) for design in designs.values()]:
                    done.result()
        populate.tally(tenant, range(1, count + 1))
        rows: list[Row] = []
        for page in run.each(pages, "reading page", str):
            tenant.api.get("/v2/clients")  # cache the caller
            rows += _rows(case(page, count), _costs(designs, page), FIRST_PAGE if page == 1 else ANY_PAGE)
        return rows


def case(page: int, count: int) -> str:
    """Return a page's name in the results."""
    return f"page {page:,} of {count:,} conversations"


def ours_costs(tenant: populate.Tenant, page: int) -> dict[str, float]:
    """Return the costs of a CAMS page. Raises AssertionError unless the page is full."""
    costs, shown = _cost(_ours(tenant), page)
    _require_same(OURS, page, shown, shown)
    return costs


def _rows(name: str, costs: dict[str, dict[str, float]], limits: dict[str, int]) -> list[Row]:
    ours = costs.pop(OURS)
    return [
        row("listing", name, metric, "", ours[metric], peers=_of(costs, metric), goals=[Goal("<=", limit)])
        for metric, limit in limits.items()
    ]


def _of(costs: dict[str, dict[str, float]], metric: str) -> dict[str, float]:
    return {name: cost[metric] for name, cost in costs.items()}


def _costs(designs: dict[str, Design], page: int) -> dict[str, dict[str, float]]:
    """Return the page's costs for each design. Raises AssertionError unless all show the same conversations."""
    found = {name: _cost(design, page) for name, design in designs.items()}
    expected = found[OURS][1]
    for name, (_, shown) in found.items():
        _require_same(name, page, shown, expected)
    return {name: costs for name, (costs, _) in found.items()}


def _require_same(name: str, page: int, shown: Page, expected: Page) -> None:
    if shown != expected or len(shown) != PAGE_SIZE:
        raise AssertionError(f"{name}: page {page} is not full, or differs from the others")


def _cost(design: Design, page: int) -> tuple[dict[str, float], Page]:
    with metered(design.client) as meter:
        shown = design.page(page)
    return {"requests": meter.total, "read units": meter.reads}, shown


def _ours(tenant: populate.Tenant) -> Design:
    def page(number: int) -> Page:
        shown: Page = tenant.api.get(f"/v2/agents/{populate.AGENT}/convos?page={number}").data
        return shown

    return Design(None, lambda numbers: populate.fill(tenant, numbers), page)


def _peers(engine: Engine, agent: str) -> dict[str, Design]:
    dynamodb = boto3.resource(
        "dynamodb",
        endpoint_url=engine.url,
        region_name=children.REGION,
        aws_access_key_id=engine.access_key,
        aws_secret_access_key=engine.secret_key,
    )
    skip, keys = offset_by_skip.create_table(dynamodb), keys_only_index.create_table(dynamodb)
    client = dynamodb.meta.client
    return {
        "offset by skip": Design(
            client,
            lambda numbers: offset_by_skip.save(skip, agent, map(populate.metadata, numbers)),
            lambda page: _as_shown(offset_by_skip.page(skip, agent, page)),
        ),
        "keys-only index": Design(
            client,
            lambda numbers: keys_only_index.save(keys, agent, map(populate.metadata, numbers)),
            lambda page: _as_shown(keys_only_index.page(dynamodb, keys, agent, page)),
        ),
    }


def _as_shown(items: Page) -> Page:
    """Return items in the API's form: without their key, and with JSON numbers."""
    return [
        {name: int(value) if isinstance(value, Decimal) else value for name, value in item.items() if name != "agent"}
        for item in items
    ]
