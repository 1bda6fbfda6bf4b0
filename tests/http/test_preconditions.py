"""`ETag`, `If-Match` and `If-None-Match` on every single-record route (RFC 9110, section 13)."""

import re

import pytest
from chalice.app import CORSConfig

from chalicelib.http import cors
from tests import extensions
from tests.api import Api
from tests.assertions import refused, stored
from tests.guarantees import CaseCounter
from tests.http.conditional_requests import (
    ADDRESSED_READS,
    ADDRESSED_SAVES,
    ALWAYS_WRITES,
    APPENDS,
    CREATED_AT_ID,
    DELETIONS,
    OTHER_TAG,
    READS,
    RECORDS,
    SAVES,
    Save,
    Service,
    each_deletion,
    each_save,
    unknown_record,
)
from tests.http.conditional_requests import service as service
from tests.openapi.document import operations
from tests.operations import STATE, populate, send
from tests.selection import first_case, one_of_each, zip_cycled

pytestmark = pytest.mark.guarantee("matched")


# ---- completeness ---------------------------------------------------------------------------------


def test_an_answer_has_an_etag_exactly_where_the_document_says(api: Api) -> None:
    ids = populate(api._headers, "one", dict.fromkeys(("agent_id", "user_id", "client_id", "org_id"), "one"))
    documented = {one.route: "ETag" in one.success_headers for one in operations()}
    # Deleting the agent must be the last request.
    order = sorted(documented, key=lambda name: (name.startswith("DELETE"), name == RECORDS["agent"].deleted_by))
    assert {name: "etag" in send(name, api._headers, ids, "two").headers for name in order} == documented


def test_the_openapi_document_declares_the_preconditions_of_each_route() -> None:
    reads, saves = {path for _, path in READS.values()}, {one.operation for one in SAVES.values()}
    saves |= {*extensions.listed("TESTED_SAVES")}
    deletes = {operation for _, operation in DELETIONS}
    accepts: dict[str, set[str]] = {
        "If-Match": saves | deletes,
        "If-None-Match": reads | APPENDS | {*CREATED_AT_ID.values(), *extensions.joined("CREATED_WHEN_NAMED")},
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


# All reads share the code that compares tags, so each read is tested with only one form of the header.
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
    monkeypatch.setattr(cors, "CORS", CORSConfig("*"))
    answer = service.send("GET /v2/agents/{agent_id}", {"agent_id": "support"}, If_None_Match="*")
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (304, "*")
