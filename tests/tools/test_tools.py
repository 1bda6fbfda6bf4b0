"""Tools over HTTP, and their stored rows (§2.2, §2.3, §4.1)."""

import random
import re
from base64 import b64encode
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from chalicelib import clock
from chalicelib.tools import store
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import canonical, refused, stored
from tests.conftest import StopClock
from tests.contract.member_table import document
from tests.direct_writes import before_each_commit
from tests.selection import first_case, one_of_each

NOW = 1_790_000_000
READ_ONLY = ("id", "createdAt", "updatedAt", "agentId", "userId", "backchannellingPhrases")
Create = Callable[..., Any]


@pytest.fixture
def tools(api: Api, agent_id: str) -> str:
    """Return the path of the agent's tool list."""
    return f"/v3/agents/{agent_id}/tools"


@pytest.fixture
def create(api: Api, tools: str) -> Create:
    """Return a function that creates a tool for the agent and returns the record from the response."""
    return lambda **members: api.post(tools, {"tool": {"name": "Look up", **members}}).data


def noise(length: int) -> str:
    """Return incompressible text."""
    return b64encode(random.Random(length).randbytes(length)).decode()[:length]


def stored_tool(workspace: NewWorkspace, tool_id: str) -> Any:
    return store.read(workspace.workspace_id, tool_id).open()


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


# Create


def test_a_new_tool_has_the_sent_and_the_generated_members(
    workspace: NewWorkspace, api: Api, tools: str, stop_clock: StopClock
) -> None:
    stop_clock(NOW)
    answer = api.post(tools, {"tool": {"name": "Look up", "serverUrl": "https://x.test", "channels": ["web-chat"]}})

    assert answer.json["message"] == "Tool created successfully"
    made = answer.data
    assert without(made, "id") == {
        "name": "Look up",
        "method": "GET",
        "serverUrl": "https://x.test",
        "channels": ["web-chat"],
        "agentId": "support",
        "userId": workspace.workspace_id,
        "createdAt": clock.iso(NOW),
        "updatedAt": clock.iso(NOW),
    }
    assert stored_tool(workspace, made["id"]) == without(made, "id")
    assert api.get(f"/v3/tools/{made['id']}").json == {
        "success": True,
        "message": "Tool retrieved successfully",
        "data": made,
    }


@pytest.mark.parametrize(
    ("body", "path"),
    [
        pytest.param({"tool": {}}, "tool.name", id="without a name"),
        pytest.param({"tool": {"name": None}}, "tool.name", id="null for a name"),
        pytest.param({"tool": {"name": 5}}, "tool.name", id="a number for a name"),
        pytest.param({}, "tool", id="without a tool"),
        pytest.param({"tool": None}, "tool", id="null for a tool"),
    ],
)
@first_case
def test_a_tool_without_a_name_is_not_created(body: Any, path: str, api: Api, tools: str) -> None:
    before = stored()
    refused(api.post(tools, body), 400, path)
    assert stored() == before


def test_a_tool_of_an_unknown_agent_is_not_created(api: Api, workspace: NewWorkspace) -> None:
    api.get("/v3/agents")
    before = stored()
    assert refused(api.post("/v3/agents/unknown/tools", {"tool": {"name": "x"}}), 404) == "There is no such agent."
    assert stored() == before


def test_the_method_is_returned_as_sent(create: Create) -> None:
    assert create(method="PATCH")["method"] == "PATCH"


def test_two_creations_with_equal_members_create_two_tools(create: Create) -> None:
    assert create()["id"] != create()["id"]


def test_a_creation_ignores_variables_ids(workspace: NewWorkspace, create: Create) -> None:
    made = create(variablesIds=["v"])
    assert "variablesIds" not in made
    assert "variablesIds" not in stored_tool(workspace, made["id"])


@pytest.mark.parametrize("id_", [{}, {"id": None}, {"id": ""}], ids=["left out", "null", "empty"])
@pytest.mark.parametrize("way", ["create", "change"])
@first_case
def test_a_field_without_an_id_gets_one(
    way: str, id_: dict[str, Any], workspace: NewWorkspace, api: Api, create: Create
) -> None:
    fields = [{"key": "a", **id_}, {"key": "b", **id_}]
    made = create(fields=fields if way == "create" else [])
    if way == "change":
        made = api.patch(f"/v3/tools/{made['id']}", {"tool": {"fields": fields}}).data

    assert [field["key"] for field in made["fields"]] == ["a", "b"]
    assert len({field["id"] for field in made["fields"]}) == 2
    assert all(field["id"] for field in made["fields"])
    assert stored_tool(workspace, made["id"])["fields"] == made["fields"]


