"""The cost of an operation among many conversations of an agent, before and after half of them are deleted.

Conversations are created a minute apart and deleted at random.
"""

import random
from collections.abc import Iterator, Sequence
from functools import partial
from math import ceil
from typing import Any, NamedTuple

from benchmarks import populate, transcripts
from benchmarks.costs import Costs, cost, require_success, warm_up
from benchmarks.populate import Tenant
from chalicelib import ids, storage
from chalicelib.conversations.listing import PAGE_SIZE
from chalicelib.webhooks import ledger
from tests.api import Answer

BY_CURSOR = "list by cursor"
# The measured page, as a fraction of all pages.
PAGES = {"page 1": 0.0, "middle page": 0.5, "last page": 1.0}
# The maximum cost of a page by number, at any depth.
ANY_PAGE = {"requests": 4.0, "read units": 12.0}

_CONVERSATIONS = f"/v3/agents/{populate.AGENT}/convos"
_LIST = f"/v2/agents/{populate.AGENT}/convos"
_STATE = f"/agents/{populate.AGENT}/interact/ann/state"
_MESSAGES = 10
_FAILED = 5
_TYPE = "lead_captured"
_SECOND = 1_000

Figures = dict[str, dict[str, Costs]]
"""Operation -> size -> costs."""


class Operation(NamedTuple):
    """A request to measure, and the ids that its list must contain."""

    name: str
    method: str
    path: str
    body: Any = None
    expected: Sequence[str] | None = None

    def send(self, tenant: Tenant) -> Answer:
        """Send the request. Raise AssertionError if the page contains other conversations than expected."""
        answer = require_success(tenant.api.call(self.method, self.path, self.body))
        if self.expected is not None and [conversation["ID"] for conversation in answer.data] != self.expected:
            raise AssertionError(f"{self.name} contains other conversations than expected")
        return answer


def sizes(count: int) -> Iterator[tuple[str, Tenant, list[int]]]:
    """Yield a size, a new tenant with `count` conversations, and their numbers; repeat after half are deleted."""
    tenant, numbers = populate.tenant(), range(1, count + 1)
    populate.fill(tenant, numbers)
    populate.tally(tenant, numbers)
    yield f"{count:,} conversations", tenant, [*numbers]
    deleted = random.Random(count).sample(numbers, count // 2)
    populate.remove(tenant, deleted)
    left = sorted({*numbers} - {*deleted})
    populate.tally(tenant, left)
    yield f"half of {count:,} deleted", tenant, left


def measured(tenant: Tenant, numbers: Sequence[int]) -> Iterator[tuple[str, Costs]]:
    """Yield each operation and its costs. Afterwards, the conversations are unchanged."""
    warm_up(tenant)
    for operation in _lists(numbers):
        yield operation.name, cost(partial(operation.send, tenant))
    for end in (-2, _MESSAGES):
        require_success(tenant.api.post(_STATE, {"turns": transcripts.turns(transcripts.transcript(_MESSAGES)[:end])}))
    for operation in _writes():
        yield operation.name, cost(partial(operation.send, tenant))
    created = require_success(tenant.api.get(_LIST)).data[0]["ID"]
    require_success(tenant.api.delete(f"{_CONVERSATIONS}/{created}"))


def _lists(numbers: Sequence[int]) -> Iterator[Operation]:
    """Yield the lists of a tenant that contains exactly the conversations with these numbers."""
    newest_first = [populate.conversation_id(number) for number in reversed(numbers)]
    last = ceil(len(numbers) / PAGE_SIZE) - 1
    for name, depth in PAGES.items():
        page = round(depth * last)
        expected = newest_first[page * PAGE_SIZE :][:PAGE_SIZE]
        yield Operation(name, "GET", f"{_LIST}?page={page + 1}", expected=expected)
    middle = len(numbers) // 2
    expected = newest_first[middle + 1 :][:PAGE_SIZE]
    yield Operation(BY_CURSOR, "GET", f"{_LIST}?cursor={newest_first[middle]}", expected=expected)


def _writes() -> list[Operation]:
    """Return the operations on a conversation of ten messages, two of which are replaced, and a creation."""
    messages = transcripts.transcript(_MESSAGES)
    changed = [*messages[:-2], *transcripts.other_messages(messages, 2)]
    return [
        Operation("state read", "POST", _STATE, {}),
        Operation("state replace", "POST", _STATE, {"turns": transcripts.turns(changed)}),
        Operation("delete", "DELETE", f"{_CONVERSATIONS}/ann"),
        Operation("create", "POST", _CONVERSATIONS, {"conversation": {"title": "New"}}),
    ]


def delivery_costs(count: int) -> Iterator[tuple[str, Costs]]:
    """Yield each list of deliveries and its costs, for a new endpoint with `count` deliveries and five failures.

    Raise AssertionError unless the lists contain the expected deliveries.
    """
    tenant = populate.tenant()
    endpoint = {"url": "https://example.com/hooks", "events": [_TYPE]}
    webhook_id = require_success(tenant.api.post("/v3/webhooks", {"webhook": endpoint})).data["id"]
    storage.save_many([_delivery(tenant, webhook_id, number, count) for number in range(count)])
    warm_up(tenant)
    for name, query, expected in (("deliveries", "", PAGE_SIZE), ("failed deliveries", "?status=failed", _FAILED)):
        path = f"/v3/webhooks/{webhook_id}/deliveries{query}"
        if len(tenant.api.get(path).data) != expected:
            raise AssertionError(f"the list of {name} is not complete")
        yield f"list {name}", cost(partial(tenant.api.get, path))


def _delivery(tenant: Tenant, webhook_id: str, number: int, count: int) -> ledger.DeliveryRow:
    event_id = ids.id_at(populate.FIRST_MILLISECONDS + number * _SECOND, number * 0x9E3779B97F4A7C15 % 2**80)
    delivery = ledger.new(tenant.workspace_id, webhook_id, event_id, _TYPE, event_id)
    delivery.version_tag = delivery.claim = event_id
    delivery.outcome, delivery.response_status, delivery.duration_ms = ledger.DELIVERED, 200, 34
    if number % (count // _FAILED) == 0:
        delivery.outcome, delivery.response_status, delivery.error = (
            ledger.FAILED,
            500,
            "The receiver responded with 500.",
        )
        delivery.failed_webhook = delivery.webhook
    return delivery
