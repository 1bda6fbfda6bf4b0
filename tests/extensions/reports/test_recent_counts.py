"""Reports contain the changes that are not counted yet. No total is ever too high, and none decreases."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import clock, ids, queues, storage
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import counts, hours, recent_counts
from chalicelib.extensions.reports.counts import DayRow
from chalicelib.extensions.reports.queue import RecountHour
from chalicelib.queues import messages
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import lead_body, state_body
from tests.followers import follow
from tests.old_agents import create_old_agent
from tests.webhooks.pipeline import Stream

HOUR = 3_600
NOON = 1_795_435_200
REPORT = "/v3/agents/support/analytics"


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets the clock to a number of seconds after noon. At first, it is 12:30."""

    def move(seconds: int) -> None:
        monkeypatch.setattr(clock, "milliseconds", lambda: (NOON + seconds) * 1000)

    move(HOUR // 2)
    return move


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the requested recounts, which no function runs."""
    texts: list[str] = []
    monkeypatch.setattr(queues, "send", lambda queue, messages, *rest: texts.extend(messages))
    return texts


@pytest.fixture
def agent(workspace: NewWorkspace, at: Callable[[int], None], requests: list[str], api: Api) -> str:
    """Return the partition key of an old agent's counts."""
    return storage.join_key(workspace.workspace_id, create_old_agent(api))


def write(agent: str, seconds: int, number: int = 1, **values: Any) -> None:
    """Write changes at a number of seconds after noon, with a page load each."""
    moment = (NOON + seconds) * 1000
    tags = [ids.id_at(moment, random.getrandbits(80)) for _ in range(number)]
    counts.record_changes([CountedChange(agent, tag, {"loads": 1}, values) for tag in tags])


def loads(api: Api, path: str = REPORT) -> int:
    number: int = api.get(path).data["totals"]["loads"]
    return number


def day_rows() -> list[DayRow]:
    return [*storage.scan(DayRow, DayRow.period.startswith("counts#"))]


def recount(agent: str, hour: int = 0) -> None:
    counts.recount(agent, NOON + hour * HOUR, clock.seconds())


def test_a_change_is_in_every_report_before_it_is_counted(
    workspace: NewWorkspace, api: Api, agent_id: str, requests: list[str]
) -> None:
    stream = Stream()
    assert api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": [agent_id, "gone"]}).status == 200
    assert api.post(f"/agents/{agent_id}/interact/ann/state", state_body("Hello")).status == 200
    assert api.post(f"/v2/agents/{agent_id}/analytics/ann", {"record": "load", "countryCode": "NL"}).status == 200
    assert api.post("/v3/leads", lead_body(name="Ann")).status == 200
    for table in ("conversations", "analytics", "leads"):
        follow(table, stream.read(table))
    for path in (f"/v3/agents/{agent_id}/analytics", "/v3/analytics", "/v3/orgs/acme/analytics"):
        report = api.get(f"{path}?by=country").data
        names = ("conversations", "messages", "loads", "leads")
        assert [report["totals"][name] for name in names] == [1, 1, 1, 1]
        assert [report["series"][-1][name] for name in names] == [1, 1, 1, 1]
        assert {one["value"]: one["totals"]["loads"] for one in report["groups"]} == {"NL": 1, "unknown": 0}
        assert clock.seconds() - 12 <= report["countedUntil"] <= clock.seconds() - 10
    answer = api.get("/v3/usage").json
    (usage,) = answer["data"]
    assert (usage["totals"]["messages"], usage["days"][0]["leads"]) == (1, 1)
    assert clock.seconds() - 12 <= answer["countedUntil"] <= clock.seconds() - 10
    assert day_rows() == []


def test_a_csv_report_has_the_time_in_a_header(api: Api, agent: str) -> None:
    for path in (REPORT, "/v3/usage"):
        answer = api.call("GET", path, None, {**api._headers, "Accept": "text/csv"})
        assert answer.headers["cams-counted-until"] == str(clock.seconds() - 10)


def test_the_previous_hour_and_all_counted_hours_are_included(api: Api, agent: str, at: Callable[[int], None]) -> None:
    at(1)
    write(agent, -2 * HOUR, 4)
    recount(agent, -2)
    write(agent, -HOUR, 2)
    write(agent, 0, 1)
    assert loads(api) == 7
    at(10)
    write(agent, -HOUR + 5, 8)
    assert loads(api) == 15


def test_a_period_in_the_past_needs_no_recent_counts(api: Api, agent: str) -> None:
    write(agent, 60)
    assert loads(api, f"{REPORT}?from={NOON - 3 * HOUR}&to={NOON - 2 * HOUR}") == 0
    report = api.get(f"{REPORT}?from={NOON - 3 * HOUR}&to={NOON - 2 * HOUR}").data
    assert report["countedUntil"] == clock.seconds() - 10


def test_a_report_on_more_than_fifty_agents_contains_counted_hours_only(
    api: Api, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_counts, "MAX_AGENTS", 2)
    for name in ("a", "b"):
        write(agent, 60)
        report = api.get("/v3/analytics").data
        assert report["totals"]["loads"] == ("ab".index(name) + 1)
        assert report["countedUntil"] == clock.seconds() - 10
        create_old_agent(api, name)
    report = api.get("/v3/analytics").data
    assert (report["totals"]["loads"], report["countedUntil"]) == (0, clock.seconds() - 20 * 60)
    recount(agent)
    assert loads(api, "/v3/analytics") == 2
    assert loads(api) == 2


def test_the_first_report_counts_an_hour_with_many_changes(
    api: Api, agent: str, at: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "MAX_CHANGES", 3)
    write(agent, 60, 3, country="NL")
    assert loads(api) == 3
    assert day_rows() == []
    write(agent, 61, country="BE")
    for path in (REPORT, f"{REPORT}?by=country"):
        report = api.get(path).data
        assert (report["totals"]["loads"], report["countedUntil"]) == (4, NOON + HOUR // 2 - 10)
    assert {one["value"]: one["totals"]["loads"] for one in report["groups"]} == {"BE": 1, "NL": 3}
    # Later changes follow with the next count.
    at(HOUR // 2 + 60)
    write(agent, 62, 2)
    report = api.get(REPORT).data
    assert (report["totals"]["loads"], report["countedUntil"]) == (4, NOON + HOUR // 2 - 10)
    at(HOUR // 2 + 900)
    recount(agent)
    report = api.get(REPORT).data
    assert (report["totals"]["loads"], report["countedUntil"]) == (6, NOON + HOUR // 2 + 900 - 10)
    # The previous hour is complete if it was counted after its end.
    at(HOUR + 60)
    assert api.get(REPORT).data["countedUntil"] == NOON + HOUR // 2 + 900 - 10
    write(agent, 63)
    recount(agent)
    at(HOUR + 120)
    report = api.get(REPORT).data
    assert (report["totals"]["loads"], report["countedUntil"]) == (7, NOON + HOUR + 120 - 10)


def test_a_report_counts_the_previous_hour_if_the_count_is_late(
    api: Api, agent: str, at: Callable[[int], None]
) -> None:
    write(agent, 60)
    at(HOUR + 20 * 60 - 1)
    assert loads(api) == 1
    assert day_rows() == []
    at(HOUR + 20 * 60)
    report = api.get(REPORT).data
    assert (report["totals"]["loads"], report["countedUntil"]) == (1, clock.seconds() - 10)
    at(2 * HOUR)
    assert loads(api) == 1


def test_a_recount_at_any_moment_of_a_report_counts_no_change_twice(
    api: Api, agent: str, at: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each database request of reports and recounts, write changes, recount hours or read other reports."""
    _interleave(api, agent, at, monkeypatch, random.Random(1), 40)


@pytest.mark.parametrize("seed", range(3))
def test_all_changes_before_counted_until_are_counted(
    api: Api,
    agent: str,
    requests: list[str],
    at: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    """Changes have rows within ten seconds, and the queue delivers each request after 15 minutes."""
    monkeypatch.setattr(counts, "MAX_CHANGES", 12)
    chance, times, now = random.Random(seed), list[int](), HOUR // 2
    for _ in range(60):
        following = now + chance.choice((1, 9, 60, 600, 1_500))
        for text in requests:
            request = messages.parse(text, [RecountHour])
            delivery = request.requested_at - NOON + 900
            if now < delivery <= following:
                at(delivery)
                counts.recount(*request)
        now = following
        at(now)
        for _ in range(chance.choice((0, 0, 1, 2))):
            late, number = chance.randrange(9), chance.choice((1, 5, 14))
            write(agent, now - late, number)
            times += [NOON + now - late] * number
        monkeypatch.setattr(recent_counts, "MAX_AGENTS", chance.choice((0, 50)))
        report = api.get(f"{REPORT}?from={NOON}&to={NOON + 24 * HOUR}").data
        until = report["countedUntil"]
        assert sum(time < until for time in times) <= report["totals"]["loads"] <= len(times)
        assert clock.seconds() - 20 * 60 <= until <= clock.seconds() - 10


@pytest.mark.whole
@pytest.mark.parametrize("seed", range(2, 12))
def test_random_moments_of_recounts_and_reports(
    api: Api, agent: str, at: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    _interleave(api, agent, at, monkeypatch, random.Random(seed), 150)


def _interleave(
    api: Api, agent: str, at: Callable[[int], None], patch: pytest.MonkeyPatch, chance: random.Random, steps: int
) -> None:
    patch.setattr(counts, "MAX_CHANGES", 12)
    connection = storage.client.connection  # type: ignore[attr-defined]
    dispatch, iterate = connection.dispatch, storage.iterate
    written = depth = now = reads = 0
    highest = Counter[str]()

    def act() -> None:
        nonlocal written, now, depth
        kind = chance.random()
        if kind < 0.4:
            number = chance.choice((1, 1, 2, 5))
            written += number
            late = chance.choice((0, 0, 5, 60, HOUR))  # some changes arrive late and out of order
            write(agent, now - late, number)
        elif kind < 0.6:
            recount(agent, chance.choice((now // HOUR, now // HOUR - 1)))
        else:
            read()

    def read() -> None:
        nonlocal reads
        path = chance.choice((REPORT, f"{REPORT}?by=country"))  # the two reports read different rows
        before = highest[path]
        number = loads(api, path)
        assert before <= number <= written
        highest[path], reads = max(highest[path], number), reads + 1

    def interrupted(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            nonlocal depth
            if depth < 2 and chance.random() < 0.3:
                depth += 1
                act()
                depth -= 1
            return call(*arguments, **named)

        return run

    patch.setattr(connection, "dispatch", interrupted(dispatch))
    patch.setattr(storage, "iterate", interrupted(iterate))
    for _ in range(steps):
        now += chance.choice((0, 1, 60, 600))
        at(now)
        act()
    assert reads > steps // 10
    patch.undo()


def test_a_recount_includes_all_changes_that_share_its_request(
    api: Api, agent: str, at: Callable[[int], None], requests: list[str]
) -> None:
    """A later count may replace the recount only if it began after the last of these changes."""
    for second in (0, 30, 59):
        at(second)
        write(agent, second)
    assert len(requests) == 1
    at(60)
    recount(agent)
    at(61)
    write(agent, 59)  # by a process whose clock is two seconds behind
    at(60 + 900)
    counts.recount(*messages.parse(requests[0], [RecountHour]))
    assert counts.stored(day_rows()[0].open(), NOON) == [4, *[0] * (len(hours.NAMES) - 1)]
