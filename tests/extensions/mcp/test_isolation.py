"""The isolation matrix of `tests.test_isolation` for tools, and random messages and arguments.

Each tool is called as every caller of two workspaces that have the same chosen ids. It is also called with ids of the
other workspace.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app import app
from chalicelib.extensions.mcp import tools
from chalicelib.extensions.mcp.tools import AssistantTool
from tests.api import Api
from tests.engines import new_engine
from tests.extensions.mcp.assistant import Assistant
from tests.guarantees import CaseCounter
from tests.moto_tables import items, restore, snapshot
from tests.operations import body_of
from tests.selection import one_of_each, whole
from tests.test_isolation import EXPECTED, OPENS, Stage, Tenant, items_of, leaked, tenant

pytestmark = pytest.mark.guarantee("isolated")

TOOLS = [tool for tool in tools._all() if tool.method in app.routes.get(tool.path, {})]
PERMITTED = ("workspace key", "access token")
QUERIES = {"search_conversations": {"q": "canary"}}


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with new_engine():
        ours, theirs = tenant("canary-ours"), tenant("canary-theirs")
        for headers in (*ours.headers.values(), *theirs.headers.values()):
            Api().call("GET", "/v3/agents", headers=headers)  # stores the credential's first use
        yield Stage(ours, theirs, snapshot())


def assistant_of(tenant: Tenant, caller: str) -> Assistant:
    """Return a client with a caller's headers."""
    return Assistant(headers=tenant.headers[caller])


def arguments_of(tool: AssistantTool, ids: dict[str, str], assistant: Assistant, mark: str) -> dict[str, Any]:
    """Return valid arguments, with the etag of the record that the ids name, if it exists."""
    path = {name: ids[name] for name in tool.definition["inputSchema"]["properties"] if name in ids}
    body = body_of(f"{tool.method} {tool.path}", mark, **ids) or {}
    arguments = {**path, **body, **QUERIES.get(tool.name, {})}
    if "etag" in tool.definition["inputSchema"].get("required", ()):
        kind = "tool" if "tool_id" in path else "conversation" if "convo_id" in path else "agent"
        read = json.loads(assistant.result(f"read_{kind}", **_read_arguments(kind, path))["content"][0]["text"])
        arguments["etag"] = read.get("etag", "0" * 26)
        arguments |= {"confirm": read.get("data", {}).get(tool.title) or list(path.values())[-1]} if tool.title else {}
    return arguments


def _read_arguments(kind: str, path: dict[str, str]) -> dict[str, str]:
    names = {"tool": ("tool_id",), "conversation": ("agent_id", "convo_id"), "agent": ("agent_id",)}[kind]
    return {name: path[name] for name in names}


@one_of_each(lambda tool: tool.method)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_accepts_exactly_the_callers_of_its_operation(
    stage: Stage, count_cases: CaseCounter, tool: AssistantTool
) -> None:
    ours, theirs = stage.ours, stage.theirs
    everything, others = items(), items_of(theirs)
    arguments = arguments_of(tool, ours.ids, assistant_of(ours, "workspace key"), "sent")
    permitted = (*PERMITTED, *(("read-only token",) if tool.method == "GET" else ()))
    for caller in EXPECTED.keys() - {*permitted}:
        answer = assistant_of(ours, caller).send("tools/call", name=tool.name, arguments=arguments)
        status = {"read-only token": 200}.get(caller, 403 if caller in OPENS or EXPECTED[caller][0] == 403 else 401)
        assert answer.status == status, caller
        if status == 200:
            assert answer.json["error"]["code"] == -32602
        assert leaked(answer, ours, {}) == leaked(answer, theirs, {}) == [], caller
    assert items() == everything
    for caller in permitted:
        answer = assistant_of(ours, caller).send("tools/call", name=tool.name, arguments=arguments)
        assert answer.json["result"]["isError"] is False, (caller, answer.text)
        assert leaked(answer, theirs, {}) == [], caller
        assert items_of(theirs) == others, caller
        restore(stage.tables)
    count_cases(states=len(EXPECTED))


@one_of_each(lambda tool: tool.method)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_answers_another_workspace_s_ids_like_unknown_ids(
    stage: Stage, count_cases: CaseCounter, tool: AssistantTool
) -> None:
    ours, theirs = stage.ours, stage.theirs
    protected, cases = items_of(ours), 0
    for caller in PERMITTED:
        assistant = assistant_of(theirs, caller)
        named = [
            name for name in tool.definition["inputSchema"]["properties"] if name in theirs.ids and name.endswith("_id")
        ]
        for name in named:
            texts = []
            for value in (ours.only[name], f"{ours.only[name][:-4]}zzzz"):
                ids = {**theirs.ids, name: value}
                answer = assistant.send(
                    "tools/call", name=tool.name, arguments=arguments_of(tool, ids, assistant, "sent")
                )
                assert leaked(answer, ours, {name: value}) == [], caller
                assert items_of(ours) == protected, caller
                texts.append(answer.json["result"]["content"][0]["text"].replace(value, "<id>"))
                restore(stage.tables)
                cases += 1
            assert texts[0] == texts[1]
            # With an etag, a missing record is a failed precondition.
            assert json.loads(texts[0])["code"] in ("NOT_FOUND", "PRECONDITION_FAILED"), tool.name
    count_cases(states=cases)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.just("same"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
RANDOM = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@whole
def test_random_arguments_never_cause_an_internal_error(
    stage: Stage, count_cases: CaseCounter, tool: AssistantTool
) -> None:
    ours, others = stage.ours, items_of(stage.theirs)
    assistant = assistant_of(ours, "workspace key")
    right = arguments_of(tool, ours.ids, assistant, "sent")
    names = [*tool.definition["inputSchema"]["properties"], "other"]

    @settings(RANDOM, max_examples=60)
    @given(st.dictionaries(st.sampled_from(names), VALUES, max_size=3), st.booleans())
    def call(wrong: dict[str, Any], is_empty: bool) -> None:
        arguments = wrong if is_empty else {**right, **wrong}
        answer = assistant.send("tools/call", name=tool.name, arguments=arguments)
        assert answer.status == 200, answer.text
        text = answer.json["result"]["content"][0]["text"]
        assert json.loads(text).get("code") != "INTERNAL"
        assert len(text) <= 40_000
        assert leaked(answer, stage.theirs, {}) == []
        count_cases(requests=1)

    call()
    assert items_of(stage.theirs) == others
    restore(stage.tables)


@whole
def test_random_messages_never_cause_an_internal_error(stage: Stage) -> None:
    headers = {**stage.ours.headers["access token"], "Content-Type": "application/json"}
    methods = st.sampled_from(["tools/list", "tools/call", "initialize", "ping", "server/discover"]) | VALUES
    message = st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0")}, optional={"id": VALUES, "method": methods, "params": VALUES, "result": VALUES}
    )

    @settings(RANDOM, max_examples=500)
    @given(message | VALUES, st.sampled_from(["", "2025-11-25", "2026-07-28", "x"]))
    def send(body: Any, version: str) -> None:
        sent = {**headers, **({"MCP-Protocol-Version": version} if version else {})}
        answer = Api().call("POST", "/mcp", json.dumps(body).encode(), sent)
        assert answer.status in (200, 202, 400, 404), answer.text
        assert answer.status == 202 or answer.json["jsonrpc"] == "2.0"

    send()