def test_a_field_with_an_id_keeps_it(api: Api, create: Create) -> None:
    made = create(fields=[{"id": "mine", "in": "body"}])
    assert made["fields"] == [{"id": "mine", "in": "body"}]
    changed = api.patch(f"/v3/tools/{made['id']}", {"tool": {"fields": [{"id": "mine"}, {"id": "new"}]}}).data
    assert changed["fields"] == [{"id": "mine"}, {"id": "new"}]


# Change


def test_a_change_affects_only_the_members_it_names(
    workspace: NewWorkspace, api: Api, create: Create, stop_clock: StopClock
) -> None:
    stop_clock(NOW)
    made = create(description="d", fields=[{"id": "f"}])
    stop_clock(NOW + 60)
    answer = api.patch(f"/v3/tools/{made['id']}", {"tool": {"name": "New", "disabled": True}})

    assert answer.json["message"] == "Tool updated successfully"
    assert answer.data == {**made, "name": "New", "disabled": True, "updatedAt": clock.iso(NOW + 60)}
    assert stored_tool(workspace, made["id"]) == without(answer.data, "id")


def test_a_change_replaces_the_fields_as_a_whole(api: Api, create: Create) -> None:
    made = create(fields=[{"id": "a", "key": "k"}, {"id": "b"}])
    changed = api.patch(f"/v3/tools/{made['id']}", {"tool": {"fields": [{"id": "a", "in": "path"}]}}).data
    assert changed["fields"] == [{"id": "a", "in": "path"}]


@pytest.mark.parametrize("member", ["description", "fields", "channels", "disabled", "variablesIds"])
@first_case
def test_null_clears_a_member(member: str, workspace: NewWorkspace, api: Api, create: Create) -> None:
    values = {"description": "d", "fields": [{"id": "f"}], "channels": ["c"], "disabled": False, "variablesIds": ["v"]}
    path = f"/v3/tools/{create()['id']}"
    assert api.patch(path, {"tool": {member: values[member]}}).data[member] == values[member]
    changed = api.patch(path, {"tool": {member: None}}).data
    assert member not in changed
    assert member not in stored_tool(workspace, changed["id"])


def test_a_change_may_set_variables_ids(workspace: NewWorkspace, api: Api, create: Create) -> None:
    made = api.patch(f"/v3/tools/{create()['id']}", {"tool": {"variablesIds": ["v", "w"]}}).data
    assert made["variablesIds"] == ["v", "w"]
    assert stored_tool(workspace, made["id"])["variablesIds"] == ["v", "w"]


def test_read_only_members_are_accepted_and_ignored(workspace: NewWorkspace, api: Api, create: Create) -> None:
    theirs = {**dict.fromkeys(READ_ONLY, "x"), "backchannellingPhrases": ["x"]}
    made = create(**theirs)
    assert "x" not in made.values()
    assert "backchannellingPhrases" not in made

    before = stored()
    assert api.patch(f"/v3/tools/{made['id']}", {"tool": theirs}).data == made
    assert stored() == before


def test_saving_an_unchanged_tool_writes_nothing(api: Api, create: Create, stop_clock: StopClock) -> None:
    made = create(**without(document("tool", whole=False), *READ_ONLY, "name", "variablesIds"))
    read, before = api.get(f"/v3/tools/{made['id']}").data, stored()
    stop_clock(NOW)
    assert api.patch(f"/v3/tools/{made['id']}", {"tool": read}).data == read
    assert stored() == before


