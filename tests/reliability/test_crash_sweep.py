"""Every request that writes, with a fault at every request that it sends to the real local engine.

Before a request the process dies, or all attempts of it are refused; after it the process dies, or the answer is lost.
(To die before a request is to die after the one before it, but for the first.) What is there then is what was there, or
what is there where nothing happened, whole; the events are those of the change, or none; and the same request, sent
again, does what it does where nothing happened.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from chalicelib import clock, storage
from chalicelib.deletion import cascade
from chalicelib.http import idempotency
from infra import tables
from tests.api import Answer
from tests.conftest import clear_caches
from tests.contract.test_routes import OPERATIONS
from tests.promises import Shown
from tests.reliability import sweep
from tests.reliability.engine_fixture import running_engine
from tests.reliability.faults import KINDS, Died, Fault, Kind, Line, line_to
from tests.repeating import Case, World
from tests.selection import one_of_each, whole
from tests.webhooks import pipeline

pytestmark = [pytest.mark.engine, pytest.mark.promise("whole")]

DELIVERIES = Case("deliveries", "GET /v3/webhooks/{webhook_id}/deliveries")
QUICK: tuple[Kind, ...] = ("dies after", "answer lost")
CASES = [case for case in sweep.EVERY if case != sweep.DELETE_AGENT]


def each(cases: Iterable[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id)


class Place(NamedTuple):
    """The engine with the service's tables, the line to it, and its streams."""

    line: Line
    stream: pipeline.Stream


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with running_engine(tmp_path_factory.mktemp("sweep")) as engine, line_to(engine) as line:
        tables.create_missing(storage.sdk_client)
        yield Place(line, pipeline.Stream())


