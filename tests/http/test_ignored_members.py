"""Responses list ignored members in `warnings`, tools must have names, and errors contain the platform."""

from typing import Any, get_args

import pytest

from app import app
from chalicelib.http.bodies import IGNORED
from chalicelib.http.wire import WireModel, read_only_members
from tests.api import Answer, Api
from tests.assertions import refused, stored
from tests.builders import lead_body
from tests.conftest import PassTime

STATE = "/agents/support/interact/ann/state"


def has_ignored(kind: Any) -> bool:
    """Return whether a body of this type may contain a member that only the service sets."""
    if isinstance(kind, type) and issubclass(kind, WireModel):
        inner = (field.annotation for field in kind.model_fields.values())
        return bool(read_only_members(kind)) or any(map(has_ignored, inner))
    return any(map(has_ignored, get_args(kind)))


def paths(answer: Answer) -> list[str]:
    """Return the paths in the warnings about ignored members."""
    assert answer.status == 200, answer.text
    return [one["path"] for one in answer.json.get("warnings", []) if one["message"] == IGNORED]


def test_every_operation_that_ignores_members_warns() -> None:
    views = [route.view_function for methods in app.routes.values() for route in methods.values()]
    declared = {view.__name__: view.operation for view in views if hasattr(view, "operation")}
    silent = [name for name, one in declared.items() if one.body and has_ignored(one.body) and not one.warns]
    assert silent == []


def test_each_route_lists_what_it_ignores(api: Api, agent_id: str) -> None:
    tool = api.post("/v3/agents/support/tools", {"tool": {"name": "t", "id": "x", "variablesIds": ["v"]}})
    assert paths(tool) == ["tool.id", "tool.variablesIds"]
    changed = api.patch(f"/v3/tools/{tool.data['id']}", {"tool": {"variablesIds": ["v"], "createdAt": "x"}})
    assert (paths(changed), changed.data["variablesIds"]) == (["tool.createdAt"], ["v"])
    agent = {"ID": "x", "ownerID": None, "tools": [{"name": "t", "agentId": "x", "variablesIds": []}]}
    assert paths(api.post("/v3/agents", {"agent": agent})) == [
        "agent.ID", "agent.ownerID", "agent.tools.0.agentId", "agent.tools.0.variablesIds",
    ]  # fmt: skip
    assert paths(api.patch("/v3/agents/support", {"agent": agent})) == ["agent.ID", "agent.ownerID", "agent.tools"]
    state = api.post(STATE, {"turns": [], "metadata": {"messagesNum": 5, "ID": "x", "userName": "Ann"}})
    assert (paths(state), state.json["chatState"]["messagesNum"]) == (["metadata.ID", "metadata.messagesNum"], 0)
    convo = {"conversation": {"lastModified": 1, "messagesNum": 1}}
    assert paths(api.post("/v3/agents/support/convos", convo)) == ["conversation.lastModified"]
    changed = api.patch("/v3/agents/support/convos/ann", convo)
    assert paths(changed) == ["conversation.lastModified", "conversation.messagesNum"]
    api.post("/agents/support/interact/ann/messages", {"messages": [{"mid": "m"}]})
    message = api.patch("/v3/agents/support/convos/ann/messages/m", {"message": {"mid": "n", "type": "text"}})
    assert (paths(message), message.data["mid"]) == (["message.mid"], "m")
    lead = api.post("/v3/leads", lead_body(agentName="x", createdAt=1))
    assert paths(lead) == ["lead.agentName", "lead.createdAt"]
    assert paths(api.patch(f"/v3/leads/{lead.data['id']}", {"lead": {"agentId": "x"}})) == ["lead.agentId"]
    assert paths(api.post("/v2/clients/ann", {"ownerID": "x"})) == ["ownerID"]
    assert paths(api.post("/v3/clients", {"client": {"orgUsers": []}})) == ["client.orgUsers"]
    assert paths(api.post("/v2/orgs/acme", {"name": "Acme", "userId": "x"})) == ["userId"]
    assert paths(api.patch("/v3/workspace", {"workspace": {"id": "x"}})) == ["workspace.id"]


def test_a_request_without_ignored_members_has_no_warnings(api: Api, agent_id: str) -> None:
    assert "warnings" not in api.post(STATE, {"turns": [], "metadata": {"userName": "Ann"}}).json
    assert "warnings" not in api.post("/v3/agents/support/tools", {"tool": {"name": "t"}}).json


def test_strict_handling_accepts_a_record_as_it_was_read(api: Api, agent_id: str) -> None:
    """Strict handling rejects only unknown members; known members may be sent back."""
    read = api.get("/v3/agents/support").data
    headers = {**api._headers, "Content-Type": "application/json", "Prefer": "handling=strict"}
    answer = api.call("PATCH", "/v3/agents/support", {"agent": read}, headers)
    assert paths(answer) == [
        f"agent.{name}" for name in ("ID", "createdAtUNIX", "id", "lastModified", "ownerID", "tools")
    ]


@pytest.mark.parametrize("name", [{}, {"name": None}], ids=["absent", "null"])
def test_the_name_of_a_new_tool_is_required(api: Api, agent_id: str, name: dict[str, None]) -> None:
    before = stored()
    refused(api.post("/v3/agents/support/tools", {"tool": name}), 400, "tool.name")
    refused(api.post("/v3/agents", {"agent": {"tools": [name]}}), 400, "agent.tools.0.name")
    assert stored() == before


def test_the_name_of_a_tool_cannot_be_cleared(api: Api, agent_id: str) -> None:
    tool = api.post("/v3/agents/support/tools", {"tool": {"name": "t"}}).data
    refused(api.patch(f"/v3/tools/{tool['id']}", {"tool": {"name": None}}), 400, "tool.name")
    assert api.patch(f"/v3/tools/{tool['id']}", {"tool": {"description": "d"}}).data["name"] == "t"


def test_errors_after_the_agent_was_read_contain_its_platform(api: Api, agent_id: str, pass_time: PassTime) -> None:
    api.patch("/v3/agents/support", {"agent": {"agentPlatform": "vf", "messagesLimit": 1}})
    api.post(STATE, {"turns": [{"from": "human", "messages": [{"mid": "a"}]}]})
    made = api.post("/agents/support/interact/ann/visitor-tokens", {"token": {}}).data
    headers = {**api._headers, "Content-Type": "application/json"}
    api.delete("/v3/agents/support/convos/ann")
    platforms = {
        "the visitor's conversation is deleted": Api(made["token"]).post(STATE),
        "a precondition": api.call("POST", STATE, {"turns": []}, {**headers, "If-Match": '"x"'}),
        "a malformed precondition": api.call("POST", STATE, {"turns": []}, {**headers, "If-Match": "x"}),
        "a limit": api.post(STATE, {"turns": [{"messages": [{}, {}]}]}),
        "a duplicated id": api.post(STATE, {"turns": [{"messages": [{"mid": "a"}, {"mid": "a"}]}]}),
        "a large member": api.post(STATE, {"metadata": {"userName": "x" * 70_000}}),
    }
    assert {name: answer.status for name, answer in platforms.items()} == dict(
        zip(platforms, (404, 412, 400, 429, 400, 413), strict=True)
    )
    assert {name: answer.json.get("platformName") for name, answer in platforms.items()} == dict.fromkeys(
        platforms, "vf"
    )
    for unread in (api.post(STATE, {"turns": 5}), api.post(STATE.replace("support", "no"), {})):
        assert "platformName" not in unread.json
