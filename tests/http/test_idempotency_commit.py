"""Commits of keyed requests: concurrent duplicates, lost responses and unknown outcomes.

One conditional request to the database writes the view's changes, the key and the response. These tests interrupt a
request after the key lookup and after the view, before it commits.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import ceil
from typing import Any

import pytest
from moto.dynamodb.responses import DynamoHandler

from chalicelib import errors
from chalicelib.http import idempotency
from chalicelib.storage.unit import Unit
from tests.api import Answer
from tests.assertions import stored
from tests.capacity import metered, size
from tests.direct_writes import before_each_commit
from tests.engine_requests import counted, lose_first_answer, refuse_operation
from tests.guarantees import CaseCounter
from tests.http.replay_cases import (
    KEY,
    NOISE,
    REPLAYED,
    TABLE,
    Case,
    World,
    case_named,
    each_commit,
    error_of,
    is_replay,
    new_world,
    stored_records,
)
from tests.http.replay_cases import world as world
from tests.operations import STATE
from tests.selection import first_case

TOOL = case_named("tool create")
THREADS = 8


pytestmark = pytest.mark.guarantee("repeated")


@pytest.fixture
def atomic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Serialise moto's requests, so that each request is atomic as in DynamoDB."""
    lock, call = threading.RLock(), DynamoHandler.call_action

    def locked(self: DynamoHandler) -> Any:
        with lock:
            return call(self)

    monkeypatch.setattr(DynamoHandler, "call_action", locked)


def hide_stored_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide stored keys from the eventually consistent lookup before the view."""
    monkeypatch.setattr(idempotency, "find", lambda key: None)


# ---- concurrent duplicates ------------------------------------------------------------------------


@each_commit
@first_case
def test_eight_concurrent_duplicates_get_one_answer_and_seven_replays(
    case: Case, engine: None, atomic: None, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    with new_world(monkeypatch) as alone:
        alone.send(case, KEY)
        expected = {name: len(items) for name, items in stored_records().items()}
    with new_world(monkeypatch) as world:
        look_up_together(monkeypatch)
        with ThreadPoolExecutor(THREADS) as pool:
            answers = list(pool.map(lambda _: world.send(case, KEY), range(THREADS)))
        assert {answer.status for answer in answers} == {200}
        assert len({(answer.text, answer.headers.get("etag")) for answer in answers}) == 1
        assert sorted(REPLAYED in answer.headers for answer in answers) == [False] + [True] * (THREADS - 1)
        assert {name: len(items) for name, items in stored_records().items()} == expected
        count_cases(requests=THREADS, states=1)


def look_up_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let requests run their views only after all requests have looked up the key and found nothing."""
    start, find = threading.Barrier(THREADS), idempotency.find

    def find_together(key: idempotency.RequestKey) -> idempotency.StoredResponseRow | None:
        stored = find(key)
        start.wait()
        return stored

    monkeypatch.setattr(idempotency, "find", find_together)


