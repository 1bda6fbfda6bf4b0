"""`Idempotency-Key`: a request that is sent again has one effect and the same answer; a key belongs to one request.

What happens at the commit is in `test_idempotency_commit`, processes that end are in `test_idempotency_crashes`.
"""

import json

import pytest

from chalicelib import errors, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth, idempotency
from chalicelib.tools import store as tools
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.builders import state_body
from tests.capacity import metered
from tests.contract.test_routes import OPERATIONS
from tests.evidence import stored
from tests.operations import STATE
from tests.promises import Shown
from tests.repeating import (
    CASES,
    KEY,
    REPLAYED,
    TABLE,
    Case,
    World,
    each_case,
    named,
    others,
    refusal,
    same,
    turns,
    world,
)
from tests.repeating import here as here
from tests.requests import counted, refused_by_the_engine
from tests.selection import one_of_each
from tests.webhooks import pipeline

TOOL = named("tool create")
STATE_BEFORE = Case("state before", STATE, turns("Before"))
MINUTE = 60 * 1000
DAY = 24 * 60 * MINUTE

pytestmark = pytest.mark.promise("repeated")


# ---- the same request again -----------------------------------------------------------------------


def test_every_post_and_patch_is_in_the_table() -> None:
    wanted = {f"{one['method']} {one['path']}" for one in OPERATIONS if one["method"] in idempotency.METHODS}
    assert {case.operation for case in CASES} == wanted


@one_of_each(lambda case: case.record)
@each_case
def test_the_same_request_again_has_the_same_answer_and_no_effect(case: Case, here: World, shown: Shown) -> None:
    first = here.send(case, KEY)
    tables, stream = others(), pipeline.Stream()
    here.now += 5 * MINUTE

    again = here.send(case, KEY)
    assert first.status == 200
    assert REPLAYED not in first.headers
    assert same(first, again)
    assert others() == tables
    assert stream.read() == []
    shown(requests=2, states=len(tables))


@one_of_each(lambda case: case.record)
@each_case
def test_a_key_changes_nothing_in_the_first_answer(
    case: Case, engine: None, monkeypatch: pytest.MonkeyPatch, shown: Shown
) -> None:
    """Two worlds that draw alike: with a key and without one every byte of the answer is the same."""
    answers, tables = [], []
    for key in (None, KEY):
        with world(monkeypatch) as there:
            there.draw_alike()
            answers.append(there.send(case, key))
            tables.append({name: len(items) for name, items in others().items()})
    plain, keyed = answers
    assert (keyed.status, keyed.text) == (200, plain.text)
    own = {"x-request-id": ""}
    assert {**keyed.headers, **own} == {**plain.headers, **own}
    assert tables[0] == tables[1]
    shown(states=2, requests=2)


def test_other_methods_ignore_the_header(here: World) -> None:
    headers = {**here.api._headers, idempotency.HEADER: "not a key"}
    assert here.api.call("GET", "/v3/agents/support", None, headers).status == 200
    assert here.api.call("DELETE", "/v3/clients/ann", None, headers).status == 200
    assert here.api.call("DELETE", "/v3/clients/ann", None, headers).status == 404
    assert stored()[TABLE] == []


