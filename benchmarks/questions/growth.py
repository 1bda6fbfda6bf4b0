"""Growth: the exact cost of each operation as the tenant grows, and as one conversation grows.

A case ends with its position: "agent read, 10,000 conversations" or "state read, 64 KB" (see `position`).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from boto3.dynamodb.types import TypeSerializer

from benchmarks import populate, transcripts
from benchmarks.costs import UNITS, Costs, cost, succeeded, warm_up
from benchmarks.populate import Tenant
from benchmarks.results import Goal, Row, row
from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.conversations.listing import PAGE_SIZE
from tests.api import Answer
from tests.capacity import size

if TYPE_CHECKING:  # the tests do not install the suite's terminal output
    from benchmarks.run import Run

TITLE = "Growth: cost of an operation as the tenant or a conversation grows"
CONVERSATIONS, KB = "conversations", "KB"
COUNTS, QUICK_COUNTS = (10, 100, 1_000, 10_000, 100_000), (10, 100, 1_000)
SIZES, QUICK_SIZES = tuple(2**power for power in range(12)), (1, 16, 256, 2_048)
NATIVE = "native maps"
LIST = "list page 1"

_AGENT = f"/v3/agents/{populate.AGENT}"
_LIST = f"/v2/agents/{populate.AGENT}/convos"
_STATE = f"/agents/{populate.AGENT}/interact"
_AT_ONCE = 10_000
_LARGEST_ITEM = 400 * 1024
_UNITS = {**UNITS, "bytes": "bytes"}


class Operation(NamedTuple):
    """A request to measure. Its answer has a constant size from `since` conversations on, once a page is full."""

    name: str
    send: Callable[[], Answer]
    since: int = COUNTS[0]


def measure(run: "Run") -> list[Row]:
    """Return the rows: each operation at each number of conversations, then one conversation at each size."""
    counts, sizes = (QUICK_COUNTS, QUICK_SIZES) if run.quick else (COUNTS, SIZES)
    with populate.service(run.engine) as tenant:
        of_tenant, stored = {}, 0
        for count in run.each(_with_progress(counts), "tenant of", lambda count: f"{count:,} conversations"):
            populate.fill(tenant, range(stored + 1, count + 1))
            stored = count
            if count in counts:
                populate.tally(tenant, range(1, count + 1))
                of_tenant[count] = dict(tenant_costs(tenant, count))
        of_conversation = {
            kb: dict(conversation_costs(kb)) for kb in run.each(sizes, "conversation of", "{} KB".format)
        }
    lists = {kb: {LIST: costs[LIST]} for kb, costs in of_conversation.items()}
    return [
        *_rows(of_tenant, CONVERSATIONS),
        *_flat(of_tenant, CONVERSATIONS),
        *_rows(of_conversation, KB, {kb: native_costs(kb) for kb in sizes}),
        *_flat(lists, KB, f"{LIST}, "),
    ]


def position(case: str) -> tuple[str, int, str] | None:
    """Split a case into ("agent read", 10,000, "conversations"). None for a case without a position."""
    found = re.fullmatch(rf"(.+), ([\d,]+) ({CONVERSATIONS}|{KB})", case)
    return (found[1], int(found[2].replace(",", "")), found[3]) if found else None


def tenant_costs(tenant: Tenant, count: int) -> Iterator[tuple[str, Costs]]:
    """Yield each operation and its costs for a tenant with `count` conversations. Adds one conversation."""
    for operation in _operations(tenant, count):
        warm_up(tenant)
        costs = cost(operation.send)
        if count >= operation.since:
            yield operation.name, costs


def conversation_costs(kb: int) -> Iterator[tuple[str, Costs]]:
    """Yield the operations and costs of a conversation whose turns are `kb` KB of JSON, in a new tenant.

    An append is a chat's usual write: the complete state with a new question and answer at the end.
    """
    tenant = populate.tenant()
    messages = transcripts.transcript_of(kb * 1024)
    path = f"{_STATE}/ann/state"
    for sent in (messages[:-4], messages[:-2]):
        succeeded(tenant.api.post(path, {"turns": transcripts.turns(sent)}))
    yield "state append", cost(lambda: tenant.api.post(path, {"turns": transcripts.turns(messages)}))
    yield "state", {"bytes": _stored(tenant, "ann")}
    yield "state read", cost(lambda: tenant.api.post(path, {}))
    yield LIST, cost(lambda: tenant.api.get(_LIST))
    others = {"turns": transcripts.turns(_others(messages, kb * 1024))}
    yield "state replace", cost(lambda: tenant.api.post(path, others))


def native_costs(kb: int) -> dict[tuple[str, str], float | None]:
    """Return the costs of one item with the turns as maps, by DynamoDB's rules. None if they exceed an item."""
    turns = transcripts.turns(transcripts.transcript_of(kb * 1024))
    answered = [{**one, "messages": one["messages"][0]} for one in turns]
    item = {"agent": "-" * 34, **populate.metadata(1), "turns": answered}
    stored = size({name: TypeSerializer().serialize(value) for name, value in item.items()})
    agent = 1
    costs = {
        ("state", "bytes"): stored,
        ("state read", "read units"): agent + ceil(stored / 4096),
        ("state append", "write units"): ceil(stored / 1024),
        ("state replace", "write units"): ceil(stored / 1024),
    }
    return {cost: value if stored <= _LARGEST_ITEM else None for cost, value in costs.items()}


