"""Analytics records over HTTP, and their stored rows (§2.8, §4.2)."""

import json
from typing import Any

import pytest

from chalicelib.agents import store as agents
from chalicelib.analytics import store
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import canonical, refused, stored
from tests.contract.member_table import document
from tests.selection import first_case, one_of_each

PATH = "/v2/agents/support/analytics/user-1"
LOAD = {"record": "load", "ipAddress": "203.0.113.9", "browser": "Firefox", "ts": 5, "origin": "web-chat"}
CONVO = {"record": "convo", "userID": "user-1", "interactionsNum": 3, "firstMessageTS": 6, "lastMessageTS": 9}


def write(api: Api, record: dict[str, Any], path: str = PATH) -> None:
    answer = api.post(path, record)
    assert answer.json == {"success": True, "message": "Analytics added successfully"}, answer.text


def stored_records(workspace: NewWorkspace, agent_id: str = "support", conversation_id: str = "user-1") -> list[Any]:
    """Return the stored page load and the stored conversation record, or None for a missing record."""
    row = store.find(workspace.workspace_id, agent_id, conversation_id)
    known = {record["record"]: record for record in store.records(row)} if row else {}
    return [known.get(kind) for kind in ("load", "convo")]


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """Create the agent for every test."""


@pytest.mark.parametrize("record", [LOAD, CONVO], ids=["load", "convo"])
def test_a_single_record_is_returned_unchanged(record: Any, api: Api, workspace: NewWorkspace) -> None:
    write(api, record)
    answer = api.get(PATH)
    assert answer.json == {"success": True, "message": "Analytics retrieved successfully", "data": record}
    assert [one for one in stored_records(workspace) if one] == [record]


def test_the_page_load_supplies_the_members_that_the_conversation_lacks(api: Api, workspace: NewWorkspace) -> None:
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
def test_a_write_replaces_the_record_of_its_kind(kind: str, api: Api, workspace: NewWorkspace) -> None:
    write(api, {"record": kind, "browser": "Firefox", "ts": 5})
    write(api, {"record": kind, "browser": "Safari"})
    assert api.get(PATH).data == {"record": kind, "browser": "Safari"}
    assert [one for one in stored_records(workspace) if one] == [{"record": kind, "browser": "Safari"}]


def test_a_write_does_not_change_the_record_of_the_other_kind(api: Api, workspace: NewWorkspace) -> None:
    write(api, LOAD)
    write(api, CONVO)
    write(api, {"record": "load"})
    assert stored_records(workspace) == [{"record": "load"}, CONVO]


def test_null_equals_an_absent_member(api: Api, workspace: NewWorkspace) -> None:
    write(api, LOAD)
    write(api, {**CONVO, "browser": None})
    assert stored_records(workspace)[1] == CONVO
    assert api.get(PATH).data["browser"] == "Firefox"


@pytest.mark.parametrize("whole", [True, False], ids=["whole numbers", "fractions"])
def test_every_member_is_stored_and_returned_unchanged(whole: bool, api: Api, workspace: NewWorkspace) -> None:
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
def test_an_unknown_kind_or_origin_is_refused(body: Any, path: str, rule: str, api: Api) -> None:
    before = stored()
    assert refused(api.post(PATH, body), 400, path) == f"{path} {rule}."
    assert stored() == before


@pytest.mark.parametrize("origin", ["web-chat", "chatapp", "community", "gb-chat"])
@first_case
def test_every_origin_of_the_specification_is_accepted(origin: str, api: Api) -> None:
    write(api, {"record": "load", "origin": origin})
    assert api.get(PATH).data["origin"] == origin


def test_reading_without_a_written_record_is_a_404(api: Api) -> None:
    write(api, LOAD)
    assert refused(api.get(PATH + "0"), 404) == "There is no such analytics record."


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_analytics_of_an_unknown_agent_are_a_404(method: str, api: Api) -> None:
    before = stored()
    path = "/v2/agents/unknown/analytics/user-1"
    answer = api.get(path) if method == "GET" else api.post(path, LOAD)
    assert refused(answer, 404) == "There is no such agent."
    assert stored() == before


def test_a_known_agent_is_cached(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    write(api, LOAD)
    monkeypatch.setattr(agents, "find", None)
    write(api, CONVO)


def test_analytics_are_separate_per_agent_and_conversation(api: Api) -> None:
    api.post("/v2/agents/sales", {})
    paths = [PATH, PATH + "2", "/v2/agents/sales/analytics/user-1"]
    for number, path in enumerate(paths):
        write(api, {"record": "load", "ts": number}, path)
    assert [api.get(path).data["ts"] for path in paths] == [0, 1, 2]


def test_analytics_with_equal_ids_are_separate_per_workspace(
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
def test_large_and_small_numbers_are_stored_exactly(value: float, api: Api) -> None:
    write(api, {"record": "load", "ts": value})
    assert canonical(api.get(PATH).data["ts"]) == canonical(value)
