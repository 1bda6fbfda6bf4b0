"""`Idempotency-Key`: a request that is sent again has its effect once, and the same answer; a key is one request's."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib import clock, errors, ids, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth, idempotency
from chalicelib.tools import store as tools
from chalicelib.webhooks import endpoints, ledger, queue
from chalicelib.workspaces import store as workspaces
from tests.api import Answer, Api
from tests.capacity import metered
from tests.contract.test_routes import OPERATIONS
from tests.evidence import stored
from tests.promises import Shown
from tests.repeating import CASES, STATE, Case, World, each_case, turns, world
from tests.requests import answer_lost_once, counted, refused_by_the_engine
from tests.webhooks import pipeline

KEY = '"8e03978e-40d5-43dd-bc93-6894a57f9324"'  # as the draft has it; the quotes are part of it
TABLE = storage.table("idempotency")
REPLAYED = "idempotency-replayed"
TOOL = next(case for case in CASES if case.id == "tool create")
MINUTE = 60 * 1000
DAY = 24 * 60 * MINUTE

pytestmark = pytest.mark.promise("repeated")


@pytest.fixture
def here(engine: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with world(monkeypatch) as made:
        yield made


def others() -> dict[str, Any]:
    """Every item of every table but that of the keys."""
    return {name: items for name, items in stored().items() if name != TABLE}


def same(first: Answer, again: Answer) -> bool:
    """Whether the second answer is the first one again, to the byte, and says so."""
    expected = {**first.headers, REPLAYED: "true", "x-request-id": again.headers["x-request-id"]}
    return (first.status, first.text, expected) == (again.status, again.text, again.headers)


def refusal(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["code"]


# ---- the same request again -----------------------------------------------------------------------


def test_every_post_and_patch_is_in_the_table() -> None:
    wanted = {f"{one['method']} {one['path']}" for one in OPERATIONS if one["method"] in idempotency.METHODS}
    assert {case.operation for case in CASES} == wanted


@each_case
def test_the_same_request_again_has_the_same_answer_and_no_effect(case: Case, here: World, shown: Shown) -> None:
    first = here.send(case, KEY)
    tables, stream = others(), pipeline.Stream()
    pipeline.waiting(queue.FAST)
    here.now += 5 * MINUTE

    again = here.send(case, KEY)
    assert first.status == 200
    assert REPLAYED not in first.headers
    assert same(first, again)
    assert others() == tables
    assert stream.read() == []
    assert pipeline.waiting(queue.FAST) == []
    shown(requests=2, states=len(tables))


@each_case
def test_with_a_key_the_first_answer_says_what_it_says_without(
    case: Case, engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []
    for key in (None, KEY):
        with world(monkeypatch) as there:
            answers.append(there.send(case, key))
    plain, keyed = answers
    assert keyed.status == plain.status == 200
    assert shape(keyed.json) == shape(plain.json)
    assert keyed.headers.keys() == plain.headers.keys()


def shape(value: Any) -> Any:
    """A document without its texts: ids and secrets are drawn otherwise, and everything else stays."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return str if isinstance(value, str) else value


def test_other_methods_take_no_notice_of_a_key(here: World) -> None:
    headers = {**here.api._headers, idempotency.HEADER: "not a key"}
    assert here.api.call("GET", "/v3/agents/support", None, headers).status == 200
    assert here.api.call("DELETE", "/v2/clients/ann".replace("v2", "v3"), None, headers).status == 200
    assert stored()[TABLE] == []


def test_an_answer_of_any_size_is_kept(here: World, shown: Shown) -> None:
    case = next(case for case in CASES if case.id == "state replace, large")
    first = here.send(case, KEY)
    assert len(stored()[TABLE]) > 1
    assert same(first, here.send(case, KEY))
    shown(requests=2, states=1)


@pytest.mark.parametrize("operation", ["PutItem", "UpdateItem"])
def test_an_answer_of_the_database_that_is_lost_does_no_harm(operation: str, here: World, shown: Shown) -> None:
    with answer_lost_once(operation):
        first = here.send(TOOL, KEY)
    assert first.status == 200
    assert same(first, here.send(TOOL, KEY))
    assert len(tools.listed(here.workspace.workspace_id, "support")) == 2
    shown(faults=1)


def test_an_answer_that_cannot_be_kept_is_given_and_made_again(here: World, shown: Shown) -> None:
    with refused_by_the_engine("UpdateItem", "ThrottlingException"):
        first = here.send(TOOL, KEY)
    here.now += 30_000
    again = here.send(TOOL, KEY)
    assert (first.status, first.text) == (again.status, again.text)
    assert REPLAYED not in again.headers
    assert same(first, here.send(TOOL, KEY))
    assert len(tools.listed(here.workspace.workspace_id, "support")) == 2
    shown(faults=1)


