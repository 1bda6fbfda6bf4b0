"""`ETag`, `If-Match` and `If-None-Match` on every route that reads, saves or deletes one record (RFC 9110, section 13).

Sixteen writers at once are in `tests/reliability/test_two_writers.py`, on an engine with real concurrency.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from chalice.app import CORSConfig

from app import app
from chalicelib import clock
from chalicelib.http import etag
from tests import extensions
from tests.api import Answer, Api
from tests.assertions import refused, stored
from tests.builders import message, state_body
from tests.engine_requests import counted, lose_first_answer
from tests.guarantees import CaseCounter
from tests.openapi.document import operations
from tests.operations import ANALYTICS, MESSAGES, STATE, body_of, populate, send
from tests.selection import first_case, one_of_each, zip_cycled

pytestmark = pytest.mark.guarantee("matched")

V3_MESSAGES = "/v3/agents/{agent_id}/convos/{convo_id}/messages"
ROTATE = "POST /v3/webhooks/{webhook_id}/rotate"
OTHER_TAG = '"06fgz0x9w52n6p1x4c9r3k7thb"'
REPLACED, REPLACED_AGAIN = state_body("one", ts=1), state_body("two", ts=1)

Values = dict[str, str]


class Record(NamedTuple):
    """A kind of record: the operations that create, read and delete it."""

    created_by: str
    reads: tuple[str, ...]
    deleted_by: str | None = None


RECORDS = {
    "agent": Record(
        "POST /v3/agents",
        ("GET /v3/agents/{agent_id}", "GET /v2/agents/{agent_id}"),
        "DELETE /v3/agents/{agent_id}",
    ),
    "tool": Record("POST /v3/agents/{agent_id}/tools", ("GET /v3/tools/{tool_id}",), "DELETE /v3/tools/{tool_id}"),
    "conversation": Record(
        "POST /v3/agents/{agent_id}/convos",
        (STATE, "GET /v3/agents/{agent_id}/convos/{convo_id}"),
        "DELETE /v3/agents/{agent_id}/convos/{convo_id}",
    ),
    "message": Record(MESSAGES, (STATE,), f"DELETE {V3_MESSAGES}/{{message_id}}"),
    "analytics": Record(ANALYTICS, ("GET /v2/agents/{agent_id}/analytics/{convo_id}",)),
    "client": Record(
        "POST /v2/clients/{client_id}", ("GET /v2/clients/{client_id}",), "DELETE /v3/clients/{client_id}"
    ),
    "organisation": Record("POST /v2/orgs/{org_id}", ("GET /v2/orgs/{org_id}",), "DELETE /v3/orgs/{org_id}"),
    "lead": Record("POST /v3/leads", ("GET /v3/leads/{lead_id}",), "DELETE /v3/leads/{lead_id}"),
    **{name: Record(*record) for name, record in extensions.joined("RECORDS").items()},
    "webhook": Record("POST /v3/webhooks", ("GET /v3/webhooks/{webhook_id}",), "DELETE /v3/webhooks/{webhook_id}"),
    # It exists before its first change.
    "workspace": Record("PATCH /v3/workspace", ("GET /v3/workspace",)),
}


def messages(mid: str) -> dict[str, Any]:
    """A body with one message."""
    return {"messages": [message("Hello", mid=mid, ts=1)]}


class Save(NamedTuple):
    """An operation that saves a record, with two bodies that each change it."""

    record: str
    operation: str
    first: Any = None
    second: Any = None


SAVES = {
    "agent": Save("agent", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "1"}}, {"agent": {"title": "2"}}),
    "agent v2": Save("agent", "POST /v2/agents/{agent_id}", {"title": "1"}, {"title": "2"}),
    "key of an agent": Save(
        "agent",
        "POST /v2/agents/{agent_id}",
        {"SECRET_API_KEY": None},
        {"SECRET_API_KEY": "a-key-that-the-service-has-not-made"},
    ),
    "tool": Save("tool", "PATCH /v3/tools/{tool_id}", {"tool": {"name": "1"}}, {"tool": {"name": "2"}}),
    "turns": Save("conversation", STATE, REPLACED, REPLACED_AGAIN),
    "metadata": Save("conversation", STATE, {"metadata": {"userName": "1"}}, {"metadata": {"userName": "2"}}),
    "metadata v3": Save(
        "conversation",
        "PATCH /v3/agents/{agent_id}/convos/{convo_id}",
        {"conversation": {"title": "1"}},
        {"conversation": {"title": "2"}},
    ),
    "assignment": Save(
        "conversation",
        "POST /v3/agents/{agent_id}/convos/{convo_id}/assign",
        {"assign": {"to": None, "state": "1"}},
        {"assign": {"to": None, "state": "2"}},
    ),
    "new message": Save("conversation", f"POST {V3_MESSAGES}", messages("a"), messages("b")),
    "new message, edge": Save("conversation", MESSAGES, messages("a"), messages("b")),
    "all messages": Save("conversation", f"PATCH {V3_MESSAGES}", messages("a"), messages("b")),
    "message": Save(
        "message", f"PATCH {V3_MESSAGES}/{{message_id}}", {"message": {"type": "1"}}, {"message": {"type": "2"}}
    ),
    "page load": Save("analytics", ANALYTICS, {"record": "load", "browser": "1"}, {"record": "load", "browser": "2"}),
    "analytics": Save("analytics", ANALYTICS, {"record": "convo", "ts": 1}, {"record": "convo", "ts": 2}),
    "client": Save("client", "POST /v2/clients/{client_id}", {"name": "1"}, {"name": "2"}),
    "email": Save("client", "POST /v2/clients/{client_id}", {"email": "1@x.test"}, {"email": "2@x.test"}),
    "organisation": Save("organisation", "POST /v2/orgs/{org_id}", {"name": "1"}, {"name": "2"}),
    "lead": Save("lead", "PATCH /v3/leads/{lead_id}", {"lead": {"name": "1"}}, {"lead": {"name": "2"}}),
    "webhook": Save(
        "webhook",
        "PATCH /v3/webhooks/{webhook_id}",
        {"webhook": {"description": "1"}},
        {"webhook": {"description": "2"}},
    ),
    "signing secret": Save("webhook", ROTATE),
    "workspace": Save("workspace", "PATCH /v3/workspace", {"workspace": {"name": "1"}}, {"workspace": {"name": "2"}}),
}
# These always write: one does not read the record, one creates a new secret.
ALWAYS_WRITES = {ANALYTICS, ROTATE}
# The operations that create a record under an id that the caller chooses.
CREATED_AT_ID = {
    "agent": "POST /v2/agents/{agent_id}",
    "conversation": STATE,
    "analytics": ANALYTICS,
    "client": "POST /v2/clients/{client_id}",
    "organisation": "POST /v2/orgs/{org_id}",
}
READS = {f"{name}, {path}": (name, path) for name, one in RECORDS.items() for path in one.reads if path != STATE}
DELETES = {name: one for name, one in RECORDS.items() if one.deleted_by}
# The records with an id in the path. There is always a workspace.
ADDRESSED_READS = {name: one for name, one in READS.items() if one[0] != "workspace"}
# A message has the ETag of its conversation, so a message that does not exist is a 404.
ADDRESSED_SAVES = {name: one for name, one in SAVES.items() if name not in ("workspace", "message")}

each_save = pytest.mark.parametrize("save", SAVES.values(), ids=SAVES)
DELETED_BY_V2 = {"client": "DELETE /v2/clients/{client_id}", "organisation": "DELETE /v2/orgs/{org_id}"}
DELETIONS = [*((name, one.deleted_by or "") for name, one in DELETES.items()), *DELETED_BY_V2.items()]
each_deletion = pytest.mark.parametrize(("name", "operation"), DELETIONS, ids=[name for _, name in DELETIONS])


class Service:
    """The API of a workspace with an agent, `support`."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def send(self, operation: str, values: Values, body: Any = None, **headers: str) -> Answer:
        """Send an operation; the argument `If_Match` is the header `If-Match`."""
        method, path = operation.split()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        kind = {} if body is None else {"Content-Type": "application/json"}
        return self.api.call(method, path.format(**values), body, {**self.api._headers, **kind, **sent})

    def create(self, name: str) -> tuple[Values, str]:
        """Create a record; return its path values and its ETag."""
        record = RECORDS[name]
        chosen = dict.fromkeys(re.findall(r"{(\w+)}", record.created_by), "one") | {"agent_id": "support"}
        answer = self.send(record.created_by, chosen, body_of(record.created_by, **chosen))
        assert answer.status == 200, answer.text
        if name == "message":
            return chosen | {"convo_id": "one", "message_id": answer.data[0]["mid"]}, answer.headers["etag"]
        made = (answer.json.get("data") or {}).get("id")
        id_of = {"conversation": ("user_id", "convo_id"), "client": (), "organisation": (), "analytics": ()}
        names = id_of.get(name, (f"{name}_id",))
        return chosen | dict.fromkeys(names, made), answer.headers["etag"]

    def tag(self, name: str, values: Values) -> str:
        """The ETag of the record, as read."""
        operation = RECORDS[name].reads[0]
        return self.send(operation, values, {} if operation == STATE else None).headers["etag"]


