"""The cost of counting, and of reading reports and usage."""

import random
from collections.abc import Callable

import pytest

from chalicelib import clock, ids, queues, storage
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import counts, hours, recent_counts
from chalicelib.extensions.reports.counts import DayRow
from chalicelib.extensions.reports.queue import RecountHour
from chalicelib.queues import messages
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.capacity import Meter, metered
from tests.costs import check
from tests.direct_writes import put_now
from tests.old_agents import create_old_agent

pytestmark = pytest.mark.long

HOUR, DAYS, AGENTS, DELIVERIES = 3_600, 61, 4, 300
START = 1_795_348_800
REPORT = "/v3/agents/a0/analytics"
# Path -> the operation in docs/costs.csv. Each agent has a million events in 30 days.
READS = {
    "/v3/agents/a0/analytics": "report of an agent",
    "/v3/agents/a0/analytics?by=country": "report of an agent by country",
    "/v3/analytics": "report of a workspace of four agents",
    "/v3/analytics?by=country": "report of a workspace of four agents by country",
    "/v3/usage": "usage of four agents",
}
# Changes per hour -> the operation in docs/costs.csv.
COUNTING_COSTS = {
    1: "count the only change of an hour",
    20: "count one of 20 changes of an hour",
    100: "count one of 100 changes of an hour",
    1_000: "count one of 1,000 changes of an hour",
}
SAMPLE = 200
# Changes that are not counted yet -> the operation in docs/costs.csv.
UNCOUNTED = {
    100: "report of an agent with 100 uncounted changes",
    2_000: "report of an agent with 2,000 uncounted changes",
    2_001: "report of an agent, counting an hour of 2,001 changes",
}