# ---- whose a key is, and for how long -------------------------------------------------------------


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
    body = {"token": {"name": "Second"}}
    second = Api(here.api.post("/v3/tokens", body).data["token"])
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


def test_an_answer_is_kept_for_a_day_whatever_the_database_has_deleted_by_then(here: World) -> None:
    first = here.send(TOOL, KEY)
    here.now += DAY - 1_000
    assert same(first, here.send(TOOL, KEY))
    here.now += 1_000
    later = here.send(TOOL, KEY)
    assert (later.status, REPLAYED in later.headers) == (200, False)
    assert later.data["id"] != first.data["id"]
    assert same(later, here.send(TOOL, KEY))


@pytest.mark.parametrize("key", ["", " ", "two words", "k" * 256, "\x7f", "schlüssel", "a\tb"])
def test_what_is_no_key_is_refused_by_its_rule_and_not_repeated(key: str, here: World) -> None:
    answer = here.send(TOOL, key)
    rule = "must be 1 to 255 visible ASCII characters"
    assert refusal(answer) == (400, "INVALID")
    assert answer.json["issues"] == [{"path": "Idempotency-Key", "message": rule}]
    assert len(key) < 2 or key not in answer.text
    assert stored()[TABLE] == []


@pytest.mark.parametrize("key", ["k", "k" * 255, "".join(map(chr, range(0x21, 0x7F)))])
def test_any_visible_ascii_is_a_key(key: str, here: World) -> None:
    assert same(here.send(TOOL, key), here.send(TOOL, key))


def test_who_may_not_call_a_route_claims_nothing(here: World) -> None:
    read_only = {"token": {"name": "Reads", "readOnly": True}}
    reader = Api(here.api.post("/v3/tokens", read_only).data["token"])
    here.api.post("/v2/agents/other", {})
    foreign = Case("state of another agent", STATE, {}, {"agent_id": "other"})
    assert here.send(TOOL, KEY, reader).status == 403
    assert here.send(foreign, KEY, here.agent_key).status == 403
    assert here.send(TOOL, KEY, Api()).status == 401
    assert stored()[TABLE] == []


# ---- at the same time, and after a refusal --------------------------------------------------------


class Dead(BaseException):
    """The process has ended."""


def die(*_: Any, **__: Any) -> Any:
    raise Dead()