@each_commit
@first_case
def test_a_key_that_the_look_up_misses_is_found_at_the_commit(
    case: Case, world: World, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    first, tables = world.send(case, KEY), stored_records()
    hide_stored_keys(monkeypatch)
    assert is_replay(first, world.send(case, KEY))
    assert stored_records() == tables
    count_cases(requests=2, states=1)


def test_a_duplicate_that_finds_nothing_left_to_change_replays_the_first_response(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The duplicate's view runs after the other commit, so it stages no write that the key's condition would reject."""
    case = case_named("message add")
    first = world.send(case, KEY)
    assert REPLAYED not in world.send(case, "another").headers
    hide_stored_keys(monkeypatch)
    with counted() as requests:
        assert is_replay(first, world.send(case, KEY))
    assert not {"PutItem", "TransactWriteItems"} & requests.keys()


@pytest.mark.parametrize(
    ("case", "headers"),
    [
        (case_named("agent change"), {"If_Match": "tag"}),
        (Case("client", "POST /v2/clients/{client_id}", {"name": "N"}, {"client_id": "new"}), {"If_None_Match": "*"}),
    ],
    ids=["If-Match", "If-None-Match"],
)
def test_a_view_that_refuses_after_its_duplicate_replays_the_duplicate_s_answer(
    case: Case, headers: dict[str, str], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The precondition no longer holds after the duplicate's commit."""
    tag = world.api.get("/v3/agents/support").headers["etag"]
    sent_headers = {name: tag if value == "tag" else value for name, value in headers.items()}
    first = world.send(case, KEY, **sent_headers)
    assert world.send(case, "another", **sent_headers).status == 412
    hide_stored_keys(monkeypatch)
    assert is_replay(first, world.send(case, KEY, **sent_headers))


@pytest.mark.parametrize("case_id", ["agent change", "client create", "state replace", "webhook create"])
@first_case
def test_a_duplicate_that_commits_first_costs_no_second_run(
    case_id: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view's own conditions also fail, but the condition on the key takes precedence."""
    first: list[Answer] = []

    def overtake() -> None:
        if not first:
            first.append(None)  # type: ignore[arg-type]
            first[0] = world.send(case_named(case_id), KEY)

    with monkeypatch.context() as patch, counted() as requests:
        before_each_commit(patch, overtake)
        again = world.send(case_named(case_id), KEY)
    assert is_replay(first[0], again)
    assert requests["TransactWriteItems"] == 2


def test_a_key_taken_by_another_request_before_the_commit_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    others_request = case_named("lead create")
    sent: list[Answer] = []

    def overtake() -> None:
        if not sent:
            sent.append(None)  # type: ignore[arg-type]
            sent[0] = world.send(others_request, KEY)

    with monkeypatch.context() as patch:
        before_each_commit(patch, overtake)
        refused = world.send(TOOL, KEY)
    assert error_of(refused) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert is_replay(sent[0], world.send(others_request, KEY))
    assert len(world.api.get("/v3/agents/support/tools").data) == 1


def test_a_key_that_expires_before_the_commit_can_be_reused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second request then counts as new, and its commit replaces only the expired row."""
    first = world.send(TOOL, KEY)
    hide_stored_keys(monkeypatch)
    world.now += 24 * 60 * 60 * 1000 - 1
    world.api.get("/v3/agents/support")  # the credential's use is recorded in a separate commit
    passed = []

    def expire() -> None:
        if not passed:
            passed.append(True)
            world.now += 1

    with monkeypatch.context() as patch:
        before_each_commit(patch, expire)
        again = world.send(TOOL, KEY)
    assert (again.status, REPLAYED in again.headers) == (200, False)
    assert again.data["id"] != first.data["id"]
    monkeypatch.undo()


# ---- lost responses from the database ---------------------------------------------------------------

LOST = [
    ("tool create", None, "PutItem"),
    ("conversation create", None, "PutItem"),
    ("client save, another email", None, "TransactWriteItems"),
    ("webhook create", None, "TransactWriteItems"),
    ("agent change", None, "PutItem"),
    ("client create, bare", None, "PutItem"),
    ("state replace", None, "PutItem"),
    ("state describe", None, "PutItem"),
    ("webhook rotate", None, "PutItem"),
    ("redeliver", None, "PutItem"),
    ("analytics write", None, "UpdateItem"),
    *((case_id, KEY, "TransactWriteItems") for case_id in ("agent key clear", "token create", "key rotate")),
    *((case_id, KEY, "TransactWriteItems") for case_id in ("tool create", "state replace", "analytics write")),
]


@pytest.mark.parametrize(("case_id", "key", "operation"), LOST, ids=lambda value: value or "plain")
@first_case
def test_a_write_that_the_sdk_retries_has_one_effect_and_one_answer(
    case_id: str,
    key: str | None,
    operation: str,
    engine: None,
    monkeypatch: pytest.MonkeyPatch,
    count_cases: CaseCounter,
) -> None:
    """moto ignores transaction tokens, so a version tag identifies the applied write."""
    results = []
    for lost in (False, True):
        with new_world(monkeypatch) as world:
            world.reseed()
            if lost:
                with lose_first_answer(operation), counted() as requests:
                    answer = world.send(case_named(case_id), key)
                assert requests[operation] == 2
            else:
                answer = world.send(case_named(case_id), key)
            assert REPLAYED not in answer.headers
            results.append(
                (answer.status, answer.text, answer.headers.get("etag"), list(map(len, stored_records().values())))
            )
            if key:
                assert is_replay(answer, world.send(case_named(case_id), key))
    assert results[0][0] == 200
    assert results[1] == results[0]
    count_cases(faults=1, states=1)


# ---- pieces of a long response ----------------------------------------------------------------------


@pytest.mark.parametrize("conflicts", [0, 1, 4])
def test_each_attempt_to_commit_writes_the_pieces_of_a_long_answer_once(
    conflicts: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.send(case_named("state replace, large"), None)
    stage, others = idempotency.stage, list(range(conflicts))

    def overtaken(*arguments: Any) -> None:
        stage(*arguments)
        if others:
            world.send(Case("state", STATE, {"metadata": {"userPhone": str(others.pop())}}), None)

    monkeypatch.setattr(idempotency, "stage", overtaken)
    first = world.send(case_named("state describe"), KEY)
    assert others == []
    pieces = attempts_of(stored()[TABLE])
    assert len(pieces) == conflicts + 1
    assert {len(one) for one in pieces} == {4}
    assert is_replay(first, world.send(case_named("state describe"), KEY))


def test_a_refused_commit_costs_the_pieces_of_one_answer(world: World) -> None:
    world.api.post("/v2/agents/other", {"SECRET_API_KEY": "k" * 40})
    world.api.post("/v2/agents/support", {"description": NOISE[:100_000]})
    costs = []
    for key in (None, KEY):
        with metered() as meter:
            refused = world.send(Case("agent", "POST /v2/agents/{agent_id}", {"SECRET_API_KEY": "k" * 40}), key)
        assert error_of(refused) == (409, "KEY_TAKEN")
        costs.append(meter.writes)
    ((piece,),) = attempts_of(stored()[TABLE])
    index_entry = 1
    assert costs == [0, ceil(size(piece) / 1024) + index_entry]


def attempts_of(items: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the pieces that each commit attempt has written."""
    attempts: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        if "piece" in item:
            attempts.setdefault(item["part"]["S"].split("#")[0], []).append(item)
    return [*attempts.values()]


@contextmanager
def outcome_unknown(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Apply every commit inside the block, but report its outcome as unknown."""
    commit = Unit.commit

    def unknown(self: Unit) -> None:
        commit(self)
        raise errors.Unavailable()

    with monkeypatch.context() as patch:
        patch.setattr(Unit, "commit", unknown)
        yield


@each_commit
@first_case
def test_an_unknown_outcome_is_resolved_in_the_same_request(
    case: Case, world: World, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    with outcome_unknown(monkeypatch):
        first = world.send(case, KEY)
    tables = stored_records()
    assert first.status == 200
    again = world.send(case, KEY)
    assert (again.text, again.headers[REPLAYED]) == (first.text, "true")
    assert stored_records() == tables
    count_cases(faults=1, states=1)


@each_commit
@first_case
def test_the_same_key_resolves_an_unknown_outcome_later(
    case: Case, world: World, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    with outcome_unknown(monkeypatch), refuse_operation("TransactGetItems", "InternalServerError"):
        answer = world.send(case, KEY)
    assert error_of(answer) == (503, "UNAVAILABLE")
    assert int(answer.headers["retry-after"]) > 0
    tables = stored_records()
    again = world.send(case, KEY)
    assert (again.status, again.headers[REPLAYED]) == (200, "true")
    assert stored_records() == tables
    count_cases(faults=2, states=1)
