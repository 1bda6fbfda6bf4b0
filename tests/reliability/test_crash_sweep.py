"""A write is applied completely or not at all, whichever of its engine requests fails.

Each test runs a case (`sweep.EVERY`) on the real local engine without faults, and notes the engine requests and the
results. For each engine request and kind of fault, it then runs the case in a new workspace with this fault. After each
run, the records and events must be those before or after the write, and the repeated case must succeed.

With a fault, the process dies before or after the request, all attempts are rejected, or the response is lost. Except
at the first request, dying before a request is the same as dying after the previous request.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from chalicelib import clock, storage
from chalicelib.deletion import cascade
from chalicelib.http import idempotency
from chalicelib.queues.tasks import ResumeCascade
from infra import tables
from tests.api import Answer
from tests.contract.test_routes import OPERATIONS
from tests.engines import clear_caches
from tests.guarantees import CaseCounter
from tests.http.replay_cases import NO_WRITE, Case, World
from tests.reliability import sweep
from tests.reliability.engine_fixture import running_engine
from tests.reliability.faults import KINDS, Died, Fault, Kind, Line, line_to
from tests.selection import whole
from tests.webhooks import pipeline

pytestmark = [pytest.mark.engine, pytest.mark.guarantee("whole")]

DELIVERIES = Case("deliveries", "GET /v3/webhooks/{webhook_id}/deliveries")
first_kinds = pytest.mark.parametrize("kind", ["dies after", pytest.param("answer lost", marks=whole)])
CASES = [case for case in sweep.EVERY if case != sweep.DELETE_AGENT]


def each(cases: Iterable[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id)


def each_record(cases: Sequence[Case]) -> pytest.MarkDecorator:
    """Return a mark that runs the test with the first case for each kind of record."""
    return each({case.record: case for case in reversed(cases)}.values())


class Target(NamedTuple):
    """A connection to an engine that contains the service's tables, and the engine's streams."""

    line: Line
    stream: pipeline.Stream


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with running_engine(tmp_path_factory.mktemp("sweep")) as engine, line_to(engine) as line:
        tables.create_missing(storage.sdk_client)
        yield Target(line, pipeline.Stream())


@pytest.fixture(autouse=True)
def stop_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the clock, so that all runs have the same times."""
    now = clock.milliseconds()
    monkeypatch.setattr(clock, "milliseconds", lambda: now)


class Result(NamedTuple):
    """The response to a request, the visible records with and without random values, and the events."""

    answer: tuple[int, str] | None
    seen: dict[str, Any]
    plain: str
    events: list[tuple[str, str]]


def result(world: World, case: Case, target: Target, answer: Answer | None = None) -> Result:
    seen = sweep.visible_records(world, case)
    plain_answer = answer and (answer.status, sweep.plain(answer.json))
    return Result(plain_answer, seen, sweep.plain(seen), sweep.events(world, case, target.stream))


def without_faults(case: Case, target: Target, times: int) -> tuple[list[str], list[Result]]:
    """Return a case's engine requests, and the results before the case and after each repetition."""
    world = sweep.create_world(case)
    left = [result(world, case, target)]
    with target.line.cut() as requests:
        first = sweep.send(world, case)
    assert first.status == case.status, first.text
    left.append(result(world, case, target, first))
    left += [result(world, case, target, sweep.send(world, case)) for _ in range(times - 1)]
    return requests, left


def send_with_fault(world: World, case: Case, target: Target, fault: Fault, key: str | None = None) -> Answer | None:
    """Send a case with a fault; return the response, or None if the process dies."""
    try:
        with target.line.cut(fault):
            return sweep.send(world, case, key)
    except Died:
        clear_caches()
        return None


@contextmanager
def after_the_delay() -> Iterator[None]:
    """Inside the block, advance the clock by the delay of a cascade's queue message."""
    now = clock.milliseconds() + 90_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "milliseconds", lambda: now)
        yield


# ---- write requests -------------------------------------------------------------------------------


