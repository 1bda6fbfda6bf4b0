"""JSON-RPC messages in both eras of the protocol, with their HTTP statuses and error codes."""

import base64
import json
from typing import Any

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Answer, Api
from tests.extensions.mcp.assistant import Assistant
from tests.selection import each_value_once

VERSION = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {}}


@pytest.fixture
def assistant(workspace: NewWorkspace) -> Assistant:
    """Return a client with an access token."""
    return Assistant(workspace.access_token)


def sent(workspace: NewWorkspace, body: Any, **headers: str) -> Answer:
    """Send a body with these headers; underscores in the headers' names mean hyphens."""
    bearer = {"Authorization": f"Bearer {workspace.access_token}", "Content-Type": "application/json"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Api().call("POST", "/mcp", raw, {**bearer, **named})


def modern(
    workspace: NewWorkspace, method: str, headers: dict[str, str] | None = None, meta: Any = META, **params: Any
) -> Answer:
    """Send a request of the era without a handshake."""
    right = {"MCP_Protocol_Version": VERSION, "Mcp_Method": method}
    right |= {"Mcp_Name": params["name"]} if "name" in params else {}
    body = {"jsonrpc": "2.0", "id": "x", "method": method, "params": {**params, "_meta": meta}}
    return sent(workspace, body, **{**right, **(headers or {})})


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26"])
@each_value_once
def test_a_handshake_returns_the_requested_version(assistant: Assistant, version: str) -> None:
    answer = assistant.send("initialize", protocolVersion=version, capabilities={}, clientInfo={})
    assert answer.json["id"] == 1
    assert answer.json["result"]["protocolVersion"] == version
    assert answer.json["result"]["capabilities"] == {"tools": {}}
    assert "written by visitors" in answer.json["result"]["instructions"]


def test_an_unknown_version_gets_the_newest_with_a_handshake(assistant: Assistant) -> None:
    answer = assistant.send("initialize", protocolVersion="2024-11-05")
    assert answer.json["result"]["protocolVersion"] == "2025-11-25"
    assert assistant.send("ping").json == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_discovery_returns_the_versions_and_who_may_cache(workspace: NewWorkspace) -> None:
    answer = modern(workspace, "server/discover")
    assert answer.status == 200
    result = answer.json["result"]
    assert result["supportedVersions"] == [VERSION, "2025-11-25", "2025-06-18", "2025-03-26"]
    assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "cams"
    listed = modern(workspace, "tools/list").json["result"]
    assert (listed["resultType"], listed["cacheScope"], bool(listed["tools"])) == ("complete", "private", True)


@pytest.mark.parametrize("id_", ["x", "", 0, 7, 10**30])
@each_value_once
def test_a_response_repeats_the_id(workspace: NewWorkspace, id_: Any) -> None:
    assert sent(workspace, {"jsonrpc": "2.0", "id": id_, "method": "ping"}).json["id"] == id_


@pytest.mark.parametrize(
    "message",
    [
        {"method": "notifications/initialized"},
        {"method": "notifications/cancelled", "params": {"requestId": 1}},
        {"id": 1, "result": {}},
        {"id": 1, "error": {"code": 1, "message": "x"}},
    ],
)
@each_value_once
def test_a_notification_or_response_gets_an_empty_response(workspace: NewWorkspace, message: dict[str, Any]) -> None:
    answer = sent(workspace, {"jsonrpc": "2.0", **message})
    assert (answer.status, answer.text) == (202, "")


DEEP = b"[" * 100_000
NOT_A_MESSAGE = [
    (b"{", 400, -32700),
    (b"", 400, -32700),
    (b"\xff", 400, -32700),
    (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', 400, -32700),
    (b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"ping"}', 400, -32700),
    (DEEP, 413, None),
    (DEEP[:50_000], 400, -32700),
    ([], 400, -32600),
    ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], 400, -32600),
    ("ping", 400, -32600),
    ({"id": 1, "method": "ping"}, 400, -32600),
    ({"jsonrpc": "2.0", "id": 1}, 400, -32600),
    ({"jsonrpc": "2.0", "id": 1, "method": 7}, 400, -32600),
    ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, 400, -32600),
    ({"jsonrpc": "2.0", "id": None, "method": "ping"}, 400, -32600),
    ({"jsonrpc": "2.0", "id": True, "method": "ping"}, 400, -32600),
    ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, 400, -32600),
    ({"jsonrpc": "2.0", "id": "x" * 201, "method": "ping"}, 400, -32600),
    ({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, 200, -32601),
    ({"jsonrpc": "2.0", "id": 1, "method": "server/discover"}, 200, -32601),
    ({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x"}}, 200, -32602),
    ({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, 200, -32602),
    ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ["x"]}}, 200, -32602),
    ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": []}}, 200, -32602),
]