def changes(chance: random.Random, number: int, start: int, agent: str) -> list[CountedChange]:
    """Return one hour's page loads from 60 countries, 30 languages, 5 browsers, 6 platforms and 4 channels."""
    kinds = {"country": 60, "language": 30, "browser": 5, "platform": 6, "origin": 4}
    return [
        CountedChange(
            agent,
            ids.id_at((start + index * HOUR // number) * 1000, chance.getrandbits(80)),
            {"loads": 1, "newVisitors": index % 2},
            {name: f"{name}-{int(many * chance.random() ** 2)}" for name, many in kinds.items()},
        )
        for index in range(number)
    ]


def store_days(workspace_id: str, events: int) -> None:
    """Store counts for all agents over `DAYS` days, with `events` events per agent in 30 days."""
    chance, today = random.Random(events), clock.seconds() // 86_400 * 86_400
    per_hour = events / 30 / 24
    for day in range(DAYS):
        start, rows = today - day * 86_400, []
        by_hour, groups = {}, {name: {} for name in hours.DIMENSIONS}
        for hour in range(24):
            number = int(per_hour) + (chance.random() < per_hour % 1)
            factor = max(1, number // SAMPLE)
            found = changes(chance, min(number, SAMPLE), start + hour * HOUR, "")
            sums = hours.add_up((hours.numbers_of(one), hours.values_of(one), {}) for one in found)
            if found:
                by_hour[f"{hour:02}"] = hours.to_store([count * factor for count in sums.counts])
                for name, values in ((name, sums.groups[name]) for name in hours.DIMENSIONS):
                    groups[name][f"{hour:02}"] = {
                        value: hours.to_store([n * factor for n in ns]) for value, ns in values.items()
                    }
        for agent in range(AGENTS):
            partition = storage.join_key(workspace_id, f"a{agent}")
            total, grouped = (DayRow(partition, f"{kind}#{clock.iso(start)[:10]}") for kind in ("counts", "groups"))
            total.seal({"hours": by_hour, "counted": dict.fromkeys(by_hour, start)})
            grouped.seal(groups)
            rows += [total, grouped]
        for row in rows:
            row.version, row.version_tag = 1, ids.new_id()
        storage.save_many(rows)


def store_worst_days(workspace_id: str) -> None:
    """Store the largest possible counts: up to a million per hour, for every value that is counted separately.

    The values have the maximum length. The counts are random, so they do not compress.
    """
    chance, today = random.Random(1), clock.seconds() // 86_400 * 86_400

    def numbers() -> list[int]:
        return [chance.randrange(1_000_000) for _ in hours.NAMES]

    def values() -> dict[str, list[int]]:
        return {f"{chance.getrandbits(160):040x}": numbers() for _ in range(hours.MAX_VALUES + 1)}

    texts = [f"{hour:02}" for hour in range(24)]
    for day in range(DAYS):
        start, rows = today - day * 86_400, []
        counted = {text: start + int(text) * HOUR + chance.randrange(HOUR) for text in texts}
        large = {text: chance.randrange(1_000_000) for text in texts}
        total = {"hours": {text: numbers() for text in texts}, "counted": counted, "large": large}
        groups = {dimension: {text: values() for text in texts} for dimension in hours.DIMENSIONS}
        for agent in range(AGENTS):
            for kind, document in (("counts", total), ("groups", groups)):
                row = DayRow(storage.join_key(workspace_id, f"a{agent}"), f"{kind}#{clock.iso(start)[:10]}")
                row.seal(document)
                row.version, row.version_tag = 1, ids.new_id()
                rows.append(row)
        storage.save_many(rows)


def rows_of_day(agent: str, start: int, number: int, until: int) -> list[DayRow]:
    """Return the rows for a day whose first `until` hours are counted, at `number` changes per hour."""
    by_hour, groups = {}, {name: {} for name in hours.DIMENSIONS}
    for hour in range(until):
        sums = hours.add_up(
            (hours.numbers_of(one), hours.values_of(one), {}) for one in changes(random.Random(hour), number, start, "")
        )
        by_hour[f"{hour:02}"] = hours.to_store(sums.counts)
        for name, values in ((name, sums.groups[name]) for name in hours.DIMENSIONS):
            groups[name][f"{hour:02}"] = {value: hours.to_store(ns) for value, ns in values.items()}
    total, grouped = (DayRow(agent, f"{kind}#{clock.iso(start)[:10]}") for kind in ("counts", "groups"))
    total.seal({"hours": by_hour, "counted": dict.fromkeys(by_hour, start)})
    grouped.seal(groups)
    return [total, grouped]


def cost_of_read(api: Api, path: str) -> Meter:
    with metered() as meter:
        assert api.get(path).status == 200
    return meter


@pytest.fixture
def ten_agents(api: Api) -> list[str]:
    agents = [f"a{number}" for number in range(AGENTS)]
    for agent in agents:
        assert api.post(f"/v2/agents/{agent}", {}).status == 200
    assert api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": agents}).status == 200
    return agents


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets the clock to a number of seconds after `START`."""

    def at(seconds: int) -> None:
        monkeypatch.setattr(clock, "milliseconds", lambda: (START + seconds) * 1000)

    at(0)
    return at


def test_a_read_costs_as_documented_however_much_was_counted(
    workspace: NewWorkspace, fixed: Callable[[int], None], ten_agents: list[str], api: Api
) -> None:
    requests = []
    for events in (1_000, 1_000_000):
        store_days(workspace.workspace_id, events)
        meters = {name: cost_of_read(api, path) for path, name in READS.items()}
        requests.append([meter.total for meter in meters.values()])
    assert requests[0] == requests[1]
    for name, meter in meters.items():
        check(name, meter)
    fixed(1)  # both recent hours have many changes
    store_worst_days(workspace.workspace_id)
    worst = {path: cost_of_read(api, path) for path in READS}
    check("report of an agent, at worst", worst[REPORT])
    check("report of an agent by country, at worst", worst[f"{REPORT}?by=country"])


@pytest.mark.parametrize("number", UNCOUNTED)
def test_uncounted_changes_cost_as_documented(
    workspace: NewWorkspace, fixed: Callable[[int], None], ten_agents: list[str], api: Api, number: int
) -> None:
    store_days(workspace.workspace_id, 1_000_000)
    agent = storage.join_key(workspace.workspace_id, "a0")
    fixed(HOUR - 1)
    assert api.get("/v3/tokens").status == 200  # the caller is cached
    counts.record_changes(changes(random.Random(1), number, START, agent))
    check(UNCOUNTED[number], cost_of_read(api, REPORT))


def test_the_uncounted_changes_of_fifty_agents_cost_as_documented(
    workspace: NewWorkspace, fixed: Callable[[int], None], api: Api
) -> None:
    fixed(HOUR - 1)
    for number in range(recent_counts.MAX_AGENTS):
        agent = storage.join_key(workspace.workspace_id, create_old_agent(api, f"a{number}"))
        counts.record_changes(changes(random.Random(number), 100, START, agent))
    assert api.get("/v3/tokens").status == 200
    check("report of 50 agents with 100 uncounted changes each", cost_of_read(api, "/v3/analytics"))


def changes_of_an_hour(agent: str, number: int, day: int) -> list[CountedChange]:
    """Return changes from the hour that begins `day` days after `START`."""
    return changes(random.Random(1), number, START + day * 86_400, agent)


def cost_of_an_hour(
    agent: str, pending: list[CountedChange], day: int, at: Callable[[int], None], recounts: list[str]
) -> Meter:
    """Return the cost of counting these changes on a day for which 12 hours are already counted.

    `at` sets the clock to a number of seconds after `START`. The recount requests are appended to `recounts`.
    """
    start = START + day * 86_400
    for row in rows_of_day(agent, start, min(len(pending), SAMPLE), 12):
        put_now(row)
    with metered() as meter:
        for quarter in range(4):
            now = (quarter + 1) * 900
            at(day * 86_400 + now)
            due = [one for one in pending if ids.timestamp_of(one.version_tag) // 1000 < start + now]
            pending = pending[len(due) :]
            for begin in range(0, len(due), 25):
                counts.record_changes(due[begin : begin + 25])
            at(day * 86_400 + now + 900)
            for text in dict.fromkeys(recounts):
                counts.recount(*messages.parse(text, [RecountHour]))
            recounts.clear()
    return meter


def test_counting_costs_as_documented(
    workspace: NewWorkspace, fixed: Callable[[int], None], api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = storage.join_key(workspace.workspace_id, create_old_agent(api))
    recounts: list[str] = []
    monkeypatch.setattr(queues, "send", lambda queue, texts, *rest: recounts.extend(texts))
    for day, number in enumerate((1, 5, 20, 50, 100, 300, 1_000)):
        meter = cost_of_an_hour(agent, changes_of_an_hour(agent, number, day), day, fixed, recounts)
        # The target is at most 1.2 write units per change if an hour contains at least a hundred changes.
        assert meter.writes / number <= 1.2 or number < 100
        if number in COUNTING_COSTS:
            check(COUNTING_COSTS[number], meter, number)
    times = (START + 7 * 86_400 + number * HOUR // DELIVERIES for number in range(DELIVERIES))
    sent = [CountedChange(agent, ids.id_at(time * 1000, time), {"deliveries": 1}, {}) for time in times]
    check("count one of 300 deliveries of an hour", cost_of_an_hour(agent, sent, 7, fixed, recounts), DELIVERIES)
