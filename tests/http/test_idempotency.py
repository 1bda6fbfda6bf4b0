"""`Idempotency-Key`: a repeated request has one effect and the same answer; a key belongs to one request.

`test_idempotency_commit` tests the commit, `test_idempotency_crashes` crashes of the process.
"""

import json

import pytest

from chalicelib import errors, extensions, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth, idempotency
from chalicelib.tools import store as tools
from chalicelib.workspaces import store as workspaces
from tests import costs
from tests.api import Api
from tests.assertions import stored
from tests.builders import state_body
from tests.capacity import metered
from tests.contract.test_routes import OPERATIONS
from tests.engine_requests import counted, refuse_operation
from tests.guarantees import CaseCounter
from tests.http.replay_cases import (
    CASES,
    KEY,
    NO_WRITE,
    REPLAYED,
    TABLE,
    Case,
    World,
    each_case,
    each_case_without_a_write,
    error_of,
    is_replay,
    named,
    new_world,
    stored_records,
    turns,
)
from tests.http.replay_cases import world as world
from tests.operations import STATE
from tests.selection import first_case
from tests.webhooks import pipeline

TOOL = named("tool create")
STATE_BEFORE = Case("state before", STATE, turns("Before"))
MINUTE = 60 * 1000
DAY = 24 * 60 * MINUTE

pytestmark = pytest.mark.guarantee("repeated")


# ---- repeated requests ----------------------------------------------------------------------------


def test_the_table_has_every_operation_that_takes_a_key() -> None:
    wanted = {f"{one['method']} {one['path']}" for one in OPERATIONS if one["method"] in idempotency.METHODS}
    assert {case.operation for case in (*CASES, *NO_WRITE)} == wanted


@each_case
@first_case
def test_a_repeated_request_gets_the_same_answer_and_has_no_effect(
    case: Case, world: World, count_cases: CaseCounter
) -> None:
    first = world.send(case, KEY)
    tables, stream = stored_records(), pipeline.Stream()
    world.now += 5 * MINUTE

    again = world.send(case, KEY)
    assert first.status == 200
    assert REPLAYED not in first.headers
    assert is_replay(first, again)
    assert stored_records() == tables
    assert stream.read() == []
    count_cases(requests=2, states=len(tables))


@each_case
@first_case
def test_a_key_does_not_change_the_first_answer(
    case: Case, engine: None, monkeypatch: pytest.MonkeyPatch, count_cases: CaseCounter
) -> None:
    """In two equal worlds, the answers with a key and without one are byte for byte equal."""
    answers, tables = [], []
    for key in (None, KEY):
        with new_world(monkeypatch) as world:
            world.reseed()
            answers.append(world.send(case, key))
            tables.append({name: len(items) for name, items in stored_records().items()})
    plain, keyed = answers
    assert (keyed.status, keyed.text) == (200, plain.text)
    own = {"x-request-id": ""}
    assert {**keyed.headers, **own} == {**plain.headers, **own}
    assert tables[0] == tables[1]
    count_cases(states=2, requests=2)


@each_case_without_a_write
def test_a_request_that_changes_nothing_stores_no_response(case: Case, world: World, count_cases: CaseCounter) -> None:
    """Neither its response nor its key: each repeat runs again, and consumes no write unit."""
    tables = stored_records()
    with metered() as meter:
        answers = [world.send(case, KEY) for _ in range(2)]
    assert [(one.status, REPLAYED in one.headers) for one in answers] == [(200, False)] * 2
    assert meter.writes == 0
    assert stored_records() == tables
    assert stored()[TABLE] == []
    count_cases(requests=2, states=1)


@each_case
@first_case
def test_a_response_is_stored_only_with_a_write(case: Case, world: World, count_cases: CaseCounter) -> None:
    """Many requests change nothing when they are sent again under another key."""
    world.send(case, None)
    tables = stored_records()
    with metered() as meter:
        answer = world.send(case, KEY)
    assert answer.status in (200, 409)
    is_unchanged = stored_records() == tables
    assert is_unchanged == (stored()[TABLE] == []) == (meter.writes == 0)
    count_cases(requests=2, states=1)