@pytest.mark.parametrize(("body", "status", "code"), NOT_A_MESSAGE, ids=range(len(NOT_A_MESSAGE)))
@each_value_once
def test_an_invalid_message_is_rejected(workspace: NewWorkspace, body: Any, status: int, code: int | None) -> None:
    answer = sent(workspace, body)
    assert answer.status == status
    assert answer.json.get("error", {}).get("code") == code


WRONG_HEADERS = [
    {"MCP_Protocol_Version": "2025-11-25"},
    {"Mcp_Method": "tools/call"},
    {"Mcp_Method": "TOOLS/LIST"},
    {"Mcp_Method": ""},
]


@pytest.mark.parametrize("headers", WRONG_HEADERS)
@each_value_once
def test_headers_of_the_modern_era_must_agree_with_the_body(workspace: NewWorkspace, headers: dict[str, str]) -> None:
    answer = modern(workspace, "tools/list", headers)
    assert (answer.status, answer.json["error"]["code"]) == (400, -32020)


def test_the_header_with_the_tool_s_name_must_agree_with_the_body(workspace: NewWorkspace) -> None:
    encoded = f"=?base64?{base64.b64encode(b'list_agents').decode()}?="
    for value, status in (
        ("list_agents", 200),
        (" list_agents ", 200),
        (encoded, 200),
        ("x", 400),
        ("=?base64?#?=", 400),
    ):
        answer = modern(workspace, "tools/call", {"Mcp_Name": value}, name="list_agents", arguments={})
        assert answer.status == status, value


def test_a_modern_request_needs_its_version_and_capabilities(workspace: NewWorkspace) -> None:
    for missing in META:
        meta = {name: value for name, value in META.items() if name != missing}
        answer = modern(workspace, "tools/list", meta=meta)
        assert (answer.status, answer.json["error"]["code"]) == (400, -32602)


def test_an_unsupported_version_gets_the_supported_versions(workspace: NewWorkspace) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": "1900-01-01"}
    answer = modern(workspace, "tools/list", {"MCP_Protocol_Version": "1900-01-01"}, meta)
    assert (answer.status, answer.json["error"]["code"]) == (400, -32022)
    assert answer.json["error"]["data"]["supported"][0] == VERSION


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "unknown"])
@each_value_once
def test_a_modern_request_for_another_method_gets_404(workspace: NewWorkspace, method: str) -> None:
    answer = modern(workspace, method)
    assert (answer.status, answer.json["error"]["code"]) == (404, -32601)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_are_no_streams_and_no_sessions(workspace: NewWorkspace, method: str) -> None:
    answer = Api(workspace.access_token).call(method, "/mcp")
    assert (answer.status, answer.headers["allow"], answer.json["code"]) == (405, "POST", "METHOD_NOT_ALLOWED")


ORIGINS = {
    "http://localhost:6274": 200,
    "http://127.0.0.1": 200,
    "http://localhost.evil.example": 403,
    "https://evil.example": 403,
    "null": 403,
    "http://[": 403,
}


@pytest.mark.parametrize("origin", ORIGINS)
@each_value_once
def test_web_pages_of_other_hosts_are_rejected(workspace: NewWorkspace, origin: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert sent(workspace, body, Origin=origin).status == ORIGINS[origin]


def test_a_missing_credential_is_answered_with_a_challenge(engine: None) -> None:
    answer = Assistant(None).send("ping")
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json["code"] == "UNAUTHORIZED"


@pytest.mark.skipif(not extensions.are_all_on(), reason="Some tools belong to other extensions.")
@pytest.mark.parametrize(
    ("scopes", "count"),
    [
        (["agents:read", "analytics:read", "conversations:read", "leads:read", "tools:read"], 15),
        (["agents:read", "conversations:write"], 15),
        (["conversations:read"], 6),
        (["webhooks:write"], 0),
    ],
)
def test_the_list_has_only_the_tools_that_the_scopes_permit(
    workspace: NewWorkspace, api: Api, scopes: list[str], count: int
) -> None:
    token = api.post("/v3/tokens", {"token": {"name": "assistant", "scopes": scopes}}).data["token"]
    assistant = Assistant(token)
    tools = assistant.tools()
    assert len(tools) == count
    refused = assistant.send("tools/call", name="create_agent", arguments={"agent": {}}).json
    assert refused["error"]["code"] == -32602
    everything = Assistant(workspace.workspace_key).tools()
    assert [name for name in everything if name in tools] == [*tools]
