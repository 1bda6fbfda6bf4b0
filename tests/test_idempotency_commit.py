"""The commit of a keyed request: beside its twins, and where its answer is lost or its outcome unknown.

The view's writes and the key with the answer are one conditional request. These tests put something between the look-up
of the key, the view and the commit.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from moto.dynamodb.responses import DynamoHandler

from chalicelib import errors
from chalicelib.http import idempotency
from chalicelib.storage.unit import Unit
from tests.api import Answer
from tests.promises import Shown
from tests.repeating import KEY, REPLAYED, Case, World, each_case, named, others, refusal, same, world
from tests.repeating import here as here
from tests.requests import answer_lost_once, counted, refused_by_the_engine
from tests.writes import before_each_commit

TOOL = named("tool create")
THREADS = 8


pytestmark = pytest.mark.promise("repeated")


@pytest.fixture
def atomic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let moto answer one request after the other, each of them whole, as the database does."""
    lock, call = threading.RLock(), DynamoHandler.call_action

    def locked(self: DynamoHandler) -> Any:
        with lock:
            return call(self)

    monkeypatch.setattr(DynamoHandler, "call_action", locked)


def hide_the_stored_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look-up before the view is eventually consistent: let it show no key that is stored."""
    monkeypatch.setattr(idempotency, "find", lambda key: None)


# ---- twins ----------------------------------------------------------------------------------------


@each_case
def test_of_eight_at_once_one_is_answered_and_seven_are_replayed(
    case: Case, engine: None, atomic: None, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    with world(monkeypatch) as alone:
        alone.send(case, KEY)
        expected = {name: len(items) for name, items in others().items()}
    with world(monkeypatch) as there:
        look_up_together(monkeypatch)
        with ThreadPoolExecutor(THREADS) as pool:
            answers = list(pool.map(lambda _: there.send(case, KEY), range(THREADS)))
        assert {answer.status for answer in answers} == {200}
        assert len({(answer.text, answer.headers.get("etag")) for answer in answers}) == 1
        assert sorted(REPLAYED in answer.headers for answer in answers) == [False] + [True] * (THREADS - 1)
        assert {name: len(items) for name, items in others().items()} == expected
        shown(requests=THREADS, states=1)


def look_up_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """No request runs its view before all of them have looked their key up, and found none."""
    start, find = threading.Barrier(THREADS), idempotency.find

    def find_together(key: idempotency.Key) -> idempotency.AnswerRow | None:
        stored = find(key)
        start.wait()
        return stored

    monkeypatch.setattr(idempotency, "find", find_together)


@each_case
def test_a_key_that_the_look_up_does_not_show_yet_is_found_at_the_commit(
    case: Case, here: World, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    first, tables = here.send(case, KEY), others()
    hide_the_stored_answer(monkeypatch)
    assert same(first, here.send(case, KEY))
    assert others() == tables
    shown(requests=2, states=1)


@pytest.mark.parametrize(
    ("case", "headers"),
    [
        (named("agent change"), {"If_Match": "tag"}),
        (Case("client", "POST /v2/clients/{client_id}", {"name": "N"}, {"client_id": "new"}), {"If_None_Match": "*"}),
    ],
    ids=["If-Match", "If-None-Match"],
)
def test_a_view_that_its_twin_makes_refuse_answers_as_the_twin(
    case: Case, headers: dict[str, str], here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the twin's effect the precondition no longer holds."""
    tag = here.api.get("/v3/agents/support").headers["etag"]
    given = {name: tag if value == "tag" else value for name, value in headers.items()}
    first = here.send(case, KEY, **given)
    assert here.send(case, "another", **given).status == 412
    hide_the_stored_answer(monkeypatch)
    assert same(first, here.send(case, KEY, **given))


