"""Analytics over HTTP, and what is stored of them (§2.8, §4.2)."""

import json
from typing import Any

import pytest

from chalicelib.agents import store as agents
from chalicelib.analytics import store
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.contract.test_members import document
from tests.evidence import canonical, refused, stored
from tests.selection import one_of_each

PATH = "/v2/agents/support/analytics/user-1"
LOAD = {"record": "load", "ipAddress": "203.0.113.9", "browser": "Firefox", "ts": 5, "origin": "web-chat"}
CONVO = {"record": "convo", "userID": "user-1", "interactionsNum": 3, "firstMessageTS": 6, "lastMessageTS": 9}


def write(api: Api, record: dict[str, Any], path: str = PATH) -> None:
    answer = api.post(path, record)
    assert answer.json == {"success": True, "message": "Analytics added successfully"}, answer.text


def stored_records(workspace: NewWorkspace, agent_id: str = "support", conversation_id: str = "user-1") -> list[Any]:
    """The stored page load and conversation record, None for one that is not there."""
    row = store.find(workspace.workspace_id, agent_id, conversation_id)
    known = {record["record"]: record for record in store.records(row)} if row else {}
    return [known.get(kind) for kind in ("load", "convo")]


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """The agent is there in every test."""


@pytest.mark.parametrize("record", [LOAD, CONVO], ids=["load", "convo"])
def test_a_record_that_stands_alone_is_answered_as_it_was_written(
    record: Any, api: Api, workspace: NewWorkspace
) -> None:
    write(api, record)
    answer = api.get(PATH)
    assert answer.json == {"success": True, "message": "Analytics retrieved successfully", "data": record}
    assert [one for one in stored_records(workspace) if one] == [record]


def test_the_conversation_is_completed_with_what_only_the_page_load_has(api: Api, workspace: NewWorkspace) -> None:
    write(api, CONVO | {"browser": "Safari", "ts": 50})
    write(api, LOAD)
    assert api.get(PATH).data == {
        **CONVO,
        "browser": "Safari",
        "ts": 50,
        "ipAddress": "203.0.113.9",
        "origin": "web-chat",
    }
    assert stored_records(workspace) == [LOAD, CONVO | {"browser": "Safari", "ts": 50}]


@pytest.mark.parametrize("kind", ["load", "convo"])
def test_the_last_write_of_a_kind_is_the_record_of_that_kind(kind: str, api: Api, workspace: NewWorkspace) -> None:
    write(api, {"record": kind, "browser": "Firefox", "ts": 5})
    write(api, {"record": kind, "browser": "Safari"})
    assert api.get(PATH).data == {"record": kind, "browser": "Safari"}
    assert [one for one in stored_records(workspace) if one] == [{"record": kind, "browser": "Safari"}]


def test_a_write_of_one_kind_leaves_the_other_alone(api: Api, workspace: NewWorkspace) -> None:
    write(api, LOAD)
    write(api, CONVO)
    write(api, {"record": "load"})
    assert stored_records(workspace) == [{"record": "load"}, CONVO]


def test_null_is_the_same_as_left_out(api: Api, workspace: NewWorkspace) -> None:
    write(api, LOAD)
    write(api, {**CONVO, "browser": None})
    assert stored_records(workspace)[1] == CONVO
    assert api.get(PATH).data["browser"] == "Firefox"


@pytest.mark.parametrize("whole", [True, False], ids=["whole numbers", "fractions"])
def test_every_member_is_stored_and_answered_as_it_was_sent(whole: bool, api: Api, workspace: NewWorkspace) -> None:
    sent = document("analytics", whole=whole)
    write(api, sent)
    assert canonical(api.get(PATH).data) == canonical(sent)
    assert canonical([one for one in stored_records(workspace) if one]) == canonical([sent])


@pytest.mark.parametrize(
    ("body", "path", "rule"),
    [
        pytest.param({}, "record", "is required", id="record left out"),
        pytest.param({"record": None}, "record", "must be 'load' or 'convo'", id="record null"),
        pytest.param({"record": "Load"}, "record", "must be 'load' or 'convo'", id="another record"),
        pytest.param({"record": 1}, "record", "must be 'load' or 'convo'", id="record a number"),
        pytest.param(
            {"record": "load", "origin": "webchat"},
            "origin",
            "must be 'web-chat', 'chatapp', 'community' or 'gb-chat'",
            id="another origin",
        ),
        pytest.param({"record": "load", "ts": "5"}, "ts", "must be a number", id="text for a number"),
    ],
)
def test_a_record_of_no_known_kind_or_origin_is_refused(body: Any, path: str, rule: str, api: Api) -> None:
    before = stored()
    assert refused(api.post(PATH, body), 400, path) == f"{path} {rule}."
    assert stored() == before


@pytest.mark.parametrize("origin", ["web-chat", "chatapp", "community", "gb-chat"])
def test_every_origin_of_the_specification_is_taken(origin: str, api: Api) -> None:
    write(api, {"record": "load", "origin": origin})
    assert api.get(PATH).data["origin"] == origin


def test_where_nothing_was_written_there_is_nothing_to_read(api: Api) -> None:
    write(api, LOAD)
    assert refused(api.get(PATH + "0"), 404) == "There is no such analytics record."


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_agent_has_no_analytics(method: str, api: Api) -> None:
    before = stored()
    path = "/v2/agents/nobody/analytics/user-1"
    answer = api.get(path) if method == "GET" else api.post(path, LOAD)
    assert refused(answer, 404) == "There is no such agent."
    assert stored() == before


def test_an_agent_that_was_seen_is_known_without_asking_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    write(api, LOAD)
    monkeypatch.setattr(agents, "find", None)
    write(api, CONVO)


def test_conversations_of_two_agents_and_two_ids_do_not_mix(api: Api) -> None:
    api.post("/v2/agents/sales", {})
    paths = [PATH, PATH + "2", "/v2/agents/sales/analytics/user-1"]
    for number, path in enumerate(paths):
        write(api, {"record": "load", "ts": number}, path)
    assert [api.get(path).data["ts"] for path in paths] == [0, 1, 2]


def test_two_workspaces_of_the_same_ids_do_not_mix(
    api: Api, workspace: NewWorkspace, other_workspace: NewWorkspace
) -> None:
    other = Api(other_workspace.workspace_key)
    write(api, LOAD)
    refused(other.post(PATH, CONVO), 404)
    refused(other.get(PATH), 404)
    other.post("/v2/agents/support", {})
    refused(other.get(PATH), 404)
    write(other, CONVO)
    assert (stored_records(workspace), stored_records(other_workspace)) == ([LOAD, None], [None, CONVO])


@one_of_each(lambda value: type(value))
@pytest.mark.parametrize("value", [1e300, 5e-324, 10**40, -0.5, 0], ids=json.dumps)
def test_a_number_is_kept_however_large_or_small(value: float, api: Api) -> None:
    write(api, {"record": "load", "ts": value})
    assert canonical(api.get(PATH).data["ts"]) == canonical(value)