def test_the_sweep_has_every_write_request() -> None:
    writing = {f"{one['method']} {one['path']}" for one in OPERATIONS if one["method"] != "GET"}
    assert {case.operation for case in (*sweep.EVERY, *NO_WRITE)} == writing
    named = {case.id for case in sweep.EVERY}
    assert len(named) == len(sweep.EVERY)
    assert named >= sweep.NOT_IDEMPOTENT


@first_kinds
@each_record(CASES)
def test_a_request_with_one_fault_is_atomic_and_can_be_repeated(
    case: Case, kind: Kind, target: Target, count_cases: CaseCounter
) -> None:
    requests, expected = without_faults(case, target, 2)
    _, first, second = expected
    assert {type_ for type_, _ in first.events} == set(sweep.event_types(case))
    assert (second.plain != first.plain) == (case.id in sweep.NOT_IDEMPOTENT)
    for at in range(len(requests)):
        check(case, target, expected, [Fault(kind, at)], count_cases)


@pytest.mark.long
@each(CASES)
def test_a_request_with_any_fault_is_atomic_and_can_be_repeated(
    case: Case, target: Target, count_cases: CaseCounter
) -> None:
    requests, expected = without_faults(case, target, 2)
    for at in range(len(requests)):
        for kind in KINDS:
            check(case, target, expected, [Fault(kind, at)], count_cases)


@pytest.mark.long
@each(CASES)
def test_a_request_that_dies_twice_is_atomic_and_can_be_repeated(
    case: Case, target: Target, count_cases: CaseCounter
) -> None:
    requests, expected = without_faults(case, target, 3)
    for first in range(len(requests)):
        # The second process has empty caches, so it also reads the credential and the data key.
        for second in range(len(requests) + 3):
            check(case, target, expected, [Fault("dies after", first), Fault("dies after", second)], count_cases)


def check(case: Case, target: Target, expected: list[Result], faults: list[Fault], count_cases: CaseCounter) -> None:
    """Send a case with each fault, then without faults. Check each time that it is applied completely or not at all."""
    world, times = sweep.create_world(case), 0
    before = result(world, case, target)
    assert before.plain == expected[0].plain
    for number, fault in enumerate(faults):
        if number:
            clear_caches()
        answer = send_with_fault(world, case, target, fault)
        assert answer is None or not fault.is_death or number, "the fault did not occur"
        now = result(world, case, target, answer)
        is_done = now.seen != before.seen
        times += is_done
        assert now.plain == expected[times].plain, (faults, "the write is incomplete")
        assert now.events == (expected[times].events if is_done else []), (faults, "the events do not match the change")
        if answer is not None and (answer.status != 503 or fault.kind == "answer lost"):
            success = expected[times + (not is_done)]
            assert (now.answer, now.plain) == (success.answer, success.plain), (faults, answer.text)
        before = now
    again = result(world, case, target, sweep.send(world, case))
    success = expected[times + 1]
    assert again.plain == success.plain, (faults, "the result differs from the result without faults")
    assert (again.answer, again.events) == (success.answer, success.events), faults
    count_cases(faults=len(faults), states=len(faults) + 1)


# ---- idempotency keys and deferred work -----------------------------------------------------------


KEYED = [case for case in CASES if case.method in idempotency.METHODS]


@first_kinds
@each_record(KEYED)
def test_a_keyed_request_with_one_fault_takes_effect_once(
    case: Case, kind: Kind, target: Target, count_cases: CaseCounter
) -> None:
    check_keyed(case, target, [kind], count_cases)


@pytest.mark.long
@each(KEYED)
def test_a_keyed_request_with_any_fault_takes_effect_once(case: Case, target: Target, count_cases: CaseCounter) -> None:
    check_keyed(case, target, KINDS, count_cases)


