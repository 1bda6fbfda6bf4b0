"""`ETag`, `If-Match` and `If-None-Match` on every route that reads, saves or deletes one record (RFC 9110, section 13).

Sixteen writers at once are in `tests/reliability/test_two_writers.py`, on an engine on which they really meet.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from chalicelib import clock
from chalicelib.http import etag
from tests.api import Answer, Api
from tests.builders import state_body
from tests.described import guarded, operations
from tests.evidence import refused, stored
from tests.operations import ANALYTICS, STATE, body_of, populate, send
from tests.promises import Shown
from tests.requests import answer_lost_once, counted
from tests.selection import each_value_once, one_of_each

pytestmark = pytest.mark.promise("matched")

ROTATE = "POST /v3/webhooks/{webhook_id}/rotate"
SOMEBODY_ELSE_S = '"06fgz0x9w52n6p1x4c9r3k7thb"'
REPLACED, REPLACED_AGAIN = state_body("one", ts=1), state_body("two", ts=1)

Values = dict[str, str]


class Record(NamedTuple):
    """A kind of record: what makes one, how it is read, and what deletes it."""

    made_by: str
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
        "POST /v3/agents/{agent_id}/convos", (STATE,), "DELETE /v3/agents/{agent_id}/convos/{convo_id}"
    ),
    "analytics": Record(ANALYTICS, ("GET /v2/agents/{agent_id}/analytics/{convo_id}",)),
    "client": Record(
        "POST /v2/clients/{client_id}", ("GET /v2/clients/{client_id}",), "DELETE /v3/clients/{client_id}"
    ),
    "organisation": Record("POST /v2/orgs/{org_id}", ("GET /v2/orgs/{org_id}",), "DELETE /v3/orgs/{org_id}"),
    "lead": Record("POST /v3/leads", ("GET /v3/leads/{lead_id}",), "DELETE /v3/leads/{lead_id}"),
    "webhook": Record("POST /v3/webhooks", ("GET /v3/webhooks/{webhook_id}",), "DELETE /v3/webhooks/{webhook_id}"),
}


class Save(NamedTuple):
    """An operation that saves a record, with two bodies one after the other, each of which changes it."""

    record: str
    operation: str
    first: Any = None
    second: Any = None


SAVES = {
    "agent": Save("agent", "PATCH /v3/agents/{agent_id}", {"agent": {"title": "1"}}, {"agent": {"title": "2"}}),
    "agent v2": Save("agent", "POST /v2/agents/{agent_id}", {"title": "1"}, {"title": "2"}),
    "key of an agent": Save(
        "agent", "POST /v2/agents/{agent_id}", {"SECRET_API_KEY": None}, {"SECRET_API_KEY": "not a key of ours"}
    ),
    "tool": Save("tool", "PATCH /v3/tools/{tool_id}", {"tool": {"name": "1"}}, {"tool": {"name": "2"}}),
    "turns": Save("conversation", STATE, REPLACED, REPLACED_AGAIN),
    "metadata": Save("conversation", STATE, {"metadata": {"userName": "1"}}, {"metadata": {"userName": "2"}}),
    "page load": Save("analytics", ANALYTICS, {"record": "load", "browser": "1"}, {"record": "load", "browser": "2"}),
    "analytics": Save("analytics", ANALYTICS, {"record": "convo", "ts": 1}, {"record": "convo", "ts": 2}),
    "client": Save("client", "POST /v2/clients/{client_id}", {"name": "1"}, {"name": "2"}),
    "email": Save("client", "POST /v2/clients/{client_id}", {"email": "1@x.test"}, {"email": "2@x.test"}),
    "organisation": Save("organisation", "POST /v2/orgs/{org_id}", {"name": "1"}, {"name": "2"}),
    "webhook": Save(
        "webhook",
        "PATCH /v3/webhooks/{webhook_id}",
        {"webhook": {"description": "1"}},
        {"webhook": {"description": "2"}},
    ),
    "signing secret": Save("webhook", ROTATE),
}
# Each request of these is a change, whatever it says: one reads nothing, one makes a new secret.
ALWAYS_NEW = {ANALYTICS, ROTATE}
# What makes a record under an id of the caller's.
AT_AN_ID = {
    "agent": "POST /v2/agents/{agent_id}",
    "conversation": STATE,
    "analytics": ANALYTICS,
    "client": "POST /v2/clients/{client_id}",
    "organisation": "POST /v2/orgs/{org_id}",
}
READS = {f"{name}, {path}": (name, path) for name, one in RECORDS.items() for path in one.reads if path != STATE}
DELETES = {name: one for name, one in RECORDS.items() if one.deleted_by}

each_save = pytest.mark.parametrize("save", SAVES.values(), ids=SAVES)
each_deletion = pytest.mark.parametrize("name", DELETES)
each_read = pytest.mark.parametrize(("name", "operation"), READS.values(), ids=READS)


class Service:
    """The API of a workspace with an agent, `support`."""

    def __init__(self, api: Api) -> None:
        self.api = api

    def ask(self, operation: str, values: Values, body: Any = None, **headers: str) -> Answer:
        """An operation; `If_Match` is the header `If-Match`."""
        method, path = operation.split()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        kind = {} if body is None else {"Content-Type": "application/json"}
        return self.api.call(method, path.format(**values), body, {**self.api._headers, **kind, **sent})

    def make(self, name: str) -> tuple[Values, str]:
        """A record: the values that lead to it, and its tag."""
        record = RECORDS[name]
        chosen = dict.fromkeys(re.findall(r"{(\w+)}", record.made_by), "one") | {"agent_id": "support"}
        answer = self.ask(record.made_by, chosen, body_of(record.made_by, **chosen))
        assert answer.status == 200, answer.text
        made = (answer.json.get("data") or {}).get("id")
        id_of = {"conversation": ("user_id", "convo_id"), "client": (), "organisation": (), "analytics": ()}
        names = id_of.get(name, (f"{name}_id",))
        return chosen | dict.fromkeys(names, made), answer.headers["etag"]

    def tag(self, name: str, values: Values) -> str:
        """The tag that reading the record answers."""
        operation = RECORDS[name].reads[0]
        return self.ask(operation, values, {} if operation == STATE else None).headers["etag"]


@pytest.fixture
def service(api: Api, agent_id: str) -> Service:
    return Service(api)


def elsewhere(operation: str, values: Values) -> Values:
    """The values that lead to a record that is not there."""
    return values | {re.findall(r"{(\w+)}", operation)[-1]: "nobody"}


# ---- complete -------------------------------------------------------------------------------------


def test_an_answer_has_an_etag_exactly_where_the_document_says(api: Api) -> None:
    ids = populate(api._headers, "one", dict.fromkeys(("agent_id", "user_id", "client_id", "org_id"), "one"))
    documented = {one.route: "ETag" in one.success_headers for one in guarded()}
    # The deletion of the agent is the last request.
    order = sorted(documented, key=lambda name: (name.startswith("DELETE"), name == RECORDS["agent"].deleted_by))
    assert {name: "etag" in send(name, api._headers, ids, "two").headers for name in order} == documented


def test_the_document_says_of_each_route_what_it_heeds_and_answers() -> None:
    reads, saves = {path for _, path in READS.values()}, {one.operation for one in SAVES.values()}
    deletes = {one.deleted_by for one in DELETES.values()}
    heeds: dict[str, set[str]] = {"If-Match": saves | deletes, "If-None-Match": reads | set(AT_AN_ID.values())}
    named = {f"{one.method} {one.path}": one.description for one in operations()}
    for header, expected in heeds.items():
        reference = {"$ref": f"#/components/parameters/{header}"}
        assert {name for name, one in named.items() if reference in one.get("parameters", ())} == expected
    assert {name for name, one in named.items() if "304" in one["responses"]} == reads
    assert {name for name, one in named.items() if "412" in one["responses"]} == saves | deletes


# ---- ETag -----------------------------------------------------------------------------------------


@one_of_each(lambda: None)
@pytest.mark.parametrize("name", RECORDS)
def test_whoever_makes_and_whoever_reads_a_record_is_told_the_same_strong_tag(name: str, service: Service) -> None:
    values, made = service.make(name)
    assert re.fullmatch(r'"[0-9a-z]{26}"', made)
    for operation in RECORDS[name].reads:
        answers = [service.ask(operation, values, {} if operation == STATE else None) for _ in range(2)]
        assert [one.headers["etag"] for one in answers] == [made, made]


@one_of_each(lambda save: save.record)
@each_save
def test_the_tag_changes_with_each_change_and_only_then(save: Save, service: Service) -> None:
    values, made = service.make(save.record)
    tags = [made]
    for body in (save.first, save.first, save.second):
        answer = service.ask(save.operation, values, body)
        assert answer.status == 200, answer.text
        tags.append(answer.headers["etag"])
        assert service.tag(save.record, values) == tags[-1]
    assert len(set(tags)) == (4 if save.operation in ALWAYS_NEW else 3)
    assert (tags[1] == tags[2]) is (save.operation not in ALWAYS_NEW)


def test_what_a_state_shows_of_others_does_not_change_its_tag(service: Service) -> None:
    values, made = service.make("conversation")
    service.api.patch("/v3/agents/support", {"agent": {"title": "Other"}})
    answer = service.ask(STATE, values, {})
    assert answer.json["agentData"]["title"] == "Other"
    assert answer.headers["etag"] == made


def test_what_is_not_saved_yet_has_no_tag(service: Service) -> None:
    assert "etag" not in service.api.post("/agents/support/interact/nobody/state", {}).headers


def test_a_refusal_and_a_list_have_no_tag(service: Service) -> None:
    for path in ("/v3/agents/nobody", "/v3/agents", "/v2/agents/support/convos"):
        assert "etag" not in service.api.get(path).headers


# ---- If-Match -------------------------------------------------------------------------------------


@one_of_each(lambda save: save.record)
@each_save
def test_a_save_over_what_was_read_passes_and_the_next_with_that_tag_is_refused(
    save: Save, service: Service, shown: Shown
) -> None:
    values, read = service.make(save.record)
    answer = service.ask(save.operation, values, save.first, If_Match=read)
    assert answer.status == 200, answer.text
    before = stored()
    lost = service.ask(save.operation, values, save.second, If_Match=read)
    assert stored() == before
    assert "etag" not in lost.headers
    shown(states=1)
    interaction = {"interaction": True, "platform": "vg"} if save.operation == STATE else {}
    said = refused(lost, 412, **interaction)
    assert said == "If-Match does not match the record's current ETag; read it and try again."
    assert service.ask(save.operation, values, save.second, If_Match=answer.headers["etag"]).status == 200


@each_deletion
def test_a_deletion_of_what_was_read_passes_and_one_of_something_else_is_refused(
    name: str, service: Service, shown: Shown
) -> None:
    values, read = service.make(name)
    operation = RECORDS[name].deleted_by or ""
    before = stored()
    refused(service.ask(operation, values, If_Match=SOMEBODY_ELSE_S), 412)
    assert stored() == before
    shown(states=1)
    assert service.ask(operation, values, If_Match=read).status == 200
    refused(service.ask(operation, values, If_Match=read), 412)


@one_of_each(lambda save: save.record)
@each_save
@pytest.mark.parametrize("header", ["*", SOMEBODY_ELSE_S])
def test_what_is_not_there_is_not_saved(header: str, save: Save, service: Service) -> None:
    values, _ = service.make(save.record)
    before = stored()
    answer = service.ask(save.operation, elsewhere(save.operation, values), save.first, If_Match=header)
    refused(answer, 412, **({"interaction": True, "platform": "vg"} if save.operation == STATE else {}))
    assert stored() == before


@pytest.mark.parametrize("form", ["{}, {}", "*", " {} ", ",{},, {},", '"",{},{}', 'W/"x" , {} , {}'])
def test_one_tag_of_a_list_is_enough_and_any_will_do(form: str, service: Service) -> None:
    values, read = service.make("tool")
    header = form.replace("{}", SOMEBODY_ELSE_S, form.count("{}") - 1).replace("{}", read)
    assert service.ask("PATCH /v3/tools/{tool_id}", values, {"tool": {"name": "1"}}, If_Match=header).status == 200


def test_a_weak_tag_matches_nothing(service: Service) -> None:
    values, read = service.make("tool")
    answer = service.ask("PATCH /v3/tools/{tool_id}", values, {"tool": {"name": "1"}}, If_Match=f"W/{read}")
    refused(answer, 412)


MALFORMED = ["", "tag", '"a" "b"', '"a', "a, *", '*, "a"', '"a b"', 'w/"a"', '"a",b', "**", "'a'"]


@one_of_each(lambda header: header)
@each_save
@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
def test_a_header_that_is_no_list_of_tags_is_refused_and_not_repeated(
    header: str, save: Save, service: Service
) -> None:
    values, _ = service.make(save.record)
    before = stored()
    answer = service.ask(save.operation, values, save.first, **{header: "canary"})
    interaction = {"interaction": True, "platform": "vg"} if save.operation == STATE else {}
    said = refused(answer, 400, header, **interaction)
    assert said == f"{header} must be * or a list of quoted tags, as in the ETag header."
    assert "canary" not in answer.text
    assert stored() == before


@one_of_each(lambda: None)
@pytest.mark.parametrize("text", MALFORMED)
def test_what_is_no_list_of_tags(text: str, service: Service) -> None:
    values, _ = service.make("tool")
    refused(service.ask("DELETE /v3/tools/{tool_id}", values, If_Match=text), 400, "If-Match")
    refused(service.ask("GET /v3/tools/{tool_id}", values, If_None_Match=text), 400, "If-None-Match")


# ---- another writer between the check and the save ------------------------------------------------


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Lets something happen once, when a record was held against the headers and is not saved yet."""
    monkeypatch.setattr(clock, "sleep", lambda duration: None)
    checked = etag.check_preconditions

    def let(happen: Callable[[], object]) -> None:
        waiting = [happen]

        def held(row: Any) -> Any:
            try:
                return checked(row)
            finally:
                for happens in [waiting.pop()] if waiting else ():
                    happens()

        monkeypatch.setattr(etag, "check_preconditions", held)

    return let


