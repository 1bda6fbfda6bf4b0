"""`Idempotency-Key`: a repeated request has one effect and one response, and a key belongs to one request.

`test_idempotency_keys` tests a key's scope, `test_idempotency_commit` tests the commit, and `test_idempotency_crashes`
tests process crashes.
"""

import pytest

from chalicelib import extensions, storage
from chalicelib.http import idempotency
from chalicelib.tools import store as tools
from tests import costs
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
    case_named,
    each_case,
    each_case_without_a_write,
    each_commit,
    error_of,
    is_replay,
    new_world,
    stored_records,
    turns,
)
from tests.http.replay_cases import world as world
from tests.operations import STATE
from tests.selection import first_case
from tests.webhooks import pipeline

TOOL = case_named("tool create")
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
    assert first.status == case.status
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
    """In two equal worlds, the responses with and without a key are byte-for-byte equal."""
    answers, tables = [], []
    for key in (None, KEY):
        with new_world(monkeypatch) as world:
            world.reseed()
            answers.append(world.send(case, key))
            tables.append({name: len(items) for name, items in stored_records().items()})
    plain, keyed = answers
    assert (keyed.status, keyed.text) == (case.status, plain.text)
    own = {"x-request-id": ""}
    assert {**keyed.headers, **own} == {**plain.headers, **own}
    assert tables[0] == tables[1]
    count_cases(states=2, requests=2)


@each_case_without_a_write
def test_a_request_that_changes_nothing_stores_no_response(case: Case, world: World, count_cases: CaseCounter) -> None:
    """The key is not stored either. Each repeated request runs again, and consumes no write units."""
    tables = stored_records()
    with metered() as meter:
        answers = [world.send(case, KEY) for _ in range(2)]
    assert [(one.status, REPLAYED in one.headers) for one in answers] == [(200, False)] * 2
    assert meter.writes == 0
    assert stored_records() == tables
    assert stored()[TABLE] == []
    count_cases(requests=2, states=1)


@each_commit
@first_case
def test_a_response_is_stored_only_with_a_write(case: Case, world: World, count_cases: CaseCounter) -> None:
    """Many requests change nothing if they are repeated with another key."""
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
    first = world.send(case_named("lead create"), KEY)
    assert (first.status, REPLAYED in first.headers) == (200, False)
    assert error_of(world.send(case, KEY)) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert is_replay(first, world.send(case_named("lead create"), KEY))


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
    """A write that is staged by mistake raises an error instead of being dropped silently."""
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
    first = world.send(case_named(case_id), KEY)
    assert len(stored()[TABLE]) > 2, "the key is not stored with several chunks"
    world.now += MINUTE
    assert is_replay(first, world.send(case_named(case_id), KEY))
    count_cases(requests=2, states=1)


@pytest.mark.parametrize("length", [3_000, 3_900, 4_100, 5_000, 340_000, 360_000, 1_300_000])
@first_case
def test_an_answer_is_stored_completely_at_every_size_limit(
    length: int, world: World, count_cases: CaseCounter
) -> None:
    noise = "".join(map(chr, world._random.choices(range(0x4E00, 0x9000), k=length // 2)))  # hardly compressible
    case = Case("state", STATE, turns(noise), {"user_id": "new"})
    first = world.send(case, KEY)
    assert first.status == 200
    assert is_replay(first, world.send(case, KEY))
    count_cases(requests=2, states=1)


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
    # The fixture's message counts, too.
    world.api.patch("/v3/agents/support", {"agent": {"messagesLimit": 3}})
    assert world.send(case, KEY).status == 200


def test_a_refusal_by_a_precondition_is_not_stored(world: World) -> None:
    case = case_named("agent change")
    assert error_of(world.send(case, KEY, If_Match='"another"')) == (412, "PRECONDITION_FAILED")
    first = world.send(case, KEY, If_Match=world.api.get("/v3/agents/support").headers["etag"])
    assert first.status == 200
    # The header is not part of the request's fingerprint, so a request with another tag also gets the replayed
    # response.
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


def test_a_request_without_a_key_costs_nothing_extra(world: World) -> None:
    with counted() as requests:
        assert world.send(TOOL, None).status == 200
    assert requests == {"GetItem": 1, "PutItem": 1}


# Case -> the operations in docs/costs.csv: without a key, with a key, and repeated with the key.
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
    """A response without changes is not stored, so both requests with the key run the view."""
    for key, operation in zip((None, KEY, KEY), KEYED[case_id], strict=True):
        if case_id != "agent change nothing":
            world.send(STATE_BEFORE, None)  # each request starts from the same state
        with metered() as meter:
            assert world.send(case_named(case_id), key).status == 200
        costs.check(operation, meter)