@pytest.fixture
def service(api: Api, agent_id: str) -> Service:
    return Service(api)


def unknown_record(operation: str, values: Values) -> Values:
    """The path values of a record that does not exist."""
    return values | {re.findall(r"{(\w+)}", operation)[-1]: "unknown"}


# ---- completeness ---------------------------------------------------------------------------------


def test_an_answer_has_an_etag_exactly_where_the_document_says(api: Api) -> None:
    ids = populate(api._headers, "one", dict.fromkeys(("agent_id", "user_id", "client_id", "org_id"), "one"))
    documented = {one.route: "ETag" in one.success_headers for one in operations()}
    # The deletion of the agent is the last request.
    order = sorted(documented, key=lambda name: (name.startswith("DELETE"), name == RECORDS["agent"].deleted_by))
    assert {name: "etag" in send(name, api._headers, ids, "two").headers for name in order} == documented


def test_the_openapi_document_declares_the_preconditions_of_each_route() -> None:
    reads, saves = {path for _, path in READS.values()}, {one.operation for one in SAVES.values()}
    saves |= {*extensions.listed("TESTED_SAVES")}
    deletes = {operation for _, operation in DELETIONS}
    accepts: dict[str, set[str]] = {
        "If-Match": saves | deletes,
        "If-None-Match": reads | set(CREATED_AT_ID.values()),
    }
    named = {f"{one.method} {one.path}": one.description for one in operations()}
    for header, expected in accepts.items():
        reference = {"$ref": f"#/components/parameters/{header}"}
        assert {name for name, one in named.items() if reference in one.get("parameters", ())} == expected
    assert {name for name, one in named.items() if "304" in one["responses"]} == reads
    assert {name for name, one in named.items() if "412" in one["responses"]} == saves | deletes