@one_of_each(lambda save: save.record)
@each_save
def test_a_writer_who_comes_between_is_not_overwritten(
    save: Save, service: Service, meanwhile: Any, shown: Shown
) -> None:
    values, read = service.make(save.record)
    others: list[Answer] = []
    meanwhile(lambda: others.append(service.ask(save.operation, values, save.second)))
    answer = service.ask(save.operation, values, save.first, If_Match=read)
    assert answer.status == 412, answer.text
    assert [one.status for one in others] == [200]
    assert service.tag(save.record, values) == others[0].headers["etag"]
    shown(states=1)


@one_of_each(lambda: None)
@pytest.mark.parametrize("save", {one.record: one for one in SAVES.values() if one.record in DELETES}.values())
def test_what_somebody_saves_meanwhile_is_not_deleted(save: Save, service: Service, meanwhile: Any) -> None:
    values, read = service.make(save.record)
    others: list[Answer] = []
    meanwhile(lambda: others.append(service.ask(save.operation, values, save.second)))
    answer = service.ask(RECORDS[save.record].deleted_by or "", values, If_Match=read)
    assert (answer.status, [one.status for one in others]) == (412, [200])
    assert service.tag(save.record, values) == others[0].headers["etag"]


@pytest.mark.parametrize("name", AT_AN_ID)
def test_whoever_makes_it_meanwhile_is_not_overwritten(name: str, service: Service, meanwhile: Any) -> None:
    values, _ = service.make(name)
    save = next(one for one in SAVES.values() if one.operation == AT_AN_ID[name])
    new = elsewhere(save.operation, values)
    others: list[Answer] = []
    meanwhile(lambda: others.append(service.ask(save.operation, new, save.second)))
    answer = service.ask(save.operation, new, save.first, If_None_Match="*")
    assert (answer.status, [one.status for one in others]) == (412, [200])
    assert service.tag(name, new) == others[0].headers["etag"]


