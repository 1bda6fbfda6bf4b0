"""Calls of tools: their arguments, repeated calls, the guards of changes and deletions, and the log."""

import json
from typing import Any

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.builders import message
from tests.extensions.mcp.assistant import Assistant
from tests.secret_canaries import CANARY, filled


@pytest.fixture
def assistant(workspace: NewWorkspace) -> Assistant:
    """Return a client with the workspace key."""
    return Assistant(workspace.workspace_key)


@pytest.fixture
def agent(assistant: Assistant) -> str:
    """Return a new agent's id."""
    made: str = assistant.call("create_agent", agent={"title": "Support"})["data"]["id"]
    return made


def path_of(error: dict[str, Any]) -> str:
    """Return the path of an error's first issue."""
    path: str = error["issues"][0]["path"]
    return path


def test_an_identical_call_is_answered_with_the_first_response(assistant: Assistant, agent: str) -> None:
    repeated = assistant.result("create_agent", agent={"title": "Support"})
    first, note = (json.loads(repeated["content"][0]["text"]), repeated["content"][1]["text"])
    assert first["data"]["id"] == agent
    assert "nothing was written now" in note
    on_purpose = assistant.call("create_agent", agent={"title": "Support"}, idempotency_key="second")
    assert on_purpose["data"]["id"] != agent
    assert len(assistant.result("create_agent", agent={"title": "Sales"})["content"]) == 1


def test_another_credential_s_call_is_not_a_repetition(
    assistant: Assistant, agent: str, workspace: NewWorkspace
) -> None:
    other = Assistant(workspace.access_token).call("create_agent", agent={"title": "Support"})
    assert other["data"]["id"] != agent


def test_a_change_needs_the_etag_of_the_current_version(assistant: Assistant, agent: str) -> None:
    assert path_of(assistant.fail("change_agent", agent_id=agent, agent={"title": "Sales"})) == "etag"
    etag = assistant.call("read_agent", agent_id=agent)["etag"]
    changed = assistant.call("change_agent", agent_id=agent, etag=etag, agent={"title": "Sales"})
    assert changed["etag"] != etag
    assert (
        assistant.fail("change_agent", agent_id=agent, etag=etag, agent={"title": "X"})["code"] == "PRECONDITION_FAILED"
    )
    assert assistant.call("change_agent", agent_id=agent, etag=etag, agent={"title": "Sales"}) == changed


@pytest.mark.parametrize(("title", "confirm"), [("Support", "Support"), (None, "id"), ("", "id")])
def test_a_deletion_needs_the_etag_and_the_title(assistant: Assistant, title: str | None, confirm: str) -> None:
    made = assistant.call("create_agent", agent={"title": title})
    agent, etag = made["data"]["id"], made["etag"]
    confirm = agent if confirm == "id" else confirm
    assert path_of(assistant.fail("delete_agent", agent_id=agent, etag=etag)) == "confirm"
    assert path_of(assistant.fail("delete_agent", agent_id=agent, confirm=confirm)) == "etag"
    assert path_of(assistant.fail("delete_agent", agent_id=agent, etag=etag, confirm="support")) == "confirm"
    assert assistant.fail("delete_agent", agent_id=agent, etag="stale", confirm=confirm)["code"] == "INVALID"
    assert assistant.call("read_agent", agent_id=agent)["data"]["id"] == agent
    assistant.call("delete_agent", agent_id=agent, etag=etag, confirm=confirm)
    assert assistant.fail("delete_agent", agent_id=agent, etag=etag, confirm=confirm)["code"] == "NOT_FOUND"


def test_tools_and_conversations_are_deleted_by_name_and_title(assistant: Assistant, agent: str) -> None:
    tool = assistant.call("create_tool", agent_id=agent, tool={"name": "book", "serverUrl": "https://127.0.0.1:9/"})
    tool_id = tool["data"]["id"]
    assert path_of(assistant.fail("delete_tool", tool_id=tool_id, etag=tool["etag"], confirm=tool_id)) == "confirm"
    assistant.call("delete_tool", tool_id=tool_id, etag=tool["etag"], confirm="book")
    made = assistant.call("create_conversation", agent_id=agent, conversation={"title": "Ann"})
    ids = {"agent_id": agent, "convo_id": made["data"]["id"]}
    assert path_of(assistant.fail("delete_conversation", **ids, etag=made["etag"], confirm="x")) == "confirm"
    assistant.call("delete_conversation", **ids, etag=made["etag"], confirm="Ann")


