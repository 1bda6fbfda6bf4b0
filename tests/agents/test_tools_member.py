"""The `tools` member of a v3 agent: tools are read, created and changed with their agent."""

from typing import Any

import pytest

from chalicelib.agents import store
from chalicelib.http import responses
from chalicelib.storage import parent_scoped_ids
from chalicelib.tools.store import ToolRow
from chalicelib.workspaces.store import NewWorkspace
from tests.agents.test_rows import noise
from tests.api import Answer, Api
from tests.assertions import refused, stored
from tests.capacity import metered

AGENT, TOOLS = "/v3/agents/support", "/v3/agents/support/tools"
LISTED = ", without its tools, which are too large; list them in pages at /v3/agents/{agent_id}/tools"

pytestmark = pytest.mark.usefixtures("agent_id")


def create(api: Api, **members: Any) -> Any:
    return api.post(TOOLS, {"tool": {"name": "Look up", **members}}).data


def read(api: Api, path: str = AGENT, **headers: str) -> Answer:
    return api.call("GET", path, None, {**api._headers, **{name.replace("_", "-"): it for name, it in headers.items()}})


def change(api: Api, tag: str, title: str) -> Answer:
    headers = {**api._headers, "Content-Type": "application/json", "If-Match": tag}
    return api.call("PATCH", AGENT, {"agent": {"title": title}}, headers)


# ---- reading --------------------------------------------------------------------------------------


def test_a_read_shows_the_tools_as_their_list_does(api: Api) -> None:
    assert api.get(AGENT).data["tools"] == []
    made = [create(api, name=str(number), fields=[{"key": "k"}]) for number in range(3)]
    with metered() as meter:
        shown = api.get(AGENT).data["tools"]
    assert (meter.requests, meter.reads) == ({"Query": 1}, 1)
    assert shown == api.get(TOOLS).data
    assert sorted(map(str, shown)) == sorted(map(str, made))


def test_a_read_only_token_gets_the_tools_and_no_key(api: Api) -> None:
    made = create(api)
    reader = Api(api.post("/v3/tokens", {"token": {"name": "Reads", "readOnly": True}}).data["token"])
    shown = reader.get(AGENT)
    assert (shown.data["tools"], "SECRET_API_KEY" in shown.data) == ([made], False)
    assert shown.headers["etag"] == api.get(AGENT).headers["etag"]


def test_a_read_shows_no_tools_of_an_agent_with_the_same_prefix(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parent_scoped_ids, "_prefix", lambda _: "0" * 11)
    for name in ("one", "two"):
        assert api.post(f"/v2/agents/{name}", {"title": name}).status == 200
        assert api.post(f"/v3/agents/{name}/tools", {"tool": {"name": name}}).status == 200
        shown = api.get(f"/v3/agents/{name}").data
        assert (shown["title"], [tool["name"] for tool in shown["tools"]]) == (name, [name])
    assert api.delete("/v3/agents/one").status == 200
    assert [tool["name"] for tool in api.get("/v3/agents/two").data["tools"]] == ["two"]