def test_without_a_precondition_a_replacement_of_what_was_replaced_meanwhile_is_a_conflict(
    service: Service, meanwhile: Any
) -> None:
    values, _ = service.make("conversation")
    meanwhile(lambda: service.ask(STATE, values, REPLACED_AGAIN))
    refused(service.ask(STATE, values, REPLACED), 409, interaction=True, platform="vg", code="STALE")


# ---- If-None-Match --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", AT_AN_ID)
def test_what_is_there_is_not_made_again(name: str, service: Service, shown: Shown) -> None:
    values, _ = service.make(name)
    save = next(one for one in SAVES.values() if one.operation == AT_AN_ID[name])
    before = stored()
    answer = service.ask(save.operation, values, save.first, If_None_Match="*")
    assert stored() == before
    shown(states=1)
    said = refused(answer, 412, **({"interaction": True, "platform": "vg"} if save.operation == STATE else {}))
    assert said == "If-None-Match matches the existing record; read it and try again."
    new = elsewhere(save.operation, values)
    assert service.ask(save.operation, new, save.first, If_None_Match="*").status == 200
    assert service.ask(save.operation, new, save.second, If_None_Match="*").status == 412


@each_value_once
@each_read
@pytest.mark.parametrize("form", ["{}", "W/{}", '"x", {}', "*"])
def test_whoever_has_the_record_is_not_sent_it_again(form: str, name: str, operation: str, service: Service) -> None:
    values, made = service.make(name)
    answer = service.ask(operation, values, If_None_Match=form.format(made))
    assert (answer.status, answer.text, answer.headers["etag"]) == (304, "", made)
    assert "content-type" not in answer.headers


