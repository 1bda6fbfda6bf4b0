"""Transaction conflicts with other writers, which the tests inject because the emulators never return them.

A conflict changes nothing, and the SDK does not retry it. The service therefore repeats the same request with the same
token. A failed condition determines the error only if no conflict precedes it in the list of reasons.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from chalicelib import storage
from chalicelib.clients import store as clients
from tests.api import Answer
from tests.guarantees import CaseCounter
from tests.http.replay_cases import (
    KEY,
    REPLAYED,
    Case,
    World,
    case_named,
    each_case,
    error_of,
    is_replay,
    new_world,
    stored_records,
)
from tests.http.replay_cases import world as world
from tests.selection import first_case

pytestmark = pytest.mark.guarantee("whole")

CONFLICT, FAILED, NONE = "TransactionConflict", "ConditionalCheckFailed", "None"
WRITES = ("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems")
Request = dict[str, Any]


class Refused(list[tuple[str, Request]]):
    """The rejected requests and later requests for the same operations, in the order in which they were sent."""


@contextmanager
def refusing(answers: Iterator[Callable[[Request], Request]], *operations: str) -> Iterator[Refused]:
    """Inside the block, return these responses to the operations' first requests. Send later requests."""
    seen = Refused()

    def refuse(model: Any, params: dict[str, Any], **_: Any) -> tuple[AWSResponse, Request] | None:
        if model.name not in operations:
            return None
        request = json.loads(params["body"])
        seen.append((model.name, request))
        answer = next(answers, None)
        return answer and (AWSResponse("", 400, {}, None), answer(request))

    events = storage.sdk_client("dynamodb").meta.events
    events.register_first("before-call.dynamodb", refuse)
    try:
        yield seen
    finally:
        events.unregister("before-call.dynamodb", refuse)
    assert next(answers, None) is None, "some responses were not used"


def conflict(request: Request) -> Request:
    """Return a transaction conflict for every item."""
    items = request.get("TransactItems")
    return cancelled([CONFLICT] * len(items)) if items else error("TransactionConflictException")


def cancelled(codes: Sequence[str], items: Sequence[Request | None] = ()) -> Request:
    """Return a cancelled transaction that contains these reasons and the stored items of failed conditions."""
    stored = [*items, *[None] * (len(codes) - len(items))]
    reasons = [{"Code": code, **({"Item": item} if item else {})} for code, item in zip(codes, stored, strict=True)]
    return {**error("TransactionCanceledException"), "CancellationReasons": reasons}


def error(code: str) -> Request:
    return {"Error": {"Code": code, "Message": "Injected"}, "ResponseMetadata": {"HTTPStatusCode": 400}}


