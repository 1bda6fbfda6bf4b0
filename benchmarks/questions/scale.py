"""Scale: the cost of an operation among many conversations of one agent, also after half of them were deleted.

Conversations are created a minute apart and deleted at random. A row has the figures of all sizes, and that of CAMS is
the highest one. The CPU time is that of this process, with the engine's recorded answers. A list is compared from the
second size on: among ten conversations no page is full.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from chalice.local import LambdaContext

from app import app
from benchmarks import deliveries, populate, transcripts
from benchmarks.costs import UNITS, Costs, cost, succeeded, warm_up
from benchmarks.measure import cpu, replay
from benchmarks.populate import Tenant
from benchmarks.questions.listing import ANY_PAGE
from benchmarks.results import Goal, Row, row
from chalicelib.conversations.listing import PAGE_SIZE
from tests.api import Answer
from tests.jumps import worst_page

if TYPE_CHECKING:  # the tests do not install the suite's terminal output
    from benchmarks.run import Run

TITLE = "Scale: cost of an operation among many conversations or deliveries"
COUNTS, QUICK_COUNTS = (10, 10_000, 100_000), (10, 400)
DELIVERIES, QUICK_DELIVERIES = (200, 20_000), (200, 1_000)
BY_CURSOR = "list by cursor"
# Part of all pages before it.
PAGES = {"page 1": 0.0, "middle page": 0.5, "last page": 1.0}

_AGENT = f"/v3/agents/{populate.AGENT}"
_CONVERSATIONS = f"{_AGENT}/convos"
_LIST = f"/v2/agents/{populate.AGENT}/convos"
_STATE = f"/agents/{populate.AGENT}/interact/ann/state"
_MESSAGES = 10
_AT_ONCE = 10_000
_ROUNDS = 11
_MOST_CPU = 1.1
_MILLION, _EVERY = 1_000_000, 37  # one page of 37 is simulated

Figures = dict[str, dict[str, Costs]]
"""Operation -> size -> costs."""


class Operation(NamedTuple):
    """A request to measure, and what a list shows."""

    name: str
    method: str
    path: str
    body: Any = None
    shows: Sequence[str] | None = None

    def send(self, tenant: Tenant) -> Answer:
        """Send the request. Raises AssertionError for another page than expected."""
        answer = tenant.api.call(self.method, self.path, self.body)
        if self.shows is not None and [one["ID"] for one in answer.data] != self.shows:
            raise AssertionError(f"{self.name} shows other conversations than expected")
        return answer

    def prepare(self, tenant: Tenant, player: replay.Player, replies: replay.Replies) -> Callable[[], object]:
        """Return the request as an operation on the recorded engine, from gateway event to gateway answer."""
        event, player.replies = tenant.api.event(self.method, self.path, self.body), replies
        return lambda: app(event, LambdaContext("api", 256))


def measure(run: "Run") -> list[Row]:
    """Return the rows. The quick run has smaller sizes, and measures no time."""
    found: Figures = {}
    timed: dict[str, dict[str, cpu.Prepare]] = {}
    with populate.service(run.engine):
        player = replay.Player()
        for count in QUICK_COUNTS if run.quick else COUNTS:
            for size, tenant, numbers in sizes(count, partial(run.each, task=f"storing {count:,} conversations")):
                for operation, costs, replies in measured(tenant, numbers):
                    found.setdefault(operation.name, {})[size] = costs
                    prepare = partial(operation.prepare, tenant, player, replies)
                    timed.setdefault(operation.name, {})[size] = prepare
        with player.playing():
            ratios = {} if run.quick else {name: _ratios(name, timed[name]) for name in run.each([*timed], "timing")}
        listed: Figures = {}
        for count in run.each(QUICK_DELIVERIES if run.quick else DELIVERIES, "storing deliveries", "{:,}".format):
            for name, costs in deliveries.costs(count):
                listed.setdefault(name, {})[f"{count:,} deliveries"] = costs
    return [*rows(found), *_cpu_rows(ratios), *_any_page(run), *rows(listed)]


def sizes(
    count: int, each: Callable[[Sequence[range]], Iterator[range]] = iter
) -> Iterator[tuple[str, Tenant, list[int]]]:
    """Yield a size, a new tenant with `count` conversations, and their numbers; then again after half are deleted."""
    tenant, numbers = populate.tenant(), range(1, count + 1)
    for part in each([numbers[start : start + _AT_ONCE] for start in range(0, count, _AT_ONCE)]):
        populate.fill(tenant, part)
    populate.tally(tenant, numbers)
    yield f"{count:,} conversations", tenant, [*numbers]
    deleted = random.Random(count).sample(numbers, count // 2)
    populate.remove(tenant, deleted)
    left = sorted({*numbers} - {*deleted})
    populate.tally(tenant, left)
    yield f"half of {count:,} deleted", tenant, left


def measured(tenant: Tenant, numbers: Sequence[int]) -> Iterator[tuple[Operation, Costs, replay.Replies]]:
    """Yield each operation with its costs and the engine's answers. The conversations are the same afterwards."""
    warm_up(tenant)
    for operation in lists(numbers):
        yield _measured(tenant, operation)
    for end in (-2, _MESSAGES):
        succeeded(tenant.api.post(_STATE, {"turns": transcripts.turns(transcripts.transcript(_MESSAGES)[:end])}))
    for operation in writes():
        yield _measured(tenant, operation)
    created = succeeded(tenant.api.get(_LIST)).data[0]["ID"]
    succeeded(tenant.api.delete(f"{_CONVERSATIONS}/{created}"))