def test_a_conversation_is_written_listed_and_assigned(assistant: Assistant, api: Api, agent: str) -> None:
    assert api.post("/v2/clients/bo", {}).status == 200
    made = assistant.call("create_conversation", agent_id=agent, conversation={"title": "Ann"})
    ids = {"agent_id": agent, "convo_id": made["data"]["id"]}
    added = assistant.call("add_messages", **ids, messages=[message("Hello")])
    assert path_of(assistant.fail("assign_conversation", **ids, assignToUserId="bo")) == "etag"
    assistant.call("assign_conversation", **ids, etag=added["etag"], assignToUserId="bo", state="requested_chat")
    assert [one["item"]["text"] for one in assistant.call("list_messages", **ids)["data"]] == ["Hello"]
    listed = assistant.call("list_conversations", agent_id=agent, assignedTo="bo")["data"]
    assert [one["ID"] for one in listed] == [made["data"]["id"]]
    assert [one["ID"] for one in assistant.call("list_inbox")["data"]] == [made["data"]["id"]]


TIMES = {"2026-01-31": 1769817600, "2026-01-31T12:00:00Z": 1769860800, "2026-01-31T12:00:00+02:00": 1769853600}


def test_times_are_iso_dates(assistant: Assistant, agent: str, stop_clock: Any) -> None:
    for text, seconds in TIMES.items():
        stop_clock(seconds)
        lead = assistant.call("create_lead", lead={"agentId": agent, "name": text})["data"]["id"]
        found = assistant.call("list_leads", **{"from": text, "to": seconds + 1})["data"]
        assert [one["id"] for one in found] == [lead], text
    assert path_of(assistant.fail("list_leads", **{"from": "yesterday"})) == "from"
    assert path_of(assistant.fail("list_leads", **{"from": "0001-01-01T00:00:00+23:00"})) == "from"


WRONG = [
    ("read_agent", {"agent_id": "support", "x": 1}, "x"),
    ("read_agent", {}, "agent_id"),
    ("read_agent", {"agent_id": "a/b"}, "agent_id"),
    ("read_agent", {"agent_id": ".."}, "agent_id"),
    ("read_agent", {"agent_id": "%2e"}, "agent_id"),
    ("read_agent", {"agent_id": ["support"]}, "agent_id"),
    ("read_agent", {"agent_id": None}, "agent_id"),
    ("read_agent", {"agent_id": "\ud800"}, "agent_id"),
    ("read_agent", {"agent_id": "support", "members": "title"}, "members"),
    ("read_agent", {"agent_id": "support", "members": ["x"]}, "members"),
    ("read_agent", {"agent_id": "support", "members": ["title.x"]}, "members"),
    ("read_agent", {"agent_id": "support", "members": ["title"] * 21}, "members"),
    ("list_messages", {"agent_id": "support", "convo_id": "ann", "members": ["9" * 5_000]}, "members"),
    ("read_agent", {"agent_id": "support", "members": ["title"], "offset": -1}, "offset"),
    ("read_agent", {"agent_id": "support", "members": ["title"], "offset": 99}, "offset"),
    ("read_agent", {"agent_id": "support", "members": ["title"], "offset": "0"}, "offset"),
    ("list_agents", {"limit": 0}, "limit"),
    ("list_agents", {"limit": "many"}, "limit"),
    ("list_agents", {"limit": [5]}, "limit"),
    ("list_agents", {"limit": {}}, "limit"),
    ("list_agents", {"cursor": "../"}, "cursor"),
    ("create_agent", {"agent": {"vg_instructions": "x"}}, "agent.vg_instructions"),
    ("create_agent", {"agent": {"title": 7}}, "agent.title"),
    ("create_agent", {"agent": []}, "agent"),
    ("create_agent", {"agent": {}, "idempotency_key": 7}, "idempotency_key"),
    ("change_agent", {"agent_id": "support", "etag": 7, "agent": {}}, "etag"),
    ("change_agent", {"agent_id": "support", "etag": "no tag", "agent": {}}, "If-Match"),
    ("change_agent", {"agent_id": "support", "etag": "*", "agent": {}}, "etag"),
    ("delete_agent", {"agent_id": "support", "etag": " * ", "confirm": "support"}, "etag"),
]