@each_case_without_a_write
def test_a_request_that_changes_nothing_does_not_use_up_its_key(case: Case, world: World) -> None:
    assert world.send(case, KEY).status == 200
    first = world.send(named("lead create"), KEY)
    assert (first.status, REPLAYED in first.headers) == (200, False)
    assert error_of(world.send(case, KEY)) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert is_replay(first, world.send(named("lead create"), KEY))


def test_other_methods_ignore_the_header(world: World) -> None:
    headers = {**world.api._headers, idempotency.HEADER: "not a key"}
    assert world.api.call("GET", "/v3/agents/support", None, headers).status == 200
    assert world.api.call("DELETE", "/v3/clients/ann", None, headers).status == 200
    assert world.api.call("DELETE", "/v3/clients/ann", None, headers).status == 404
    assert stored()[TABLE] == []


OPEN = [("GET", "/openapi.json", 200), *([("POST", "/console", 415)] if extensions.has("console") else [])]


@pytest.mark.parametrize(("method", "path", "status"), OPEN)
def test_a_route_without_a_bearer_token_ignores_the_header(method: str, path: str, status: int, world: World) -> None:
    plain, keyed = (world.api.call(method, path, None, one) for one in ({}, {idempotency.HEADER: KEY}))
    assert (plain.status, keyed.status) == (status, status)
    assert stored()[TABLE] == []