def test_tools_that_do_not_fit_the_response_are_left_out_and_the_message_says_so(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [create(api, description=noise(4_000)) for _ in range(3)]
    monkeypatch.setattr(responses, "RESPONSE_LIMIT", responses.ENVELOPE + 5_000)
    for answer, verb in ((api.get(AGENT), "retrieved"), (api.patch(AGENT, {"agent": {"title": "x"}}), "updated")):
        assert answer.json["message"] == f"Agent {verb} successfully{LISTED}"
        assert "tools" not in answer.data
    assert api.get(AGENT).data["title"] == "x"
    monkeypatch.setattr(responses, "RESPONSE_LIMIT", responses.ENVELOPE + 50_000)
    assert len(api.get(AGENT).data["tools"]) == len(made)


def test_a_read_stops_at_the_first_tool_that_does_not_fit(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """One megabyte of compressed and encrypted tools can contain a gigabyte of text."""
    for _ in range(6):
        create(api, description="a" * 900_000)
    opened: list[str] = []
    text = ToolRow.text

    def counting(row: ToolRow) -> str:
        opened.append(row.tool_id)
        return text(row)

    monkeypatch.setattr(ToolRow, "text", counting)
    monkeypatch.setattr(responses, "RESPONSE_LIMIT", 1_500_000)
    assert "tools" not in api.get(AGENT).data
    assert len(opened) == 2


def test_a_read_is_one_request_however_many_tools_there_are(api: Api, workspace: NewWorkspace) -> None:
    for _ in range(5):
        create(api, description=noise(300_000))
    with metered() as meter:
        answer = api.get(AGENT)
    assert (answer.json["message"], "tools" in answer.data) == (f"Agent retrieved successfully{LISTED}", False)
    assert meter.requests == {"Query": 1}
    assert meter.reads <= 257  # 1 MB
    assert not store.find_with_tools(workspace.workspace_id, "support").is_complete
    assert len(api.get(f"{TOOLS}?limit=20").data) == 5


# ---- creating -------------------------------------------------------------------------------------


def test_tools_of_a_new_agent_are_created_with_it_in_one_request(api: Api) -> None:
    methods = ["POST", *[None] * 8]
    sent_tools = [{"name": str(n), "fields": [{"key": "k"}], "method": method} for n, method in enumerate(methods)]
    with metered() as meter:
        made = api.post("/v3/agents", {"agent": {"title": "New", "tools": sent_tools}})
    assert meter.requests == {"TransactWriteItems": 1}
    tools = made.data["tools"]
    assert [tool["name"] for tool in tools] == [one["name"] for one in sent_tools]
    assert [tool.get("method") for tool in tools] == methods
    assert all(tool["fields"][0]["id"] and tool["agentId"] == made.data["id"] for tool in tools)
    path = f"/v3/agents/{made.data['id']}"
    assert api.get(path).data == made.data
    assert api.get(path).headers["etag"] == made.headers["etag"]
    assert api.get(f"{path}/tools").data == tools
    assert api.get(f"/v3/tools/{tools[0]['id']}").data == tools[0]


def test_an_agent_that_was_read_can_be_created_again_with_new_tools(api: Api) -> None:
    create(api)
    original = api.get(AGENT).data
    given = {name: value for name, value in original.items() if name != "SECRET_API_KEY"}
    copy = api.post("/v3/agents", {"agent": given}).data
    (tool,), (new,) = original["tools"], copy["tools"]
    assert (new["name"], new["agentId"], new["id"] != tool["id"]) == ("Look up", copy["id"], True)
    assert api.get(TOOLS).data == [tool]


@pytest.mark.parametrize(
    ("tools", "path"),
    [
        ([{}], "agent.tools.0.name"),
        ([{"name": "x"}, {"name": 5}], "agent.tools.1.name"),
        ([{"name": "x", "fields": [{"in": 5}]}], "agent.tools.0.fields.0.in"),
        ([{"name": "x", "own": 1}], "agent.tools.0.own"),
    ],
)
def test_an_agent_with_an_invalid_tool_is_not_created(tools: Any, path: str, api: Api) -> None:
    before = stored()
    refused(api.post("/v3/agents", {"agent": {"tools": tools}}), 400, path)
    assert stored() == before


def test_more_tools_than_a_transaction_holds_are_refused(api: Api) -> None:
    before = stored()
    refused(api.post("/v3/agents", {"agent": {"tools": [{"name": "x"}] * 98}}), 413)
    assert stored() == before
    assert api.post("/v3/agents", {"agent": {"tools": [{"name": "x"}] * 90}}).status == 200


# ---- changing -------------------------------------------------------------------------------------


def test_tools_of_a_change_are_not_applied_and_a_warning_says_so(api: Api) -> None:
    made = create(api)
    for tools in ([], [{"name": "Another"}], None, [{**made, "name": "Renamed"}]):
        answer = api.patch(AGENT, {"agent": {"title": "Sales", "tools": tools}})
        assert [one["path"] for one in answer.json["warnings"]] == ["agent.tools"]
        assert (answer.data["title"], answer.data["tools"]) == ("Sales", [made])
    assert api.get(TOOLS).data == [made]
    assert "warnings" not in api.patch(AGENT, {"agent": {"title": "Support"}}).json


def test_the_stored_agent_and_the_list_have_no_tools(api: Api, workspace: NewWorkspace) -> None:
    tool = {"name": "Look up"}
    ids = {"support", api.post("/v3/agents", {"agent": {"tools": [tool]}}).data["id"]}
    api.patch(AGENT, {"agent": {"title": "Sales", "tools": [tool]}})
    assert {one["id"] for one in api.get("/v3/agents").data if "tools" not in one} == ids
    assert not any("tools" in store.read(workspace.workspace_id, one).open() for one in ids)


# ---- preconditions --------------------------------------------------------------------------------


def test_the_etag_of_a_read_changes_with_the_tools(api: Api) -> None:
    tags = [read(api).headers["etag"]]
    made = create(api)
    tags.append(read(api).headers["etag"])
    api.patch(f"/v3/tools/{made['id']}", {"tool": {"name": "Find"}})
    tags.append(read(api).headers["etag"])
    create(api)
    tags.append(read(api).headers["etag"])
    for tag in tags[:-1]:
        assert read(api, If_None_Match=tag).status == 200
    assert read(api, If_None_Match=f"W/{tags[-1]}").status == 304
    for tool in api.get(TOOLS).data:
        api.delete(f"/v3/tools/{tool['id']}")
    tags.append(read(api).headers["etag"])
    assert (len(set(tags)), tags[0]) == (4, tags[-1])
    assert {tag.strip('"').partition(".")[0] for tag in tags} == {tags[0].strip('"')}


def test_the_etag_changes_when_the_tools_no_longer_fit(api: Api) -> None:
    """The third tool is stored beyond the first megabyte, so the read does not reach it."""
    path = f"/v3/agents/{api.post('/v3/agents', {'agent': {}}).data['id']}"
    tags = []
    for _ in range(3):
        tool = {"name": "Large", "description": noise(430_000)}
        third = api.post(f"{path}/tools", {"tool": tool}).data
        read = api.get(path)
        tags.append(read.headers["etag"])
    assert "tools" not in read.data
    assert len(set(tags)) == 3
    assert api.delete(f"/v3/tools/{third['id']}").status == 200
    assert api.get(path).headers["etag"] == tags[1]


def test_a_change_of_a_tool_does_not_refuse_a_change_of_the_agent(api: Api) -> None:
    create(api)
    tag = read(api).headers["etag"]
    create(api)
    changed = change(api, tag, "1")
    assert (changed.status, changed.headers["etag"]) == (200, read(api).headers["etag"])
    refused(change(api, tag, "2"), 412)
    refused(change(api, f"W/{changed.headers['etag']}", "2"), 412)
    assert change(api, read(api, "/v2/agents/support").headers["etag"], "3").status == 200
    tag = read(api).headers["etag"]
    create(api)
    assert api.call("DELETE", AGENT, None, {**api._headers, "If-Match": f'"another", {tag}'}).status == 200


def test_the_etag_of_the_v2_form_does_not_depend_on_tools(api: Api) -> None:
    tag = read(api, "/v2/agents/support").headers["etag"]
    create(api)
    assert read(api, "/v2/agents/support", If_None_Match=tag).status == 304
    headers = {**api._headers, "Content-Type": "application/json", "If-Match": read(api).headers["etag"]}
    assert api.call("POST", "/v2/agents/support", {"title": "x"}, headers).status == 200