def lists(numbers: Sequence[int]) -> Iterator[Operation]:
    """Yield the lists of a tenant that has exactly the conversations with these numbers."""
    newest_first = [populate.conversation_id(number) for number in reversed(numbers)]
    last = ceil(len(numbers) / PAGE_SIZE) - 1
    for name, depth in PAGES.items():
        page = round(depth * last)
        yield Operation(name, "GET", f"{_LIST}?page={page + 1}", shows=_page(newest_first, page * PAGE_SIZE))
    middle = len(numbers) // 2
    path = f"{_LIST}?cursor={newest_first[middle]}"
    yield Operation(BY_CURSOR, "GET", path, shows=_page(newest_first, middle + 1))


def writes() -> list[Operation]:
    """Return the operations on a conversation of ten messages, two of which are replaced, and a creation."""
    messages = transcripts.transcript(_MESSAGES)
    changed = [*messages[:-2], *transcripts.other(messages, 2)]
    return [
        Operation("state read", "POST", _STATE, {}),
        Operation("state replace", "POST", _STATE, {"turns": transcripts.turns(changed)}),
        Operation("delete", "DELETE", f"{_CONVERSATIONS}/ann"),
        Operation("create", "POST", _CONVERSATIONS, {"conversation": {"title": "New"}}),
    ]


def _measured(tenant: Tenant, operation: Operation) -> tuple[Operation, Costs, replay.Replies]:
    with replay.recorded() as replies:
        costs = cost(partial(operation.send, tenant))
    return operation, costs, replies


def rows(found: Figures) -> Iterator[Row]:
    """Yield a row for each operation and metric that is not always 0."""
    for name, costs in found.items():
        for metric, unit in UNITS.items():
            figures = {size: one[metric] for size, one in costs.items()}
            if any(figures.values()):
                goals = _goals(name, figures, metric)
                yield row("scale", name, metric, unit, max(figures.values()), peers=figures, goals=goals)


def _goals(name: str, figures: Mapping[str, float], metric: str) -> list[Goal]:
    """A page by number has a limit. Everything else costs the same at all sizes."""
    if name in PAGES:
        return [Goal("<=", ANY_PAGE[metric])]
    return [Goal("<=", 1, _baseline(name, figures))]


def _baseline(name: str, sizes: Mapping[str, object]) -> str:
    return [*sizes][2 if name in PAGES or name == BY_CURSOR else 0]


def _page(shown: Sequence[str], start: int) -> Sequence[str]:
    return shown[start : start + PAGE_SIZE]


def _ratios(name: str, timed: Mapping[str, cpu.Prepare]) -> dict[str, float]:
    """Return the medians of the CPU ratios by size."""
    baseline = _baseline(name, timed)
    full = {size: prepare for size, prepare in timed.items() if [*timed].index(size) >= [*timed].index(baseline)}
    return {size: ratio.median for size, ratio in cpu.ratios(full, baseline, _ROUNDS).items()}


def _cpu_rows(found: Mapping[str, dict[str, float]]) -> Iterator[Row]:
    for name, ratios in found.items():
        again = ratios.pop(cpu.AGAIN)
        goals = [] if name in PAGES else [Goal("<=", _MOST_CPU)]
        yield row("scale", name, "CPU", "x", max(ratios.values()), peers=ratios, goals=goals)
        yield row("scale", name, "CPU, A/A", "x", again)


def _any_page(run: "Run") -> Iterator[Row]:
    """Yield the highest costs of a page, from simulated tallies."""
    count = _MILLION // 100 if run.quick else _MILLION
    worst = worst_page(count, _EVERY)
    for (metric, limit), value in zip(ANY_PAGE.items(), worst, strict=True):
        yield row("scale", f"any page of {count:,} conversations", metric, "", value, goals=[Goal("<=", limit)])