@pytest.mark.parametrize(("tool", "arguments", "path"), WRONG, ids=range(len(WRONG)))
def test_an_error_names_the_argument(
    assistant: Assistant, api: Api, agent_id: str, tool: str, arguments: dict[str, Any], path: str
) -> None:
    api.post("/agents/support/interact/ann/messages", {"messages": [message("Hello")]})
    error = assistant.fail(tool, **arguments)
    assert (error["code"], path_of(error)) == ("INVALID", path)


def test_an_omitted_and_a_null_limit_mean_ten(assistant: Assistant, api: Api) -> None:
    for number in range(11):
        api.post("/v3/agents", {"agent": {"title": f"Agent {number}"}})
    for arguments in ({}, {"limit": None}):
        listed = assistant.call("list_agents", **arguments)
        assert len(listed["agents"]) == 10
        assert listed["agents"][0].keys() == {"id", "title", "createdAtUNIX", "lastModified"}
    assert len(assistant.call("list_agents", limit="11")["agents"]) == 11


def test_no_tool_returns_secrets_even_with_the_workspace_key(assistant: Assistant, api: Api) -> None:
    agent = api.post("/v3/agents", {"agent": filled("agent_v3")}).data["id"]
    tool = api.post(f"/v3/agents/{agent}/tools", {"tool": {**filled("tool"), "name": "book"}}).data["id"]
    read = {"agent_id": agent}
    key = api.get(f"/v2/agents/{agent}").json["SECRET_API_KEY"]
    answers = [assistant.result("read_agent", **read), assistant.result("list_agents")]
    answers += [assistant.result("read_tool", tool_id=tool)]
    etag = assistant.call("read_agent", **read)["etag"]
    answers += [assistant.result("change_agent", **read, etag=etag, agent={"lang": "nl"})]
    if extensions.are_all_on():
        answers += [assistant.result("export_agent", **read), assistant.result("clone_agent", **read)]
    text = json.dumps(answers)
    assert CANARY in text
    assert key not in text
    for name in ("SECRET_API_KEY", "VF_DIALOGUE_API_KEY", "serverUrlSecret", "cloudPrivateKey", "igAccessToken"):
        assert f'{name}\\"' not in text, name
    # The change kept what the caller could not see.
    assert CANARY in api.get(f"/v3/agents/{agent}").data["VF_DIALOGUE_API_KEY"]


def test_no_tool_sets_an_agent_key_even_with_the_workspace_key(assistant: Assistant, api: Api, agent: str) -> None:
    """A visitor's text could instruct the model to set a key that the visitor knows."""
    key = api.get(f"/v2/agents/{agent}").json["SECRET_API_KEY"]
    etag = assistant.call("read_agent", agent_id=agent)["etag"]
    chosen = {"SECRET_API_KEY": "x" * 40}
    assert assistant.fail("change_agent", agent_id=agent, etag=etag, agent=chosen)["code"] == "FORBIDDEN"
    assert assistant.fail("create_agent", agent=chosen)["code"] == "FORBIDDEN"
    assert api.get(f"/v2/agents/{agent}").json["SECRET_API_KEY"] == key


def test_a_log_line_contains_the_tool_and_no_value(
    assistant: Assistant, workspace: NewWorkspace, agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assistant.call("read_agent", agent_id=agent)
    assistant.fail("create_agent", agent={"title": 7, "x": CANARY})
    assistant.send("tools/call", name=CANARY, arguments={})
    output = capsys.readouterr().out
    lines = [json.loads(line) for line in output.splitlines()]
    assert [line.get("tool") for line in lines] == ["read_agent", "create_agent", None]
    assert {(line["route"], line["workspace"]) for line in lines} == {("/mcp", workspace.workspace_id)}
    assert CANARY not in output
    assert agent not in output