# ---- ETag -----------------------------------------------------------------------------------------


@first_case
@pytest.mark.parametrize("name", RECORDS)
def test_creating_and_reading_a_record_return_the_same_strong_etag(name: str, service: Service) -> None:
    values, made = service.create(name)
    assert re.fullmatch(r'"[0-9a-z]{26}"', made)
    for operation in RECORDS[name].reads:
        answers = [service.send(operation, values, {} if operation == STATE else None) for _ in range(2)]
        assert [one.headers["etag"] for one in answers] == [made, made]


@each_save
@first_case
def test_the_etag_changes_only_if_the_record_changes(save: Save, service: Service) -> None:
    values, made = service.create(save.record)
    tags = [made]
    for body in (save.first, save.first, save.second):
        answer = service.send(save.operation, values, body)
        assert answer.status == 200, answer.text
        tags.append(answer.headers["etag"])
        assert service.tag(save.record, values) == tags[-1]
    assert len(set(tags)) == (4 if save.operation in ALWAYS_WRITES else 3)
    assert (tags[1] == tags[2]) is (save.operation not in ALWAYS_WRITES)


def test_a_change_of_the_agent_does_not_change_the_state_s_etag(service: Service) -> None:
    values, made = service.create("conversation")
    service.api.patch("/v3/agents/support", {"agent": {"title": "Other"}})
    answer = service.send(STATE, values, {})
    assert answer.json["agentData"]["title"] == "Other"
    assert answer.headers["etag"] == made