@pytest.fixture(autouse=True)
def moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still: what was written a second later is something else."""
    now = clock.milliseconds()
    monkeypatch.setattr(clock, "milliseconds", lambda: now)


class Done(NamedTuple):
    """What a request has left: its answer, what is there as it is and without what is random, and the events."""

    answer: tuple[int, str] | None
    seen: dict[str, Any]
    plain: str
    events: list[tuple[str, str]]


def done(there: World, case: Case, place: Place, answer: Answer | None = None) -> Done:
    seen = sweep.seen(there, case)
    told = answer and (answer.status, sweep.plain(answer.json))
    return Done(told, seen, sweep.plain(seen), sweep.events(there, case, place.stream))


def undisturbed(case: Case, place: Place, times: int) -> tuple[list[str], list[Done]]:
    """The requests that a case sends to the engine, and what there is before it and each time that it was sent."""
    there = sweep.begin(case)
    left = [done(there, case, place)]
    with place.line.cut() as requests:
        first = sweep.send(there, case)
    assert first.status == 200, first.text
    left.append(done(there, case, place, first))
    left += [done(there, case, place, sweep.send(there, case)) for _ in range(times - 1)]
    return requests, left


def disturbed(there: World, case: Case, place: Place, fault: Fault, key: str | None = None) -> Answer | None:
    """Send a case, with a fault; its answer, None where the process has ended, and another one goes on."""
    try:
        with place.line.cut(fault):
            return sweep.send(there, case, key)
    except Died:
        clear_caches()
        return None


@contextmanager
def a_minute_later() -> Iterator[None]:
    """Inside the block whatever waits for a minute is due."""
    now = clock.milliseconds() + 61_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "milliseconds", lambda: now)
        yield


# ---- each request that writes ---------------------------------------------------------------------


def test_every_request_that_writes_is_swept_and_told_of_as_it_should() -> None:
    writing = {f"{one['method']} {one['path']}" for one in OPERATIONS if one["method"] != "GET"}
    assert {case.operation for case in sweep.EVERY} == writing
    named = {case.id for case in sweep.EVERY}
    assert len(named) == len(sweep.EVERY)
    assert named >= sweep.LONG | sweep.MADE_AGAIN


@one_of_each(lambda case: case.record)
@each(case for case in CASES if case.id not in sweep.LONG)
def test_wherever_a_request_is_cut_off_it_is_done_or_not_and_can_be_sent_again(
    case: Case, place: Place, shown: Shown
) -> None:
    requests, expected = undisturbed(case, place, 2)
    _, first, second = expected
    assert {type_ for type_, _ in first.events} == set(told_of(case))
    assert (second.plain != first.plain) == (case.id in sweep.MADE_AGAIN)
    for at in range(len(requests)):
        for kind in QUICK:
            check(case, place, expected, [Fault(kind, at)], shown)


@pytest.mark.long
@each(CASES)
def test_the_same_whatever_happens_there(case: Case, place: Place, shown: Shown) -> None:
    requests, expected = undisturbed(case, place, 2)
    for at in range(len(requests)):
        for kind in KINDS:
            check(case, place, expected, [Fault(kind, at)], shown)


@pytest.mark.long
@each(CASES)
def test_the_same_where_two_processes_have_ended_one_after_the_other(case: Case, place: Place, shown: Shown) -> None:
    requests, expected = undisturbed(case, place, 3)
    for first in range(len(requests)):
        # The second process has to learn who calls, and with which key to open what it reads.
        for second in range(len(requests) + 3):
            check(case, place, expected, [Fault("dies after", first), Fault("dies after", second)], shown)


def told_of(case: Case) -> list[str]:
    """The types of the events that a case is."""
    return next((sweep.EVENTS[name] for name in sorted(sweep.EVENTS, reverse=True) if case.id.startswith(name)), [])


def check(case: Case, place: Place, expected: list[Done], faults: list[Fault], shown: Shown) -> None:
    """Send a case with one fault after the other, and then without: each time all of it is done, or nothing."""
    there, times = sweep.begin(case), 0
    before = done(there, case, place)
    assert before.plain == expected[0].plain
    for number, fault in enumerate(faults):
        if number:
            clear_caches()
        answer = disturbed(there, case, place, fault)
        assert answer is None or not fault.is_death or number, "the fault has not happened"
        now = done(there, case, place, answer)
        is_done = now.seen != before.seen
        times += is_done
        assert now.plain == expected[times].plain, (faults, "a part of it is done")
        assert now.events == (expected[times].events if is_done else []), (faults, "events without a change, or not")
        if answer is not None and (answer.status != 503 or fault.kind == "answer lost"):
            wanted = expected[times + (not is_done)]
            assert (now.answer, now.plain) == (wanted.answer, wanted.plain), (faults, answer.text)
        before = now
    again = done(there, case, place, sweep.send(there, case))
    wanted = expected[times + 1]
    assert again.plain == wanted.plain, (faults, "not what the same request does elsewhere")
    assert (again.answer, again.events) == (wanted.answer, wanted.events), faults
    shown(faults=len(faults), states=len(faults) + 1)


# ---- what is made once more, and what takes longer than a request ---------------------------------


KEYED = [case for case in CASES if case.method in idempotency.METHODS]


@one_of_each(lambda case: case.record)
@each(case for case in KEYED if case.id not in sweep.LONG)
def test_with_a_key_a_request_that_is_cut_off_is_done_once(case: Case, place: Place, shown: Shown) -> None:
    check_keyed(case, place, QUICK, shown)


@pytest.mark.long
@each(KEYED)
def test_with_a_key_a_request_is_done_once_whatever_happens(case: Case, place: Place, shown: Shown) -> None:
    check_keyed(case, place, KINDS, shown)


def check_keyed(case: Case, place: Place, kinds: Iterable[Kind], shown: Shown) -> None:
    """Send a case with a key and with a fault at each of its requests, and again at once: it is done one time."""
    requests, (before, first) = undisturbed(case, place, 1)
    for at in range(len(requests) + 1):  # the look-up of the key comes first
        for kind in kinds:
            there, where = sweep.begin(case), (kind, at)
            assert done(there, case, place).plain == before.plain
            answer = disturbed(there, case, place, Fault(kind, at), "key")
            once = done(there, case, place)
            assert once.plain in (before.plain, first.plain), (where, "a part of it is done")
            again = sweep.send(there, case, "key")
            now = done(there, case, place, again)
            assert (now.answer, now.plain) == (first.answer, first.plain), (where, again.text)
            assert once.events + now.events == first.events, where
            assert once.plain == before.plain or "idempotency-replayed" in again.headers, where
            if answer is not None and answer.status == 200:
                assert answer.text == again.text, where
            assert sweep.send(there, case, "key").text == again.text, where
            shown(faults=1, states=2)


@each(case for case in CASES if case.id in ("webhook test", "redeliver"))
def test_a_delivery_that_was_promised_is_on_its_way(case: Case, place: Place, shown: Shown) -> None:
    """What waits on the queue is stored, or nobody could claim it; what was answered waits there."""
    requests, _ = undisturbed(case, place, 1)
    for at in range(len(requests)):
        for kind in QUICK:
            there = sweep.begin(case)
            answers = [disturbed(there, case, place, Fault(kind, at)), sweep.send(there, case)]
            promised = {answer.data["id"] for answer in answers if answer and answer.status == 200}
            stored = {one["id"] for one in there.api.get(there.path(DELIVERIES)).data}
            assert promised and promised <= sweep.queued(there) <= stored, (at, kind)
            shown(faults=1, states=1)


MESSAGE, REQUEST = "the message on the queue", "the same request"


@whole
@pytest.mark.parametrize(
    ("again", "kind"),
    [
        (REQUEST, "dies after"),
        *(pytest.param(again, kind, marks=pytest.mark.long) for again in (MESSAGE, REQUEST) for kind in KINDS),
    ],
)
def test_an_agent_is_gone_or_not_and_then_all_it_had(again: str, kind: Kind, place: Place, shown: Shown) -> None:
    case = sweep.DELETE_AGENT
    requests, (_, first) = undisturbed(case, place, 1)
    assert requests.index("SendMessageBatch") < requests.index("TransactWriteItems")
    for at in range(len(requests)):
        there = sweep.begin(case)
        before = done(there, case, place)
        answer = disturbed(there, case, place, Fault(kind, at))
        now = done(there, case, place)
        is_gone = now.seen != before.seen
        if is_gone:
            assert_gone(before.seen, now.seen)
        assert now.events == (first.events if is_gone else []), at
        assert is_gone or answer is None or answer.status == 503, at
        if again == REQUEST:
            repeated = sweep.send(there, case)
            assert repeated.status == 200 or (is_gone and repeated.status == 404), (at, repeated.text)
            assert sweep.events(there, case, place.stream) == ([] if is_gone else first.events), at
        elif not is_gone:
            continue
        with a_minute_later():  # the message was sent with a delay of as much
            cascade.resume(json.dumps([there.workspace.workspace_id, "support"]), 10)
        assert sweep.left(there) == [], at
        assert there.api.post("/v2/agents/support", {}).status == 200, at
        shown(faults=1, states=3)


def assert_gone(before: dict[str, Any], now: dict[str, Any]) -> None:
    """The agent is not there; of what it had nothing is in pieces, and its conversations went with it."""
    assert (now["agents_"], now["conversations_"]) == ([[], []], None)
    for name in ("tools", "leads", "analytics"):
        (status, shown) = now[name]
        assert status == 404 or now[name] == before[name] or shown["data"] == [], (name, shown)
