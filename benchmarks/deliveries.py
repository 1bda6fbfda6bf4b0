"""Create a webhook endpoint with very many deliveries, a few of them failed, writing many rows in one request."""

from collections.abc import Iterator

from benchmarks import populate
from benchmarks.costs import Costs, cost, succeeded, warm_up
from chalicelib import ids, storage
from chalicelib.webhooks import ledger

FAILED = 5
_TYPE = "lead_captured"
_SECOND = 1_000


def costs(count: int) -> Iterator[tuple[str, Costs]]:
    """Yield each list and its costs, for a new endpoint with `count` deliveries of which `FAILED` have failed.

    Raises AssertionError unless the lists have the expected deliveries.
    """
    tenant = populate.tenant()
    path = _fill(tenant, count)
    warm_up(tenant)
    for name, query, expected in (("deliveries", "", 20), ("failed deliveries", "?status=failed", FAILED)):
        if len(tenant.api.get(path + query).data) != expected:
            raise AssertionError(f"the list of {name} is not complete")
        yield f"list {name}", cost(lambda query=query: tenant.api.get(path + query))  # type: ignore[misc]


def _fill(tenant: populate.Tenant, count: int) -> str:
    """Create the endpoint and its deliveries; return the path of its list."""
    given = {"url": "https://example.com/hooks", "events": [_TYPE]}
    webhook_id = succeeded(tenant.api.post("/v3/webhooks", {"webhook": given})).data["id"]
    storage.save_many([_row(tenant, webhook_id, number, count) for number in range(count)])
    return f"/v3/webhooks/{webhook_id}/deliveries"


def _row(tenant: populate.Tenant, webhook_id: str, number: int, count: int) -> ledger.DeliveryRow:
    event_id = ids.id_at(populate.FIRST_MILLISECONDS + number * _SECOND, number * 0x9E3779B97F4A7C15 % 2**80)
    row = ledger.new(tenant.workspace_id, webhook_id, event_id, _TYPE, event_id)
    row.version_tag = row.claim = event_id
    row.outcome, row.response_status, row.duration_ms = ledger.DELIVERED, 200, 34
    if number % (count // FAILED) == 0:
        row.outcome, row.response_status, row.error = ledger.FAILED, 500, "The receiver answered 500."
        row.failed_webhook = row.webhook
    return row