def test_a_get_opens_no_unit_of_work(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that is staged by mistake fails instead of being dropped."""
    read = tools.read

    def writing(*arguments: str) -> tools.ToolRow:
        row = read(*arguments)
        storage.delete(row)
        return row

    monkeypatch.setattr(tools, "read", writing)
    path = f"/v3/tools/{here.values['tool_id']}"
    assert here.api.get(path).status == 500
    monkeypatch.undo()
    assert tools.find(here.workspace.workspace_id, here.values["tool_id"]) is not None


@pytest.mark.parametrize("case_id", ["state replace, large", "state create, large"])
def test_an_answer_of_any_size_is_kept(case_id: str, here: World, shown: Shown) -> None:
    first = here.send(named(case_id), KEY)
    assert len(stored()[TABLE]) > 2, "the key and more than one piece"
    here.now += MINUTE
    assert same(first, here.send(named(case_id), KEY))
    shown(requests=2, states=1)


@pytest.mark.parametrize("length", [3_000, 3_900, 4_100, 5_000, 340_000, 360_000, 1_300_000])
def test_an_answer_is_kept_whole_on_both_sides_of_every_bound(length: int, here: World, shown: Shown) -> None:
    noise = "".join(map(chr, here._random.choices(range(0x4E00, 0x9000), k=length // 2)))  # hardly compresses
    case = Case("state", STATE, turns(noise), {"user_id": "new"})
    first = here.send(case, KEY)
    assert first.status == 200
    assert same(first, here.send(case, KEY))
    shown(requests=2, states=1)


# ---- which request a key belongs to, and for how long ---------------------------------------------


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
def test_a_key_is_not_for_another_request(other: Case, here: World) -> None:
    here.send(TOOL, KEY)
    tables = stored()
    assert refusal(here.send(other, KEY)) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert stored() == tables


def test_the_key_of_another_credential_is_another_key(here: World, shown: Shown) -> None:
    second = Api(here.api.post("/v3/tokens", {"token": {"name": "Second"}}).data["token"])
    answers = [here.send(TOOL, KEY, api) for api in (here.api, second)]
    assert {answer.status for answer in answers} == {200}
    assert answers[0].data["id"] != answers[1].data["id"]
    assert all(REPLAYED not in answer.headers for answer in answers)
    shown(tenants=1)


def test_the_key_of_another_workspace_is_another_key(here: World, shown: Shown) -> None:
    theirs = Api(workspaces.create("Other").workspace_key)
    theirs.post("/v2/agents/support", {})
    answers = [here.send(TOOL, KEY, api) for api in (here.api, theirs)]
    assert answers[0].data["userId"] != answers[1].data["userId"]
    shown(tenants=1)


@pytest.mark.parametrize("case_id", ["tool create", "state replace, large"])
def test_an_answer_is_kept_for_a_day_although_the_database_deletes_it_later(case_id: str, here: World) -> None:
    case = named(case_id)
    first = here.send(case, KEY)
    here.now += DAY - 1_000
    assert same(first, here.send(case, KEY))
    here.now += 1_000
    later = here.send(case, KEY)
    assert (later.status, REPLAYED in later.headers) == (200, False)
    assert later.text != first.text
    assert same(later, here.send(case, KEY))


def test_an_expired_key_may_belong_to_another_request(here: World) -> None:
    here.send(TOOL, KEY)
    here.now += DAY
    first = here.send(named("lead create"), KEY)
    assert (first.status, REPLAYED in first.headers) == (200, False)
    assert refusal(here.send(TOOL, KEY)) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert same(first, here.send(named("lead create"), KEY))


@one_of_each(lambda: None)
@pytest.mark.parametrize("key", ["", " ", "two words", "k" * 256, "\x7f", "schlüssel", "a\tb"])
def test_a_malformed_key_is_refused_by_its_rule_and_not_quoted(key: str, here: World) -> None:
    answer = here.send(TOOL, key)
    rule = "must be 1 to 255 visible ASCII characters"
    assert refusal(answer) == (400, "INVALID")
    assert answer.json["issues"] == [{"path": "Idempotency-Key", "message": rule}]
    assert len(key) < 2 or key not in answer.text
    assert stored()[TABLE] == []


@pytest.mark.parametrize("key", ["k", "k" * 255, "".join(map(chr, range(0x21, 0x7F)))])
def test_any_visible_ascii_is_a_key(key: str, here: World) -> None:
    assert same(here.send(TOOL, key), here.send(TOOL, key))


def test_a_caller_without_the_right_stores_no_key(here: World) -> None:
    read_only = {"token": {"name": "Reads", "readOnly": True}}
    reader = Api(here.api.post("/v3/tokens", read_only).data["token"])
    here.api.post("/v2/agents/other", {})
    foreign = Case("state of another agent", STATE, {}, {"agent_id": "other"})
    assert here.send(TOOL, KEY, reader).status == 403
    assert here.send(foreign, KEY, here.agent_key).status == 403
    assert here.send(TOOL, KEY, Api()).status == 401
    assert stored()[TABLE] == []


def test_a_revoked_credential_gets_no_stored_answer(here: World) -> None:
    here.send(TOOL, KEY)
    (row,) = credentials.list_active(here.workspace.workspace_id, tokens.WORKSPACE)[:1]
    credentials.revoke(row)
    auth.clear_cache()
    assert here.send(TOOL, KEY).status == errors.Unauthorized.STATUS_CODE


# ---- after a refusal ------------------------------------------------------------------------------


def test_a_refused_request_may_be_sent_again_with_its_key(here: World) -> None:
    case = Case("tool of a new agent", TOOL.operation, TOOL.body, {"agent_id": "late"})
    assert here.send(case, KEY).status == 404
    assert stored()[TABLE] == []
    here.api.post("/v2/agents/late", {})
    first = here.send(case, KEY)
    assert (first.status, REPLAYED in first.headers) == (200, False)
    assert same(first, here.send(case, KEY))


def test_a_refused_request_may_be_changed_and_sent_again_with_its_key(here: World) -> None:
    assert here.send(TOOL, KEY, body={"tool": {"name": 1}}).status == 400
    first = here.send(TOOL, KEY)
    assert (first.status, REPLAYED in first.headers) == (200, False)
    assert refusal(here.send(TOOL, KEY, body={"tool": {"name": 1}})) == (409, "IDEMPOTENCY_KEY_REUSED")


def test_a_refusal_by_a_limit_is_not_kept(here: World) -> None:
    here.api.patch("/v3/agents/support", {"agent": {"messagesLimit": 1}})
    case = Case("state", STATE, state_body("One", "Two"))
    assert refusal(here.send(case, KEY)) == (429, "LIMIT_REACHED")
    here.api.patch("/v3/agents/support", {"agent": {"messagesLimit": 2}})
    assert here.send(case, KEY).status == 200


def test_a_refusal_by_a_precondition_is_not_kept(here: World) -> None:
    case = named("agent change")
    assert refusal(here.send(case, KEY, If_Match='"another"')) == (412, "PRECONDITION_FAILED")
    first = here.send(case, KEY, If_Match=here.api.get("/v3/agents/support").headers["etag"])
    assert first.status == 200
    # The header is not part of the request's fingerprint: the version that it named is no longer stored.
    assert same(first, here.send(case, KEY, If_Match='"another"'))


@pytest.mark.parametrize("code", ["ThrottlingException", "InternalServerError"])
def test_a_busy_database_is_no_answer_to_keep(code: str, here: World, shown: Shown) -> None:
    with refused_by_the_engine("TransactWriteItems", code):
        answer = here.send(TOOL, KEY)
    assert refusal(answer) == (503, "UNAVAILABLE")
    assert here.send(TOOL, KEY).status == 200
    assert len(tools.list_page(here.workspace.workspace_id, "support")) == 2
    shown(faults=1)


def test_a_failure_of_the_service_is_no_answer_to_keep(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as failing:
        failing.setattr(tools, "create", lambda *_: 1 // 0)
        assert here.send(TOOL, KEY).status == 500
    assert stored()[TABLE] == []
    assert here.send(TOOL, KEY).status == 200


def test_a_replay_touches_nothing_that_changed_since(here: World) -> None:
    case = Case("save", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "Mine"}})
    first = here.send(case, KEY)
    here.api.patch("/v3/agents/support", {"agent": {"title": "Yours"}})
    assert same(first, here.send(case, KEY))
    assert here.api.get("/v3/agents/support").data["title"] == "Yours"


def test_a_replay_creates_nothing_that_was_deleted_since(here: World) -> None:
    first = here.send(TOOL, KEY)
    assert here.api.delete(f"/v3/tools/{first.data['id']}").status == 200
    assert same(first, here.send(TOOL, KEY))
    assert here.api.get(f"/v3/tools/{first.data['id']}").status == 404
    assert here.api.delete("/v3/agents/support").status == 200
    assert same(first, here.send(TOOL, KEY))


# ---- what the table holds, and what a key costs ---------------------------------------------------


def test_no_key_no_secret_and_no_body_is_in_the_table_in_clear(here: World) -> None:
    answers = [here.send(case, KEY + case.id.replace(" ", "-")) for case in CASES if "large" not in case.id]
    secrets = {
        word
        for answer in answers
        for word in json.dumps(answer.json).replace('"', " ").split()
        if word.startswith(("cams_", "whsec_"))
    }
    assert len(secrets) >= 4
    text = repr(stored()[TABLE])
    (caller,) = credentials.list_active(here.workspace.workspace_id, tokens.WORKSPACE)[:1]
    messages = [answer.data["id"] for case, answer in zip(CASES, answers, strict=False) if case.id == "webhook test"]
    for hidden in (*secrets, *messages, KEY, KEY.strip('"'), caller.credential_id, "new@x.test", "Changed", "Content"):
        assert hidden not in text
    assert all(item["request"]["S"].startswith(f"{here.workspace.workspace_id}#") for item in stored()[TABLE])


def test_key_and_pieces_expire_after_a_day(here: World) -> None:
    here.send(named("state replace, large"), KEY)
    assert {int(item["expires_at"]["N"]) for item in stored()[TABLE]} == {(here.now + DAY) // 1000}


def test_without_a_key_no_request_is_added(here: World) -> None:
    with counted() as requests:
        assert here.send(TOOL, None).status == 200
    assert requests == {"TransactWriteItems": 1}


@pytest.mark.parametrize(
    ("case_id", "plain", "keyed"),
    [
        ("tool create", (1, 0, 4), (2, 0.5, 6)),
        ("tool change", (2, 1, 1), (3, 1.5, 4)),
        ("state replace", (2, 3, 2), (3, 3.5, 5)),
        ("agent change nothing", (1, 1, 0), (3, 1.5, 1)),
    ],
)
def test_a_key_costs_a_look_up_and_its_part_of_the_commit(
    case_id: str, plain: tuple[float, ...], keyed: tuple[float, ...], here: World
) -> None:
    """Requests, read units and write units: of the request without a key, with one, and of its replay."""
    costs = []
    for key in (None, KEY, KEY):
        here.send(STATE_BEFORE, None)  # the same one for each of them
        with metered() as meter:
            assert here.send(named(case_id), key).status == 200
        costs.append((meter.total, meter.reads, meter.writes))
    assert costs == [plain, keyed, (1, 0.5, 0)]


def test_a_row_of_the_table_shows_its_place_only(here: World) -> None:
    here.send(TOOL, KEY)
    row = idempotency.AnswerRow.from_raw_data(stored()[TABLE][0])
    assert repr(row) == f"AnswerRow({row.request}/answer)"