@each_case
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@first_case
def test_a_conflicting_write_is_retried_unchanged_until_it_succeeds(
    key: str | None, case: Case, engine: None, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    results = []
    for conflicts in (0, 3):
        with new_world(monkeypatch) as world:
            world.reseed()
            with counted_refusals(conflicts, writes_of(case, key)) as seen:
                answer = world.send(case, key)
            results.append(
                (answer.status, untimed(answer), answer.headers.get("etag"), list(map(len, stored_records().values())))
            )
            if conflicts and seen:
                (first, *again) = seen[: conflicts + 1]
                assert again == [first] * conflicts, "the retry must be the same request with the same token"
                count_cases(faults=conflicts, states=1)
    assert results[0][0] == case.status
    assert results[1] == results[0]


def untimed(answer: Answer) -> str:
    """Return a response's text without the duration of a tool call."""
    return re.sub(r'"durationMs":\d+', "", answer.text)


def writes_of(case: Case, key: str | None) -> bool:
    """Return whether the request writes. Without a key, some cases change nothing."""
    return key is not None or case.id not in ("agent change nothing", "state read", "tool test")


@contextmanager
def counted_refusals(conflicts: int, is_written: bool) -> Iterator[Refused]:
    with refusing(iter([conflict] * conflicts * is_written), *WRITES) as seen:
        yield seen


@pytest.mark.parametrize("case_id", ["tool create", "agent change", "analytics write", "state replace"])
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@first_case
def test_lasting_conflicts_are_a_503_and_change_nothing(
    key: str | None, case_id: str, world: World, count_cases: CaseCounter
) -> None:
    tables = stored_records()
    with refusing(iter([conflict] * 12), *WRITES):
        answer = world.send(case_named(case_id), key)
    assert error_of(answer) == (503, "UNAVAILABLE")
    assert int(answer.headers["retry-after"]) > 0
    assert stored_records() == tables
    again = world.send(case_named(case_id), key)
    assert (again.status, REPLAYED in again.headers) == (200, False)
    count_cases(faults=12, states=1)


def test_a_conflicting_deletion_is_retried(world: World, count_cases: CaseCounter) -> None:
    with refusing(iter([conflict] * 3), *WRITES) as seen:
        assert world.api.delete(f"/v3/tools/{world.values['tool_id']}").status == 200
    assert len(seen) == 4
    assert world.api.get(f"/v3/tools/{world.values['tool_id']}").status == 404
    count_cases(faults=3, states=1)


def test_the_key_look_up_after_a_refusal_is_retried_after_conflicts(world: World, count_cases: CaseCounter) -> None:
    first = world.send(case_named("tool create"), KEY)
    case = Case("unknown agent", "POST /v3/agents/{agent_id}/tools", {"tool": {"name": "x"}}, {"agent_id": "unknown"})
    with refusing(iter([conflict] * 3), "TransactGetItems") as seen:
        assert world.send(case, "another").status == 404
    assert len(seen) == 4
    with refusing(iter([conflict] * 12), "TransactGetItems"):
        assert error_of(world.send(case, "another")) == (503, "UNAVAILABLE")
    assert is_replay(first, world.send(case_named("tool create"), KEY))
    count_cases(faults=15, states=1)


# ---- conflicts combined with a failed condition -------------------------------------------------------------


@pytest.mark.parametrize("code", ["ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_throttled_transaction_is_sent_again(code: str, world: World, count_cases: CaseCounter) -> None:
    with refusing(iter([lambda _: cancelled([code, NONE])]), "TransactWriteItems") as seen:
        assert world.send(case_named("tool create"), KEY).status == 200
    assert len(seen) == 2
    count_cases(faults=1)


EMAIL = Case("", "POST /v2/clients/{client_id}", {"email": "b@x.test"})
# The transaction writes the key (if any), the client, the new email (EMAIL_TAKEN) and the old email.
MIXED = [
    ([NONE, FAILED, CONFLICT], (409, "EMAIL_TAKEN"), 1),
    ([CONFLICT, FAILED, NONE], 200, 2),
    ([CONFLICT, FAILED, CONFLICT], 200, 2),
    ([FAILED, CONFLICT, NONE], 200, 2),
    ([NONE, CONFLICT, FAILED], 200, 2),
    ([NONE, NONE, CONFLICT], 200, 2),
]


@pytest.mark.parametrize(("codes", "expected", "sent"), MIXED, ids=lambda value: str(value).replace(" ", ""))
@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "keyed"])
@first_case
def test_the_first_failed_step_determines_the_answer(
    key: str | None, codes: list[str], expected: Any, sent: int, world: World, count_cases: CaseCounter
) -> None:
    given = [NONE] * (key is not None) + codes
    before = clients.read(world.workspace.workspace_id, "ann").open()["email"]
    with refusing(iter([lambda _: cancelled(given)]), "TransactWriteItems") as seen:
        answer = world.send(EMAIL, key)
    assert (error_of(answer) if answer.status >= 400 else answer.status) == expected
    assert len(seen) == sent
    document = clients.read(world.workspace.workspace_id, "ann").open()
    assert document["email"] == ("b@x.test" if answer.status == 200 else before)
    if codes[0] == FAILED:  # the view ran again, and its request had a new token
        assert seen[0][1]["ClientRequestToken"] != seen[1][1]["ClientRequestToken"]
    elif sent == 2:
        assert seen[0] == seen[1]
    count_cases(faults=1, states=1)


@pytest.mark.parametrize("codes", [[CONFLICT, NONE], [CONFLICT, FAILED]], ids=["alone", "with a failed condition"])
def test_a_conflict_at_the_key_is_retried(codes: list[str], world: World, count_cases: CaseCounter) -> None:
    """Simulate a duplicate request that is being committed. The retry finds the stored response or commits."""
    case = case_named("agent change")
    with refusing(iter([lambda _: cancelled(codes)] * 2), "TransactWriteItems") as seen:
        first = world.send(case, KEY)
    assert (first.status, REPLAYED in first.headers) == (200, False)
    assert seen[0] == seen[1] == seen[2]
    assert is_replay(first, world.send(case, KEY))
    count_cases(faults=2, states=1)


@pytest.mark.parametrize("codes", [[], [NONE, NONE]], ids=["no reasons", "only None"])
def test_a_cancellation_without_a_reason_is_a_503(codes: list[str], world: World, count_cases: CaseCounter) -> None:
    tables = stored_records()
    with refusing(iter([lambda _: cancelled(codes)]), "TransactWriteItems"):
        assert error_of(world.send(case_named("tool create"), KEY)) == (503, "UNAVAILABLE")
    assert stored_records() == tables
    count_cases(faults=1, states=1)


def test_our_version_tag_in_a_conflict_means_that_the_write_succeeded(world: World, count_cases: CaseCounter) -> None:
    """Simulate a lost response, and another transaction that locks an item during the SDK's retry."""
    written: list[Request] = []

    def done(request: Request) -> Request:
        with_tag = [step["Put"]["Item"] if "Put" in step else None for step in request["TransactItems"]]
        written.extend(item for item in with_tag if item)
        return cancelled([FAILED, CONFLICT], with_tag)

    with refusing(iter([done]), "TransactWriteItems") as seen:
        answer = world.send(case_named("tool create"), KEY)
    assert (answer.status, len(seen)) == (200, 1)
    assert answer.headers["etag"].strip('"') == written[-1]["version_tag"]["S"]
    count_cases(faults=1, states=1)