def test_an_unsaved_state_has_no_etag(service: Service) -> None:
    assert "etag" not in service.api.post("/agents/support/interact/unknown/state", {}).headers


def test_errors_and_lists_have_no_etag(service: Service) -> None:
    for path in ("/v3/agents/unknown", "/v3/agents", "/v2/agents/support/convos"):
        assert "etag" not in service.api.get(path).headers


# ---- If-Match -------------------------------------------------------------------------------------


@each_save
@first_case
def test_an_etag_allows_one_save_and_the_next_is_refused(
    save: Save, service: Service, count_cases: CaseCounter
) -> None:
    values, read = service.create(save.record)
    answer = service.send(save.operation, values, save.first, If_Match=read)
    assert answer.status == 200, answer.text
    before = stored()
    lost = service.send(save.operation, values, save.second, If_Match=read)
    assert stored() == before
    assert "etag" not in lost.headers
    count_cases(states=1)
    interaction = {"interaction": True, "platform": "vg"} if save.operation == STATE else {}
    message = refused(lost, 412, **interaction)
    assert message == "If-Match does not match the record's current ETag; read it and try again."
    assert service.send(save.operation, values, save.second, If_Match=answer.headers["etag"]).status == 200


@each_deletion
@first_case
def test_a_deletion_needs_the_current_etag(
    name: str, operation: str, service: Service, count_cases: CaseCounter
) -> None:
    values, read = service.create(name)
    before = stored()
    refused(service.send(operation, values, If_Match=OTHER_TAG), 412)
    assert stored() == before
    count_cases(states=1)
    assert service.send(operation, values, If_Match=read).status == 200
    refused(service.send(operation, values, If_Match=read), 412)


@pytest.mark.parametrize(("save", "header"), zip_cycled(ADDRESSED_SAVES.values(), ["*", OTHER_TAG]))
@one_of_each(lambda header: header)
def test_if_match_refuses_a_save_of_a_nonexistent_record(header: str, save: Save, service: Service) -> None:
    values, _ = service.create(save.record)
    before = stored()
    answer = service.send(save.operation, unknown_record(save.operation, values), save.first, If_Match=header)
    refused(answer, 412, **({"interaction": True, "platform": "vg"} if save.operation == STATE else {}))
    assert stored() == before


@pytest.mark.parametrize("form", ["{}, {}", "*", " {} ", ",{},, {},", '"",{},{}', 'W/"x" , {} , {}'])
def test_one_matching_etag_in_a_list_is_enough(form: str, service: Service) -> None:
    values, read = service.create("tool")
    header = form.replace("{}", OTHER_TAG, form.count("{}") - 1).replace("{}", read)
    assert service.send("PATCH /v3/tools/{tool_id}", values, {"tool": {"name": "1"}}, If_Match=header).status == 200


def test_the_etag_of_a_record_needs_no_quotes(service: Service) -> None:
    values, read = service.create("tool")
    bare = read.strip('"')
    assert service.send("GET /v3/tools/{tool_id}", values, If_None_Match=bare).status == 304
    assert service.send("PATCH /v3/tools/{tool_id}", values, {"tool": {"name": "1"}}, If_Match=bare).status == 200
    refused(service.send("PATCH /v3/tools/{tool_id}", values, {"tool": {"name": "2"}}, If_Match=bare), 412)


def test_a_weak_etag_matches_nothing(service: Service) -> None:
    values, read = service.create("tool")
    answer = service.send("PATCH /v3/tools/{tool_id}", values, {"tool": {"name": "1"}}, If_Match=f"W/{read}")
    refused(answer, 412)