def check_keyed(case: Case, target: Target, kinds: Iterable[Kind], count_cases: CaseCounter) -> None:
    """Send a case with a key and a fault at each request, then repeat it. Check that it takes effect once."""
    requests, (before, first) = without_faults(case, target, 1)
    for at in range(len(requests) + 1):  # the first request reads the key
        for kind in kinds:
            world, where = sweep.create_world(case), (kind, at)
            assert result(world, case, target).plain == before.plain
            answer = send_with_fault(world, case, target, Fault(kind, at), "key")
            once = result(world, case, target)
            assert once.plain in (before.plain, first.plain), (where, "the write is incomplete")
            again = sweep.send(world, case, "key")
            now = result(world, case, target, again)
            assert (now.answer, now.plain) == (first.answer, first.plain), (where, again.text)
            assert once.events + now.events == first.events, where
            assert once.plain == before.plain or "idempotency-replayed" in again.headers, where
            if answer is not None and answer.status == 200:
                assert answer.text == again.text, where
            assert sweep.send(world, case, "key").text == again.text, where
            count_cases(faults=1, states=2)


@first_kinds
@pytest.mark.parametrize("name", ["webhook test", pytest.param("redeliver", marks=whole)])
def test_every_acknowledged_delivery_is_queued_and_stored(
    name: str, kind: Kind, target: Target, count_cases: CaseCounter
) -> None:
    """Check that acknowledged deliveries are queued, and that queued deliveries are stored (to be claimed)."""
    (case,) = [one for one in CASES if one.id == name]
    requests, _ = without_faults(case, target, 1)
    for at in range(len(requests)):
        world = sweep.create_world(case)
        answers = [send_with_fault(world, case, target, Fault(kind, at)), sweep.send(world, case)]
        acknowledged = {answer.data["id"] for answer in answers if answer and answer.status == 200}
        stored = {one["id"] for one in world.api.get(world.path(DELIVERIES)).data}
        assert acknowledged and acknowledged <= sweep.queued(world) <= stored, at
        count_cases(faults=1, states=1)


MESSAGE, REQUEST = "the message on the queue", "the same request"


@whole
@pytest.mark.parametrize(
    ("again", "kind"),
    [
        (REQUEST, "dies after"),
        *(pytest.param(again, kind, marks=pytest.mark.long) for again in (MESSAGE, REQUEST) for kind in KINDS),
    ],
)
def test_an_agent_s_deletion_with_a_fault_is_atomic_and_completed_later(
    again: str, kind: Kind, target: Target, count_cases: CaseCounter
) -> None:
    case = sweep.DELETE_AGENT
    requests, (_, first) = without_faults(case, target, 1)
    assert requests.index("SendMessageBatch") < requests.index("PutItem")
    for at in range(len(requests)):
        world = sweep.create_world(case)
        before = result(world, case, target)
        answer = send_with_fault(world, case, target, Fault(kind, at))
        now = result(world, case, target)
        is_gone = now.seen != before.seen
        if is_gone:
            assert_gone(before.seen, now.seen)
        assert now.events == (first.events if is_gone else []), at
        assert is_gone or answer is None or answer.status == 503, at
        if again == REQUEST:
            repeated = sweep.send(world, case)
            assert repeated.status == 200 or (is_gone and repeated.status == 404), (at, repeated.text)
            assert sweep.events(world, case, target.stream) == ([] if is_gone else first.events), at
        elif not is_gone:
            continue
        with after_the_delay():
            cascade.resume(ResumeCascade(world.workspace.workspace_id, "support"), 10)
        assert sweep.remaining_items(world) == [], at
        assert world.api.post("/v2/agents/support", {}).status == 200, at
        count_cases(faults=1, states=3)


def assert_gone(before: dict[str, Any], now: dict[str, Any]) -> None:
    """Assert that the agent and its conversations are deleted, and that its other records are complete or deleted."""
    assert (now["agents_"], now["conversations_"]) == ([[], []], None)
    for name in ("tools", "leads", "analytics"):
        (status, shown) = now[name]
        assert status == 404 or now[name] == before[name] or shown["data"] == [], (name, shown)