def test_a_get_opens_no_unit_of_work(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write staged by mistake raises an error; it is not dropped silently."""
    read = tools.read

    def writing(*arguments: str) -> tools.ToolRow:
        row = read(*arguments)
        storage.delete(row)
        return row

    monkeypatch.setattr(tools, "read", writing)
    path = f"/v3/tools/{world.values['tool_id']}"
    assert world.api.get(path).status == 500
    monkeypatch.undo()
    assert tools.find(world.workspace.workspace_id, world.values["tool_id"]) is not None


@pytest.mark.parametrize("case_id", ["state replace, large", "state create, large"])
def test_an_answer_of_any_size_is_stored(case_id: str, world: World, count_cases: CaseCounter) -> None:
    first = world.send(named(case_id), KEY)
    assert len(stored()[TABLE]) > 2, "the key and several chunks"
    world.now += MINUTE
    assert is_replay(first, world.send(named(case_id), KEY))
    count_cases(requests=2, states=1)


@pytest.mark.parametrize("length", [3_000, 3_900, 4_100, 5_000, 340_000, 360_000, 1_300_000])
@first_case
def test_an_answer_is_stored_completely_at_every_size_limit(
    length: int, world: World, count_cases: CaseCounter
) -> None:
    noise = "".join(map(chr, world._random.choices(range(0x4E00, 0x9000), k=length // 2)))  # hardly compresses
    case = Case("state", STATE, turns(noise), {"user_id": "new"})
    first = world.send(case, KEY)
    assert first.status == 200
    assert is_replay(first, world.send(case, KEY))
    count_cases(requests=2, states=1)


# ---- scope and lifetime of a key ------------------------------------------------------------------


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
    case = named(case_id)
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
    first = world.send(named("lead create"), KEY)
    assert (first.status, REPLAYED in first.headers) == (200, False)
    assert error_of(world.send(TOOL, KEY)) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert is_replay(first, world.send(named("lead create"), KEY))


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


# ---- after an error -------------------------------------------------------------------------------


def test_a_refused_request_can_be_retried_with_its_key(world: World) -> None:
    case = Case("tool of a new agent", TOOL.operation, TOOL.body, {"agent_id": "late"})
    assert world.send(case, KEY).status == 404
    assert stored()[TABLE] == []
    world.api.post("/v2/agents/late", {})
    first = world.send(case, KEY)
    assert (first.status, REPLAYED in first.headers) == (200, False)
    assert is_replay(first, world.send(case, KEY))


def test_a_refused_request_can_be_corrected_and_sent_with_its_key(world: World) -> None:
    assert world.send(TOOL, KEY, body={"tool": {"name": 1}}).status == 400
    first = world.send(TOOL, KEY)
    assert (first.status, REPLAYED in first.headers) == (200, False)
    assert error_of(world.send(TOOL, KEY, body={"tool": {"name": 1}})) == (409, "IDEMPOTENCY_KEY_REUSED")


def test_a_refusal_by_a_limit_is_not_stored(world: World) -> None:
    world.api.patch("/v3/agents/support", {"agent": {"messagesLimit": 1}})
    case = Case("state", STATE, state_body("One", "Two"))
    assert error_of(world.send(case, KEY)) == (429, "LIMIT_REACHED")
    # The fixture has sent a message, which counts as well.
    world.api.patch("/v3/agents/support", {"agent": {"messagesLimit": 3}})
    assert world.send(case, KEY).status == 200


def test_a_refusal_by_a_precondition_is_not_stored(world: World) -> None:
    case = named("agent change")
    assert error_of(world.send(case, KEY, If_Match='"another"')) == (412, "PRECONDITION_FAILED")
    first = world.send(case, KEY, If_Match=world.api.get("/v3/agents/support").headers["etag"])
    assert first.status == 200
    # The header is not part of the request's fingerprint, so another tag replays the answer, too.
    assert is_replay(first, world.send(case, KEY, If_Match='"another"'))


@pytest.mark.parametrize("code", ["ThrottlingException", "InternalServerError"])
def test_an_error_of_a_busy_database_is_not_stored(code: str, world: World, count_cases: CaseCounter) -> None:
    with refuse_operation("TransactWriteItems", code):
        answer = world.send(TOOL, KEY)
    assert error_of(answer) == (503, "UNAVAILABLE")
    assert world.send(TOOL, KEY).status == 200
    assert len([*tools.list_page(world.workspace.workspace_id, "support")]) == 2
    count_cases(faults=1)


def test_an_internal_error_is_not_stored(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as failing:
        failing.setattr(tools, "create", lambda *_: 1 // 0)
        assert world.send(TOOL, KEY).status == 500
    assert stored()[TABLE] == []
    assert world.send(TOOL, KEY).status == 200


def test_a_replay_does_not_overwrite_later_changes(world: World) -> None:
    case = Case("save", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "Mine"}})
    first = world.send(case, KEY)
    world.api.patch("/v3/agents/support", {"agent": {"title": "Yours"}})
    assert is_replay(first, world.send(case, KEY))
    assert world.api.get("/v3/agents/support").data["title"] == "Yours"


def test_a_replay_does_not_recreate_a_deleted_record(world: World) -> None:
    first = world.send(TOOL, KEY)
    assert world.api.delete(f"/v3/tools/{first.data['id']}").status == 200
    assert is_replay(first, world.send(TOOL, KEY))
    assert world.api.get(f"/v3/tools/{first.data['id']}").status == 404
    assert world.api.delete("/v3/agents/support").status == 200
    assert is_replay(first, world.send(TOOL, KEY))


# ---- stored items and costs -----------------------------------------------------------------------


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
    world.send(named("state replace, large"), KEY)
    assert {int(item["expires_at"]["N"]) for item in stored()[TABLE]} == {(world.now + DAY) // 1000}


def test_a_request_without_a_key_costs_nothing_extra(world: World) -> None:
    with counted() as requests:
        assert world.send(TOOL, None).status == 200
    assert requests == {"GetItem": 1, "PutItem": 1}


# Case -> the operations in docs/costs.md: without a key, with one, and repeated.
REPEATED = "repeat a change with a key"
KEYED = {
    "tool create": ("create a tool", "create a tool with a key", REPEATED),
    "tool change": ("change a tool", "change a tool with a key", REPEATED),
    "state replace": ("replace a state", "replace a state with a key", REPEATED),
    "agent change nothing": ("change nothing in an agent", *["change nothing in an agent with a key"] * 2),
}


@pytest.mark.parametrize("case_id", KEYED)
@first_case
def test_a_key_costs_a_look_up_and_a_part_of_the_commit(case_id: str, world: World) -> None:
    """A change of nothing is looked up twice: a transaction reads the commits that the view has seen."""
    for key, operation in zip((None, KEY, KEY), KEYED[case_id], strict=True):
        if case_id != "agent change nothing":
            world.send(STATE_BEFORE, None)  # each request starts from the same state
        with metered() as meter:
            assert world.send(named(case_id), key).status == 200
        costs.check(operation, meter)


def test_the_repr_of_a_row_shows_only_its_workspace(world: World) -> None:
    world.send(TOOL, KEY)
    row = idempotency.StoredResponseRow.from_raw_data(stored()[TABLE][0])
    assert repr(row) == f"StoredResponseRow({row.workspace_id})"