def test_who_comes_while_a_request_is_answered_is_told_to_try_again(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    meanwhile: list[Answer] = []
    create = tools.create

    def slowly(*arguments: Any) -> Any:
        here.now += 29_999
        if not meanwhile:
            meanwhile.append(here.send(TOOL, KEY))
        return create(*arguments)

    monkeypatch.setattr(tools, "create", slowly)
    first = here.send(TOOL, KEY)
    assert [refusal(one) for one in meanwhile] == [(409, "IN_PROGRESS")]
    assert meanwhile[0].headers["retry-after"] == "1"
    assert same(first, here.send(TOOL, KEY))


def test_a_request_whose_process_has_ended_can_be_sent_again_after_thirty_seconds(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as dying:
        dying.setattr(tools, "create", die)
        with pytest.raises(Dead):
            here.send(TOOL, KEY)
    here.now += 29_999
    assert refusal(here.send(TOOL, KEY)) == (409, "IN_PROGRESS")
    assert refusal(here.send(TOOL, KEY, body={"tool": {"name": "x"}})) == (409, "IDEMPOTENCY_KEY_REUSED")
    here.now += 1
    first = here.send(TOOL, KEY)
    assert first.status == 200
    assert same(first, here.send(TOOL, KEY))


def test_of_two_who_take_over_one_goes_on(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as dying:
        dying.setattr(tools, "create", die)
        with pytest.raises(Dead):
            here.send(TOOL, KEY)
    here.now += 30_000
    update, second = storage.update, []

    def overtaken(*arguments: Any) -> None:
        if not second:
            second.append(None)
            second[0] = here.send(TOOL, KEY)
        update(*arguments)

    monkeypatch.setattr(storage, "update", overtaken)
    assert refusal(here.send(TOOL, KEY)) == (409, "IN_PROGRESS")
    assert second[0].status == 200
    assert same(second[0], here.send(TOOL, KEY))


def test_after_a_refusal_the_same_request_is_tried_again(here: World) -> None:
    case = Case("tool of a new agent", TOOL.operation, TOOL.body, {"agent_id": "late"})
    assert here.send(case, KEY).status == 404
    assert here.send(case, KEY).status == 404
    here.api.post("/v2/agents/late", {})
    first = here.send(case, KEY)
    assert (first.status, REPLAYED in first.headers) == (200, False)
    assert same(first, here.send(case, KEY))


def test_a_limit_that_was_reached_may_have_been_raised_meanwhile(here: World) -> None:
    here.api.patch("/v3/agents/support", {"agent": {"messagesLimit": 1}})
    case = Case("state", STATE, turns("One", "Two"))
    assert refusal(here.send(case, KEY)) == (429, "LIMIT_REACHED")
    here.api.patch("/v3/agents/support", {"agent": {"messagesLimit": 2}})
    assert here.send(case, KEY).status == 200


def test_a_busy_database_is_no_answer_to_keep(here: World, shown: Shown) -> None:
    with refused_by_the_engine("TransactWriteItems", "ThrottlingException"):
        assert here.send(TOOL, KEY).status == 503
    assert here.send(TOOL, KEY).status == 200
    shown(faults=1)


def test_a_failure_is_no_answer_to_keep(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as failing:
        failing.setattr(tools, "create", lambda *_: 1 // 0)
        assert here.send(TOOL, KEY).status == 500
    assert here.send(TOOL, KEY).status == 200


def test_a_replay_repeats_what_was_and_touches_nothing_that_was_done_since(here: World) -> None:
    case = Case("save", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "Mine"}})
    first = here.send(case, KEY)
    here.api.patch("/v3/agents/support", {"agent": {"title": "Yours"}})
    assert same(first, here.send(case, KEY))
    assert here.api.get("/v3/agents/support").data["title"] == "Yours"


# ---- a second run of a request that was answered, and whose answer was lost -----------------------


def lost(here: World, case: Case, **headers: str) -> Answer:
    """Send a case whose answer cannot be kept; from here on its key can be taken over."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(idempotency, "_keep", lambda *_: None)
        first = here.send(case, KEY, **headers)
    assert first.status == 200
    here.now += 30_000
    return first


def named(case_id: str) -> Case:
    return next(case for case in CASES if case.id == case_id)


@pytest.mark.parametrize("case_id", ["webhook test", "redeliver"])
def test_a_delivery_that_was_claimed_meanwhile_stays_claimed(case_id: str, here: World) -> None:
    case = named(case_id)
    first = lost(here, case)
    place = (here.workspace.workspace_id, here.values["webhook_id"])
    row = ledger.read(*place, first.data["id"])
    assert ledger.claim(row)
    assert here.send(case, KEY).text == first.text
    assert ledger.read(*place, first.data["id"]).claim == row.claim


def test_the_last_webhook_that_a_workspace_may_have_is_not_one_too_many(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "MAX_ENDPOINTS", 2)
    first = lost(here, named("webhook create"))
    assert here.send(named("webhook create"), KEY).text == first.text
    assert here.send(named("webhook create"), "another").status == 429


def test_a_secret_is_rotated_once_whoever_has_changed_the_webhook_meanwhile(here: World) -> None:
    first = lost(here, named("webhook rotate"))
    assert here.send(named("webhook change"), None).status == 200
    again = here.send(named("webhook rotate"), KEY)
    assert again.data["signingSecret"] == first.data["signingSecret"]
    document = endpoints.read(here.workspace.workspace_id, here.values["webhook_id"]).open()
    assert len(document["secrets"]) == 2


def test_a_tool_that_somebody_has_changed_meanwhile_is_still_the_one_that_was_made(here: World) -> None:
    first = lost(here, TOOL)
    assert here.api.patch(f"/v3/tools/{first.data['id']}", {"tool": {"name": "Theirs"}}).status == 200
    assert here.send(TOOL, KEY).text == first.text
    assert here.api.get(f"/v3/tools/{first.data['id']}").data["name"] == "Theirs"


def test_a_webhook_that_somebody_has_changed_meanwhile_is_still_the_one_that_was_made(here: World) -> None:
    first = lost(here, named("webhook create"))
    change = {"webhook": {"description": "Theirs"}}
    assert here.api.patch(f"/v3/webhooks/{first.data['id']}", change).status == 200
    assert here.send(named("webhook create"), KEY).text == first.text
    assert here.api.get(f"/v3/webhooks/{first.data['id']}").data["description"] == "Theirs"


def test_a_lead_is_answered_as_it_was_captured(here: World) -> None:
    first = lost(here, named("lead create"))
    here.api.patch("/v3/agents/support", {"agent": {"title": "Renamed"}})
    assert here.send(named("lead create"), KEY).text == first.text


def test_a_save_that_its_precondition_let_pass_is_let_pass_again(here: World) -> None:
    tag = here.api.get("/v3/agents/support").headers["etag"]
    first = lost(here, named("agent change"), If_Match=tag)
    again = here.send(named("agent change"), KEY, If_Match=tag)
    assert (again.text, again.headers["etag"]) == (first.text, first.headers["etag"])


def test_a_save_over_somebody_elses_is_refused_by_its_precondition(here: World) -> None:
    tag = here.api.get("/v3/agents/support").headers["etag"]
    lost(here, named("agent change"), If_Match=tag)
    here.api.patch("/v3/agents/support", {"agent": {"title": "Theirs"}})
    assert here.send(named("agent change"), KEY, If_Match=tag).status == 412
    assert here.api.get("/v3/agents/support").data["title"] == "Theirs"


def test_keys_that_go_on_for_a_while_end_with_the_one_that_is_cleared(here: World) -> None:
    here.api.patch("/v3/agents/support", {"agent": {"SECRET_API_KEY": tokens.new(tokens.AGENT)}})
    assert here.agent_key.get("/v2/agents/support").status == 200
    first = lost(here, named("agent key clear"))
    auth.forget()
    assert here.agent_key.get("/v2/agents/support").status == 401
    assert here.send(named("agent key clear"), KEY).text == first.text


# ---- what the table says --------------------------------------------------------------------------


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
    for hidden in (*secrets, KEY, KEY.strip('"'), caller.credential_id, "new@x.test", "Changed"):
        assert hidden not in text
    assert all(item["request"]["S"].startswith(f"{here.workspace.workspace_id}#") for item in stored()[TABLE])


def test_whatever_is_kept_expires_after_a_day(here: World) -> None:
    here.send(next(case for case in CASES if case.id == "state replace, large"), KEY)
    assert {int(item["expires_at"]["N"]) for item in stored()[TABLE]} == {(here.now + DAY) // 1000}


def test_without_a_key_nothing_is_asked_for_more(here: World) -> None:
    with counted() as requests:
        assert here.send(TOOL, None).status == 200
    assert requests == {"TransactWriteItems": 1}


def test_a_key_costs_two_write_units_for_a_small_answer(here: World) -> None:
    costs = []
    for key in (None, KEY):
        with metered() as meter:
            assert here.send(TOOL, key).status == 200
        costs.append((meter.total, meter.reads, meter.writes))
    (requests, reads, writes), keyed = costs
    assert keyed == (requests + 2, reads, writes + 2)


def test_a_claim_is_no_more_than_its_owner_may_see(here: World) -> None:
    here.send(TOOL, KEY)
    row = idempotency.ClaimRow.from_raw_data(stored()[TABLE][0])
    assert repr(row) == f"ClaimRow({row.request}/claim)"


# ---- what runs of one request share (clock) -------------------------------------------------------


def drawn() -> tuple[Any, ...]:
    return ids.new_id(), ids.random_text(43), ids.random_bytes(32), clock.milliseconds()


def test_every_run_of_a_request_draws_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    for _ in range(2):
        with clock.repeatable(b"seed", 1_000):
            runs.append((drawn(), drawn()))
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[0][1]
    assert runs[0][0][3] == 1_000
    with clock.repeatable(b"other", 1_000):
        assert not set(drawn()[:3]) & set(runs[0][0])
    assert drawn()[3] > 1_000


def test_an_attempt_that_fails_has_drawn_nothing() -> None:
    ids: list[str] = []

    def attempt() -> str:
        ids.append(ids.new_id())
        if len(ids) < 3:
            raise storage.ConditionFailed()
        return ids[-1]

    with clock.repeatable(b"seed", 1_000):
        ids.new_id()
        assert storage.retry_on_conflict(attempt) == ids[0] == ids[1]
        assert ids.new_id() not in ids


def test_a_request_knows_its_own_and_nobody_elses() -> None:
    with clock.repeatable(b"seed", 1_000):
        own = [ids.new_id(), ids.new_id(), f"prefix{ids.new_id()}"]
    others_own = [ids.new_id(), ids.new_id()]
    with clock.repeatable(b"other", 1_000):
        others_own.append(ids.new_id())
    with clock.repeatable(b"seed", 2_000):
        assert [clock.is_own(one) for one in own] == [True] * 3
        assert [clock.is_own(one) for one in (*others_own, "", "#")] == [False] * 5
    assert not any(map(clock.is_own, own))


def test_a_mark_is_never_drawn_twice_and_has_the_time_of_its_moment() -> None:
    marks = set()
    for _ in range(2):
        with clock.repeatable(b"seed", 1_000):
            marks |= {ids.new_id() for _ in range(10)}
    assert len(marks) == 20
    assert min(map(ids.moment_of, marks)) > 1_000


def test_a_caller_is_looked_up_before_time_stands_still(here: World) -> None:
    here.send(TOOL, KEY)
    auth.forget()
    revoked = errors.Unauthorized.STATUS_CODE
    (row,) = credentials.list_active(here.workspace.workspace_id, tokens.WORKSPACE)[:1]
    credentials.revoke(row)
    assert here.send(TOOL, KEY).status == revoked
