"""An `Idempotency-Key`'s scope, lifetime and stored items."""

import json

import pytest

from chalicelib import errors
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth, idempotency
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.assertions import stored
from tests.guarantees import CaseCounter
from tests.http.replay_cases import (
    CASES,
    KEY,
    REPLAYED,
    TABLE,
    Case,
    World,
    case_named,
    error_of,
    is_replay,
)
from tests.http.replay_cases import world as world
from tests.operations import STATE
from tests.selection import first_case

TOOL = case_named("tool create")
MINUTE = 60 * 1000
DAY = 24 * 60 * MINUTE

pytestmark = pytest.mark.guarantee("repeated")


@pytest.mark.parametrize(
    "other",
    [
        Case("body", TOOL.operation, {"tool": {"name": "Other"}}),
        Case("path", TOOL.operation, TOOL.body, {"agent_id": "other"}),
        Case("query", f"{TOOL.operation}?x=1", TOOL.body),
        Case("method", "PATCH /v3/agents/{agent_id}", TOOL.body),
    ],
    ids=lambda case: case.id,
)
def test_a_key_cannot_be_reused_for_another_request(other: Case, world: World) -> None:
    world.send(TOOL, KEY)
    tables = stored()
    assert error_of(world.send(other, KEY)) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert stored() == tables


def test_equal_keys_of_two_credentials_are_independent(world: World, count_cases: CaseCounter) -> None:
    second = Api(world.api.post("/v3/tokens", {"token": {"name": "Second"}}).data["token"])
    answers = [world.send(TOOL, KEY, api) for api in (world.api, second)]
    assert {answer.status for answer in answers} == {200}
    assert answers[0].data["id"] != answers[1].data["id"]
    assert all(REPLAYED not in answer.headers for answer in answers)
    count_cases(tenants=1)


def test_equal_keys_of_two_workspaces_are_independent(world: World, count_cases: CaseCounter) -> None:
    theirs = Api(workspaces.create("Other").workspace_key)
    theirs.post("/v2/agents/support", {})
    answers = [world.send(TOOL, KEY, api) for api in (world.api, theirs)]
    assert answers[0].data["userId"] != answers[1].data["userId"]
    count_cases(tenants=1)


@pytest.mark.parametrize("case_id", ["tool create", "state replace, large"])
def test_an_answer_expires_after_a_day_even_before_ttl_deletes_it(case_id: str, world: World) -> None:
    case = case_named(case_id)
    first = world.send(case, KEY)
    world.now += DAY - 1_000
    assert is_replay(first, world.send(case, KEY))
    world.now += 1_000
    later = world.send(case, KEY)
    assert (later.status, REPLAYED in later.headers) == (200, False)
    assert later.text != first.text
    assert is_replay(later, world.send(case, KEY))


def test_an_expired_key_can_be_reused_for_another_request(world: World) -> None:
    world.send(TOOL, KEY)
    world.now += DAY
    first = world.send(case_named("lead create"), KEY)
    assert (first.status, REPLAYED in first.headers) == (200, False)
    assert error_of(world.send(TOOL, KEY)) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert is_replay(first, world.send(case_named("lead create"), KEY))


@first_case
@pytest.mark.parametrize("key", ["", " ", "two words", "k" * 256, "\x7f", "schlüssel", "a\tb"])
def test_the_error_for_a_malformed_key_has_the_rule_but_not_the_key(key: str, world: World) -> None:
    answer = world.send(TOOL, key)
    rule = "must be 1 to 255 visible ASCII characters"
    assert error_of(answer) == (400, "INVALID")
    assert answer.json["issues"] == [{"path": "Idempotency-Key", "message": rule}]
    assert len(key) < 2 or key not in answer.text
    assert stored()[TABLE] == []


@pytest.mark.parametrize("key", ["k", "k" * 255, "".join(map(chr, range(0x21, 0x7F)))])
@first_case
def test_a_key_may_be_any_visible_ascii(key: str, world: World) -> None:
    assert is_replay(world.send(TOOL, key), world.send(TOOL, key))


def test_an_unauthorized_caller_stores_no_key(world: World) -> None:
    read_only = {"token": {"name": "Reads", "readOnly": True}}
    reader = Api(world.api.post("/v3/tokens", read_only).data["token"])
    world.api.post("/v2/agents/other", {})
    foreign = Case("state of another agent", STATE, {}, {"agent_id": "other"})
    assert world.send(TOOL, KEY, reader).status == 403
    assert world.send(foreign, KEY, world.agent_key).status == 403
    assert world.send(TOOL, KEY, Api()).status == 401
    assert stored()[TABLE] == []


def test_a_revoked_credential_gets_no_stored_answer(world: World) -> None:
    world.send(TOOL, KEY)
    (row,) = credentials.list_active(world.workspace.workspace_id, tokens.WORKSPACE)[:1]
    credentials.revoke(row)
    auth.clear_cache()
    assert world.send(TOOL, KEY).status == errors.Unauthorized.STATUS_CODE


# ---- stored items ---------------------------------------------------------------------------------


def test_the_table_contains_no_key_secret_or_body_in_clear_text(world: World) -> None:
    cases = [case for case in CASES if "large" not in case.id]
    answers = [world.send(case, KEY + case.id.replace(" ", "-")) for case in cases]
    secrets = {
        word
        for answer in answers
        for word in json.dumps(answer.json).replace('"', " ").split()
        if word.startswith(("cams_", "whsec_"))
    }
    assert len(secrets) >= 4
    text = repr(stored()[TABLE])
    (caller,) = credentials.list_active(world.workspace.workspace_id, tokens.WORKSPACE)[:1]
    messages = [answer.data["id"] for case, answer in zip(cases, answers, strict=True) if case.id == "webhook test"]
    for hidden in (*secrets, *messages, KEY, KEY.strip('"'), caller.credential_id, "new@x.test", "Changed", "Content"):
        assert hidden not in text
    assert all(item["request"]["S"].startswith(f"{world.workspace.workspace_id}#") for item in stored()[TABLE])


def test_a_key_and_its_chunks_expire_after_a_day(world: World) -> None:
    world.send(case_named("state replace, large"), KEY)
    assert {int(item["expires_at"]["N"]) for item in stored()[TABLE]} == {(world.now + DAY) // 1000}


def test_the_repr_of_a_row_shows_only_its_workspace(world: World) -> None:
    world.send(TOOL, KEY)
    row = idempotency.StoredResponseRow.from_raw_data(stored()[TABLE][0])
    assert repr(row) == f"StoredResponseRow({row.workspace_id})"