def test_a_change_is_applied_to_the_write_that_came_first(
    api: Api, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, theirs = f"/v3/tools/{create()['id']}", iter([{"tool": {"description": "theirs"}}])
    before_each_commit(monkeypatch, lambda: [api.patch(path, change) for change in theirs])
    changed = api.patch(path, {"tool": {"method": "POST"}}).data
    assert (changed["method"], changed["description"]) == ("POST", "theirs")
    assert api.get(path).data == changed


# Lossless round trips


@pytest.mark.parametrize("whole", [True, False], ids=["whole numbers", "fractions"])
def test_every_member_is_stored_and_returned_unchanged(
    whole: bool, workspace: NewWorkspace, api: Api, create: Create
) -> None:
    sent = document("tool", whole=whole)
    made = create(**sent)
    assert canonical(without(made, *READ_ONLY)) == canonical(without(sent, *READ_ONLY, "variablesIds"))

    changed = api.patch(f"/v3/tools/{made['id']}", {"tool": sent}).data
    assert canonical(without(changed, *READ_ONLY)) == canonical(without(sent, *READ_ONLY))
    assert canonical(stored_tool(workspace, made["id"])) == canonical(without(changed, "id"))


@one_of_each(lambda value: type(value))
@pytest.mark.parametrize(
    "value",
    [0, False, "", [], {}, 1e300, 10**40, {"": [None, {"😀": 1.5}]}],
    ids=["0", "false", "empty text", "empty list", "empty object", "1e300", "10^40", "nested"],
)
def test_a_field_s_value_may_be_any_json(value: Any, workspace: NewWorkspace, create: Create) -> None:
    field = {"id": "f", "value": value, "defaultValue": [value]}
    made = create(fields=[field])
    assert canonical(made["fields"]) == canonical([field])
    assert canonical(stored_tool(workspace, made["id"])["fields"]) == canonical([field])


def test_a_field_s_value_changes_between_values_that_python_compares_equal(api: Api, create: Create) -> None:
    path = f"/v3/tools/{create(fields=[{'id': 'f', 'value': 1}])['id']}"
    api.patch(path, {"tool": {"fields": [{"id": "f", "value": True}]}})
    assert api.get(path).data["fields"][0]["value"] is True


def test_times_are_iso_8601_in_utc(create: Create) -> None:
    made = create()
    for member in ("createdAt", "updatedAt"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made[member])


# List


def test_the_list_has_every_tool_of_the_agent_oldest_first(
    api: Api, tools: str, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count(NOW * 1000)
    monkeypatch.setattr(clock, "milliseconds", lambda: next(ticks))
    made = [create(name=str(number))["id"] for number in range(130)]
    answer = api.get(tools)
    assert answer.json["message"] == "Tools retrieved successfully"
    assert [tool["id"] for tool in answer.data] == made


def test_the_list_continues_after_the_first_query_answer(api: Api, tools: str, create: Create) -> None:
    """The database limits a query response to 1 MB."""
    made = {create(description=noise(150_000))["id"] for _ in range(12)}
    assert {tool["id"] for tool in api.get(tools).data} == made


def test_the_list_returns_the_same_records_as_a_read(api: Api, tools: str, create: Create) -> None:
    made = create(fields=[{"key": "k"}])
    assert api.get(tools).data == [made] == [api.get(f"/v3/tools/{made['id']}").data]


def test_the_list_has_only_the_tools_of_its_agent(api: Api, tools: str, create: Create) -> None:
    create()
    api.post("/v2/agents/sales", {})
    other = api.post("/v3/agents/sales/tools", {"tool": {"name": "Sell"}}).data
    assert api.get("/v3/agents/sales/tools").data == [other]
    assert [tool["name"] for tool in api.get(tools).data] == ["Look up"]


def test_an_agent_without_tools_has_an_empty_list(api: Api, tools: str) -> None:
    assert api.get(tools).data == []


def test_the_tools_of_an_unknown_agent_are_not_found(api: Api) -> None:
    assert refused(api.get("/v3/agents/unknown/tools"), 404) == "There is no such agent."


# Unknown, or in another workspace


@pytest.mark.parametrize("tool_id", ["x", "0123456789a", "0123456789aunknown"])
@first_case
def test_an_unknown_tool_is_not_found(tool_id: str, api: Api, create: Create) -> None:
    create()
    assert refused(api.get(f"/v3/tools/{tool_id}"), 404) == "There is no such tool."
    refused(api.patch(f"/v3/tools/{tool_id}", {"tool": {"name": "mine"}}), 404)


def test_a_part_of_a_tool_s_id_is_not_found(api: Api, create: Create) -> None:
    tool_id = create()["id"]
    for other in (tool_id[:-1], tool_id + "0", tool_id[:11]):
        refused(api.get(f"/v3/tools/{other}"), 404)


def test_another_workspace_s_tool_is_not_found_under_an_equal_agent_id(
    api: Api, create: Create, tools: str, other_workspace: NewWorkspace
) -> None:
    made = create()
    other = Api(other_workspace.workspace_key)
    other.post("/v2/agents/support", {})
    theirs = other.post(tools, {"tool": {"name": "Theirs"}}).data
    before = stored()

    refused(other.get(f"/v3/tools/{made['id']}"), 404)
    refused(other.patch(f"/v3/tools/{made['id']}", {"tool": {"name": "mine"}}), 404)
    assert other.get(tools).data == [theirs]
    assert api.get(tools).data == [made]
    assert stored() == before


@pytest.mark.parametrize("name", ["", "  ", "\n\t", "\u200b\ufeff"])
def test_a_name_has_a_visible_character(name: str, api: Api, agent_id: str) -> None:
    tools = f"/v3/agents/{agent_id}/tools"
    tool = api.post(tools, {"tool": {"name": "own"}}).data["id"]
    answers = [
        (api.post(tools, {"tool": {"name": name}}), "tool.name"),
        (api.patch(f"/v3/tools/{tool}", {"tool": {"name": name}}), "tool.name"),
        (api.post("/v3/agents", {"agent": {"tools": [{"name": name}]}}), "agent.tools.0.name"),
    ]
    for answer, path in answers:
        expected = f"{path} must not be blank."
        assert (answer.status, answer.json["message"]) == (400, expected)