def _operations(tenant: Tenant, count: int) -> list[Operation]:
    """Return the operations. Each count uses its own conversation among the tenant's oldest ones."""
    api, step = tenant.api, COUNTS.index(count)
    state = f"{_STATE}/{populate.conversation_id(1 + step)}/state"
    old = populate.conversation_id(1 + len(COUNTS) + step)
    turns = {"turns": transcripts.turns(transcripts.transcript(2))}
    lead = {"lead": {"agentId": populate.AGENT, "name": "Ann", "email": "ann@example.com"}}
    full = PAGE_SIZE * 5
    return [
        Operation("agent read", lambda: api.get(_AGENT)),
        Operation("agent change", lambda: api.patch(_AGENT, {"agent": {"title": f"Support {step}"}})),
        Operation("tool create", lambda: api.post(f"{_AGENT}/tools", {"tool": {"name": "weather"}})),
        Operation("tool list", lambda: api.get(f"{_AGENT}/tools")),
        Operation(LIST, lambda: api.get(_LIST), full),
        Operation("last list page", lambda: api.get(f"{_LIST}?page={ceil(count / PAGE_SIZE)}"), full),
        Operation("state replace", lambda: api.post(state, turns)),
        Operation("state read", lambda: api.post(state, {})),
        Operation("first state", lambda: api.post(f"{_STATE}/new-{step}/state", turns)),
        Operation("conversation create", lambda: api.post(f"{_AGENT}/convos", {"conversation": {"title": "New"}})),
        Operation("conversation delete", lambda: api.delete(f"{_AGENT}/convos/{old}")),
        Operation("analytics write", lambda: api.post(f"/v2/agents/support/analytics/{old}", {"record": "convo"})),
        Operation("lead create", lambda: api.post("/v3/leads", lead)),
    ]


def _others(messages: list[transcripts.Message], most: int) -> list[transcripts.Message]:
    """Return other messages of at most, and nearly, `most` bytes of JSON."""
    others = transcripts.other(messages, len(messages))
    while transcripts.document_size(others) > most:
        del others[-1 - len(others) // 200 :]
    return others


def _stored(tenant: Tenant, conversation_id: str) -> float:
    """Return the bytes of a conversation's items, without received messages, which expire after a day."""
    partition = store.key(tenant.workspace_id, populate.AGENT, conversation_id).partition
    pages = (
        storage.sdk_client("dynamodb")
        .get_paginator("query")
        .paginate(
            TableName=store.ConversationRow.Meta.table_name,
            KeyConditionExpression="conversation = :it",
            ExpressionAttributeValues={":it": {"S": partition}},
        )
    )
    return sum(size(item) for page in pages for item in page["Items"] if "expires_at" not in item)


def _with_progress(counts: tuple[int, ...]) -> list[int]:
    """Return the counts, with steps between the larger ones to show progress."""
    return sorted({*counts, *range(_AT_ONCE, counts[-1], _AT_ONCE)})


def _rows(
    found: dict[int, dict[str, Costs]], unit: str, native: Mapping[int, Mapping[tuple[str, str], float | None]] = {}
) -> Iterator[Row]:
    """Yield a row for each cost of each operation at each position, except metrics that are always 0."""
    for name, metric in _measured(found):
        for place in (one for one, costs in found.items() if name in costs):
            computed = native.get(place, {})
            peers = {NATIVE: computed[name, metric]} if (name, metric) in computed else {}
            ours = found[place][name][metric]
            yield row("growth", f"{name}, {place:,} {unit}", metric, _UNITS[metric], ours, peers=peers)


def _flat(found: dict[int, dict[str, Costs]], unit: str, of: str = "") -> Iterator[Row]:
    """Yield for each metric the largest ratio, over all operations, between the last and the first position."""
    growth: defaultdict[str, list[float]] = defaultdict(list)
    for name, metric in _measured(found):
        values = [costs[name][metric] for costs in found.values() if name in costs]
        growth[metric].append(values[-1] / values[0])
    case = f"{of}growth from {min(found):,} to {max(found):,} {unit}"
    for metric, times in growth.items():
        yield row("growth", case, metric, "x", max(times), goals=[Goal("<=", 1)])


def _measured(found: dict[int, dict[str, Costs]]) -> list[tuple[str, str]]:
    costs = [
        (name, metric) for one in found.values() for name, costs in one.items() for metric in costs if costs[metric]
    ]
    return list(dict.fromkeys(costs))