MALFORMED = ["", "tag", '"a" "b"', '"a', "a, *", '*, "a"', '"a b"', 'w/"a"', '"a",b', "**", "'a'"]


@one_of_each(lambda header: header)
@pytest.mark.parametrize(("save", "header"), zip_cycled(SAVES.values(), ["If-Match", "If-None-Match"]))
def test_an_invalid_header_is_refused_and_not_quoted(header: str, save: Save, service: Service) -> None:
    values, _ = service.create(save.record)
    before = stored()
    answer = service.send(save.operation, values, save.first, **{header: "canary"})
    interaction = {"interaction": True, "platform": "vg"} if save.operation == STATE else {}
    message = refused(answer, 400, header, **interaction)
    assert message == f"{header} must be * or a list of quoted tags, as in the ETag header."
    assert "canary" not in answer.text
    assert stored() == before


@first_case
@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_list_of_etags_is_refused(text: str, service: Service) -> None:
    values, _ = service.create("tool")
    refused(service.send("DELETE /v3/tools/{tool_id}", values, If_Match=text), 400, "If-Match")
    refused(service.send("GET /v3/tools/{tool_id}", values, If_None_Match=text), 400, "If-None-Match")


def test_a_malformed_header_is_refused_although_the_other_one_does_not_match(service: Service) -> None:
    answer = service.send(CREATED_AT_ID["client"], {"client_id": "new"}, {}, If_Match="*", If_None_Match="AAA")
    refused(answer, 400, "If-None-Match")


# ---- another writer between the check and the save ------------------------------------------------