@one_of_each(lambda: None)
@each_read
def test_whoever_has_another_one_is_sent_this(name: str, operation: str, service: Service) -> None:
    values, made = service.make(name)
    answer = service.ask(operation, values, If_None_Match=SOMEBODY_ELSE_S)
    assert (answer.status, answer.headers["etag"]) == (200, made)
    refused(service.ask(operation, elsewhere(operation, values), If_None_Match="*"), 404)


def test_a_page_of_another_origin_may_read_a_304(service: Service) -> None:
    answer = service.ask("GET /v2/agents/{agent_id}", {"agent_id": "support"}, If_None_Match="*")
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (304, "*")


# ---- what it costs, and what a lost answer does ---------------------------------------------------


@one_of_each(lambda save: save.record)
@each_save
def test_a_precondition_costs_no_request(save: Save, service: Service) -> None:
    values, _ = service.make(save.record)
    for body in (save.first, save.second):
        service.ask(save.operation, values, body)
    with counted() as without:
        service.ask(save.operation, values, save.first)
    read = service.ask(save.operation, values, save.second).headers["etag"]
    with counted() as requests:
        assert service.ask(save.operation, values, save.first, If_Match=read).status == 200
    # Analytics are the only record that a write does not read.
    assert requests - without == ({"GetItem": 1} if save.operation == ANALYTICS else {})
    assert without - requests == {}


@one_of_each(lambda save: save.record)
@each_save
def test_a_save_whose_answer_gets_lost_on_the_way_from_the_database_is_a_save(save: Save, service: Service) -> None:
    values, read = service.make(save.record)
    with counted() as requests:
        read = service.ask(save.operation, values, save.second, If_Match=read).headers["etag"]
    (write,) = {"PutItem", "UpdateItem", "TransactWriteItems"} & set(requests)
    if write == "TransactWriteItems":
        pytest.skip("the engine knows a transaction again by its token, this one in memory does not")
    with answer_lost_once(write):
        answer = service.ask(save.operation, values, save.first, If_Match=read)
    assert answer.status == 200, answer.text
    assert service.tag(save.record, values) == answer.headers["etag"]