@pytest.mark.parametrize("case_id", ["agent change", "client create", "state replace", "webhook create"])
def test_a_twin_that_commits_first_costs_no_second_run(
    case_id: str, here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view's own conditions fail as well; the key's counts first."""
    first: list[Answer] = []

    def overtake() -> None:
        if not first:
            first.append(None)  # type: ignore[arg-type]
            first[0] = here.send(named(case_id), KEY)

    with monkeypatch.context() as patch, counted() as requests:
        before_each_commit(patch, overtake)
        again = here.send(named(case_id), KEY)
    assert same(first[0], again)
    assert requests["TransactWriteItems"] == 2


def test_a_key_that_another_request_takes_before_the_commit_is_refused(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    others_request = named("lead create")
    sent: list[Answer] = []

    def overtake() -> None:
        if not sent:
            sent.append(None)  # type: ignore[arg-type]
            sent[0] = here.send(others_request, KEY)

    with monkeypatch.context() as patch:
        before_each_commit(patch, overtake)
        refused = here.send(TOOL, KEY)
    assert refusal(refused) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert same(sent[0], here.send(others_request, KEY))
    assert len(here.api.get("/v3/agents/support/tools").data) == 1


def test_a_key_that_expires_between_look_up_and_commit_is_free(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a new request then: the commit replaces the expired row, and only that."""
    first = here.send(TOOL, KEY)
    hide_the_stored_answer(monkeypatch)
    here.now += 24 * 60 * 60 * 1000 - 1
    here.api.get("/v3/agents/support")  # the use of the credential is recorded in a commit of its own
    passed = []

    def expire() -> None:
        if not passed:
            passed.append(True)
            here.now += 1

    with monkeypatch.context() as patch:
        before_each_commit(patch, expire)
        again = here.send(TOOL, KEY)
    assert (again.status, REPLAYED in again.headers) == (200, False)
    assert again.data["id"] != first.data["id"]
    monkeypatch.undo()


# ---- an answer of the database that is lost -------------------------------------------------------

LOST = [
    ("tool create", None, "TransactWriteItems"),
    ("conversation create", None, "TransactWriteItems"),
    ("client save, another email", None, "TransactWriteItems"),
    ("webhook create", None, "TransactWriteItems"),
    ("agent change", None, "PutItem"),
    ("client create, bare", None, "PutItem"),
    ("state replace", None, "PutItem"),
    ("state describe", None, "PutItem"),
    ("webhook rotate", None, "PutItem"),
    ("redeliver", None, "PutItem"),
    ("analytics write", None, "UpdateItem"),
    ("agent change nothing", KEY, "PutItem"),
    ("state read", KEY, "PutItem"),
    *((case_id, KEY, "TransactWriteItems") for case_id in ("agent key clear", "token create", "key rotate")),
    *((case_id, KEY, "TransactWriteItems") for case_id in ("tool create", "state replace", "analytics write")),
]


@pytest.mark.parametrize(("case_id", "key", "operation"), LOST, ids=lambda value: value or "plain")
def test_a_write_that_the_sdk_repeats_has_one_effect_and_the_answer_of_one(
    case_id: str, key: str | None, operation: str, engine: None, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    """The engine here ignores the tokens of transactions: what was written is recognised by its version tag."""
    found = []
    for lost in (False, True):
        with world(monkeypatch) as there:
            there.draw_alike()
            if lost:
                with answer_lost_once(operation), counted() as requests:
                    answer = there.send(named(case_id), key)
                assert requests[operation] == 2
            else:
                answer = there.send(named(case_id), key)
            assert REPLAYED not in answer.headers
            found.append((answer.status, answer.text, answer.headers.get("etag"), list(map(len, others().values()))))
            if key:
                assert same(answer, there.send(named(case_id), key))
    assert found[0][0] == 200
    assert found[1] == found[0]
    shown(faults=1, states=1)


@contextmanager
def outcome_unknown(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inside the block every commit is applied, and its outcome is not learned."""
    commit = Unit.commit

    def unknown(self: Unit) -> None:
        commit(self)
        raise errors.Unavailable()

    with monkeypatch.context() as patch:
        patch.setattr(Unit, "commit", unknown)
        yield


@each_case
def test_an_unknown_outcome_is_resolved_in_the_same_request(
    case: Case, here: World, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    with outcome_unknown(monkeypatch):
        first = here.send(case, KEY)
    tables = others()
    assert first.status == 200
    again = here.send(case, KEY)
    assert (again.text, again.headers[REPLAYED]) == (first.text, "true")
    assert others() == tables
    shown(faults=1, states=1)


@each_case
def test_an_unknown_outcome_that_cannot_be_looked_up_is_resolved_by_the_same_key(
    case: Case, here: World, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    with outcome_unknown(monkeypatch), refused_by_the_engine("TransactGetItems", "InternalServerError"):
        answer = here.send(case, KEY)
    assert refusal(answer) == (503, "UNAVAILABLE")
    assert int(answer.headers["retry-after"]) > 0
    tables = others()
    again = here.send(case, KEY)
    assert (again.status, again.headers[REPLAYED]) == (200, "true")
    assert others() == tables
    shown(faults=2, states=1)