@pytest.fixture
def before_save(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Run an action once, after the preconditions are checked and before the record is saved."""
    monkeypatch.setattr(clock, "sleep", lambda duration: None)
    checked = etag.check_preconditions

    def run_once(action: Callable[[], object]) -> None:
        waiting = [action]

        def check(row: Any) -> Any:
            try:
                return checked(row)
            finally:
                for act in [waiting.pop()] if waiting else ():
                    act()

        monkeypatch.setattr(etag, "check_preconditions", check)

    return run_once


@each_save
@first_case
def test_if_match_does_not_overwrite_a_concurrent_save(
    save: Save, service: Service, before_save: Any, count_cases: CaseCounter
) -> None:
    values, read = service.create(save.record)
    others: list[Answer] = []
    before_save(lambda: others.append(service.send(save.operation, values, save.second)))
    answer = service.send(save.operation, values, save.first, If_Match=read)
    assert answer.status == 412, answer.text
    assert [one.status for one in others] == [200]
    assert service.tag(save.record, values) == others[0].headers["etag"]
    count_cases(states=1)


@first_case
@pytest.mark.parametrize("save", {one.record: one for one in SAVES.values() if one.record in DELETES}.values())
def test_if_match_does_not_delete_a_concurrent_save(save: Save, service: Service, before_save: Any) -> None:
    values, read = service.create(save.record)
    others: list[Answer] = []
    before_save(lambda: others.append(service.send(save.operation, values, save.second)))
    answer = service.send(RECORDS[save.record].deleted_by or "", values, If_Match=read)
    assert (answer.status, [one.status for one in others]) == (412, [200])
    assert service.tag(save.record, values) == others[0].headers["etag"]


@pytest.mark.parametrize("name", CREATED_AT_ID)
@first_case
def test_if_none_match_does_not_overwrite_a_concurrent_creation(name: str, service: Service, before_save: Any) -> None:
    values, _ = service.create(name)
    save = next(one for one in SAVES.values() if one.operation == CREATED_AT_ID[name])
    new = unknown_record(save.operation, values)
    others: list[Answer] = []
    before_save(lambda: others.append(service.send(save.operation, new, save.second)))
    answer = service.send(save.operation, new, save.first, If_None_Match="*")
    assert (answer.status, [one.status for one in others]) == (412, [200])
    assert service.tag(name, new) == others[0].headers["etag"]


def test_concurrent_replacements_without_a_precondition_conflict(service: Service, before_save: Any) -> None:
    values, _ = service.create("conversation")
    before_save(lambda: service.send(STATE, values, REPLACED_AGAIN))
    refused(service.send(STATE, values, REPLACED), 409, interaction=True, platform="vg", code="STALE")


# ---- If-None-Match --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CREATED_AT_ID)
@first_case
def test_if_none_match_does_not_create_an_existing_record_again(
    name: str, service: Service, count_cases: CaseCounter
) -> None:
    values, _ = service.create(name)
    save = next(one for one in SAVES.values() if one.operation == CREATED_AT_ID[name])
    before = stored()
    answer = service.send(save.operation, values, save.first, If_None_Match="*")
    assert stored() == before
    count_cases(states=1)
    message = refused(answer, 412, **({"interaction": True, "platform": "vg"} if save.operation == STATE else {}))
    assert message == "If-None-Match matches the existing record; read it and try again."
    new = unknown_record(save.operation, values)
    assert service.send(save.operation, new, save.first, If_None_Match="*").status == 200
    assert service.send(save.operation, new, save.second, If_None_Match="*").status == 412


# All reads share the comparison of tags, so each read gets one form of the header.
@pytest.mark.parametrize(("read", "form"), zip_cycled(READS.values(), ["{}", "W/{}", '"x", {}', "*"]))
@one_of_each(lambda form: form)
def test_a_read_returns_304_only_with_the_current_etag(form: str, read: tuple[str, str], service: Service) -> None:
    name, operation = read
    values, made = service.create(name)
    changed = service.send(operation, values, If_None_Match=OTHER_TAG)
    assert (changed.status, changed.headers["etag"]) == (200, made)
    answer = service.send(operation, values, If_None_Match=form.format(made))
    assert (answer.status, answer.text, answer.headers["etag"]) == (304, "", made)
    assert "content-type" not in answer.headers


@first_case
@pytest.mark.parametrize(("name", "operation"), ADDRESSED_READS.values(), ids=ADDRESSED_READS)
def test_if_none_match_does_not_hide_a_nonexistent_record(name: str, operation: str, service: Service) -> None:
    values, _ = service.create(name)
    refused(service.send(operation, unknown_record(operation, values), If_None_Match="*"), 404)


def test_a_304_has_cors_headers(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.routes["/v2/agents/{agent_id}"]["GET"], "cors", CORSConfig("*"))
    answer = service.send("GET /v2/agents/{agent_id}", {"agent_id": "support"}, If_None_Match="*")
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (304, "*")


# ---- costs and lost answers -----------------------------------------------------------------------


@each_save
@first_case
def test_a_precondition_adds_no_request(save: Save, service: Service) -> None:
    values, _ = service.create(save.record)
    for body in (save.first, save.second):
        service.send(save.operation, values, body)
    with counted() as without:
        service.send(save.operation, values, save.first)
    read = service.send(save.operation, values, save.second).headers["etag"]
    with counted() as requests:
        assert service.send(save.operation, values, save.first, If_Match=read).status == 200
    # Analytics are the only record that a plain write does not read.
    assert requests - without == ({"GetItem": 1} if save.operation == ANALYTICS else {})
    assert without - requests == {}


@each_save
@first_case
def test_a_save_succeeds_if_the_database_s_answer_is_lost(save: Save, service: Service) -> None:
    values, read = service.create(save.record)
    with counted() as requests:
        read = service.send(save.operation, values, save.second, If_Match=read).headers["etag"]
    (write,) = {"PutItem", "UpdateItem", "TransactWriteItems"} & set(requests)
    if write == "TransactWriteItems":
        pytest.skip("DynamoDB recognises a repeated transaction by its token, moto does not")
    with lose_first_answer(write):
        answer = service.send(save.operation, values, save.first, If_Match=read)
    assert answer.status == 200, answer.text
    assert service.tag(save.record, values) == answer.headers["etag"]
