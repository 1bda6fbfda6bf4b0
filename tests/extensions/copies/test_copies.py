"""Agent clones and templates: the members that they keep, the new members, and atomic creation."""

import json
import random
from typing import Any

import pytest

from chalicelib.extensions.copies import copies, templates
from chalicelib.workspaces.store import NewWorkspace
from tests.agents.records import without
from tests.api import Answer, Api
from tests.assertions import refused
from tests.capacity import metered
from tests.contract.member_table import document, members

Document = dict[str, Any]

SERVICE_SET = ("ID", "id", "ownerID", "createdAtUNIX", "lastModified", "SECRET_API_KEY", "tools")
TOOL_SET = ("id", "agentId", "userId", "createdAt", "updatedAt")
FIFTY = 50


def whole_agent(api: Api, tools: int = FIFTY) -> Document:
    """Create an agent that has every member and refers to complete copies of these tools; return the agent as read."""
    made = api.post(
        "/v3/agents", {"agent": {**document("agent_v3", 2, whole=True), "SECRET_API_KEY": "own" * 11, "tools": []}}
    )
    agent_id = made.data["id"]
    for number in range(tools):
        tool = {**document("tool", number, whole=True), "name": f"tool {number}"}
        tool["fields"][0]["agentId"] = agent_id
        api.post(f"/v3/agents/{agent_id}/tools", {"tool": tool}).data  # noqa: B018 - fails where it is no success
    ids = [tool["id"] for tool in api.get(f"/v3/agents/{agent_id}/tools").data]
    nodes = [{"id": f"node {number}", "toolsIds": [one]} for number, one in enumerate(ids)]
    change = {"assignedToolsIds": [*reversed(ids), "of another agent"], "nodes": nodes}
    return dict(api.patch(f"/v3/agents/{agent_id}", {"agent": change}).data)


def references(agent: Document) -> list[list[str]]:
    """Return an agent's references to its tools, as indexes into its `tools` list."""
    places = {tool["id"]: str(place) for place, tool in enumerate(agent["tools"])}
    lists = [agent.get("assignedToolsIds", []), *(node.get("toolsIds", []) for node in agent.get("nodes", []))]
    return [[places.get(one, one) for one in each] for each in lists]


def nodes_of(agent: Document) -> list[Document]:
    return [without(node, "toolsIds") for node in agent["nodes"]]


# ---- clones --------------------------------------------------------------------------------------


def test_a_clone_has_every_member_and_tool_with_new_ids_and_a_new_key(api: Api) -> None:
    source = whole_agent(api)
    with metered() as used:
        answer = api.post(f"/v3/agents/{source['id']}/clone")
    clone = answer.data
    assert used.requests == {"Query": 1, "TransactWriteItems": 1}
    assert answer.json["message"] == "Agent cloned successfully"
    assert api.get(f"/v3/agents/{clone['id']}").data == clone
    assert api.get(f"/v3/agents/{source['id']}").data == source

    refers = ("assignedToolsIds", "nodes")
    assert without(clone, *SERVICE_SET, *refers) == without(source, *SERVICE_SET, *refers)
    assert nodes_of(clone) == nodes_of(source)
    assert references(clone) == references(source)
    assert references(clone)[0] == [*map(str, reversed(range(FIFTY))), "of another agent"]
    assert clone["ID"] == clone["id"] != source["id"]
    assert Api(clone["SECRET_API_KEY"]).get(f"/v2/agents/{clone['id']}").status == 200

    assert len({tool["id"] for tool in [*clone["tools"], *source["tools"]]}) == 2 * FIFTY
    for new, old in zip(clone["tools"], source["tools"], strict=True):
        assert {field["agentId"] for field in new["fields"]} == {new["agentId"]} == {clone["id"]}
        fields = [{**field, "agentId": source["id"]} for field in new["fields"]]
        assert {**without(new, *TOOL_SET), "fields": fields} == without(old, *TOOL_SET)
        assert api.get(f"/v3/tools/{new['id']}").data == new


def test_a_clone_keeps_unknown_members(api: Api) -> None:
    source = api.post("/v3/agents", {"agent": {"newer": {"a": [1.0, None]}}}).data
    assert api.post(f"/v3/agents/{source['id']}/clone").data["newer"] == {"a": [1.0, None]}


def test_a_clone_has_a_key_if_the_agent_has_none(api: Api, agent_id: str) -> None:
    api.patch(f"/v3/agents/{agent_id}", {"agent": {"SECRET_API_KEY": None}})
    assert api.post(f"/v3/agents/{agent_id}/clone").data["SECRET_API_KEY"].startswith("cams_agent_")


def test_a_token_with_scopes_clones_secrets_that_it_is_not_shown(api: Api, agent_id: str) -> None:
    api.patch(f"/v3/agents/{agent_id}", {"agent": {"igAccessToken": "hidden"}})
    holder = Api(api.post("/v3/tokens", {"token": {"name": "x", "scopes": ["agents:write"]}}).data["token"])
    answer = holder.post(f"/v3/agents/{agent_id}/clone")
    assert "hidden" not in answer.text
    assert "SECRET_API_KEY" not in answer.data
    assert [one["path"] for one in answer.json["warnings"]] == ["agent.SECRET_API_KEY"]
    assert api.get(f"/v3/agents/{answer.data['id']}").data["igAccessToken"] == "hidden"


def test_an_agent_with_more_tools_than_a_transaction_creates_is_refused(api: Api, agent_id: str) -> None:
    for _ in range(copies.MAX_TOOLS):
        api.post(f"/v3/agents/{agent_id}/tools", {"tool": {"name": "x"}})
    headers = {**api._headers, "Idempotency-Key": "k"}
    assert len(api.call("POST", f"/v3/agents/{agent_id}/clone", None, headers).data["tools"]) == copies.MAX_TOOLS
    api.post(f"/v3/agents/{agent_id}/tools", {"tool": {"name": "x"}})
    message = refused(api.post(f"/v3/agents/{agent_id}/clone"), 413)
    assert message == "The agent has more than 96 tools."


def test_tools_of_more_than_a_megabyte_are_cloned_and_more_than_4_mb_refused(api: Api, agent_id: str) -> None:
    chance = random.Random(1)

    def add() -> None:
        noise = chance.randbytes(300_000).hex()
        api.post(f"/v3/agents/{agent_id}/tools", {"tool": {"name": "x", "description": noise}}).data  # noqa: B018

    for _ in range(5):
        add()
    with metered() as used:
        clone = api.post(f"/v3/agents/{agent_id}/clone").data
    assert used.requests["Query"] <= 3
    assert used.requests["TransactWriteItems"] == 1
    assert len(clone["tools"]) == 5
    for _ in range(8):
        add()
    with metered() as used:
        assert refused(api.post(f"/v3/agents/{agent_id}/clone"), 413) == "The agent and its tools are too large."
    assert used.requests["Query"] <= 6


@pytest.mark.parametrize(("method", "name"), [("POST", "clone"), ("GET", "export-template")])
def test_tools_of_more_than_6_mb_are_not_opened_at_once(method: str, name: str, api: Api, agent_id: str) -> None:
    for _ in range(6):  # they compress to almost nothing
        tool = {"name": "x", "description": "x" * 1_100_000}
        api.post(f"/v3/agents/{agent_id}/tools", {"tool": tool}).data  # noqa: B018 - fails where it is no success
    message = refused(api.call(method, f"/v3/agents/{agent_id}/{name}", None, api._headers), 413)
    assert message == "The agent and its tools are too large."


def test_a_clone_of_another_workspace_s_agent_is_not_found(
    api: Api, agent_id: str, other_workspace: NewWorkspace
) -> None:
    other = Api(other_workspace.workspace_key)
    refused(other.post(f"/v3/agents/{agent_id}/clone"), 404)
    assert (other.get("/v3/agents").data, len(api.get("/v3/agents").data)) == ([], 1)


# ---- templates -----------------------------------------------------------------------------------


EXPORT, IMPORT = "/v3/agents/{}/export-template", "/v3/agents/import-template"


def template_of(api: Api, agent_id: str) -> Document:
    return dict(api.get(EXPORT.format(agent_id)).json["agentTemplate"])


def import_of(api: Api, **template: Any) -> Answer:
    return api.post(IMPORT, {"agentTemplate": template})


def complete(template: Document) -> Document:
    """Return a template with all members except the workspace."""
    empty = {"name": "", "description": "", "nodes": [], "tools": [], "variables": [], "agentData": {}}
    return empty | template


def canaries() -> tuple[Document, Document, set[str]]:
    """Return an agent and a tool with every member, and the set of their secret values and ids."""
    texts: set[str] = set()

    def mark(resource: str, record: Document) -> Document:
        for member in members(resource):
            if (member.row.get("secret") or member.path in OWN_IDS[resource]) and member.path != "SECRET_API_KEY":
                text = f"<canary of {resource} {member.path}>"
                texts.add(text)
                *parents, name = member.path.split(".")
                here = record
                for parent in parents:
                    here = here[parent]
                here[name] = [text] if member.type.endswith("[]") else text
        return record

    tool = {**document("tool", 2, whole=True), "fields": [mark("tool_field", document("tool_field", 2, whole=True))]}
    return mark("agent_v3", document("agent_v3", 2, whole=True)), mark("tool", tool), texts


# Members that are not secret, but contain ids from this workspace or from an external account.
OWN_IDS = {
    "agent_v3": {
        *("ID", "id", "storageID", "VF_PROJECT_ID", "chatappNumberId", "chatappBusniessId"),
        *("photoappOptions.pageId", "community.channelIds", "assignedToolsIds"),
    },
    "tool": {"id", "agentId", "userId", "voiceplatformId", "variablesIds"},
    "tool_field": {"id", "agentId", "userId"},
}
# Members that are omitted from the template of a complete agent.
LEFT_OUT = {
    "agent_v3": {
        *("ID", "id", "createdAtUNIX", "lastModified", "ownerID", "storageID", "SECRET_API_KEY", "VF_DIALOGUE_API_KEY"),
        *("VF_PROJECT_API_KEY", "VF_PROJECT_ID", "VF_KB_API_KEY", "chatappToken", "chatappNumberId"),
        *("chatappBusniessId", "cloudPrivateKey", "igAccessToken", "vectorDb", "voiceplatform"),
        *("photoappOptions.pageId", "photoappOptions.accessToken", "flowtool.webhookSecret"),
        *("voiceplatformConfig.PUBLIC_API_KEY", "voiceplatformConfig.PRIVATE_API_KEY", "advanced.serverUrlSecret"),
        *("community.channelIds", "community.webhookUrls", "voiceConfig.transcriber.randomOptions"),
        *("voiceConfig.transcriber.apiKey", "voiceConfig.speechGen.apiKey"),
    },
    "tool": {
        *("id", "serverUrlSecret", "createdAt", "updatedAt", "agentId", "userId", "voiceplatformId", "variablesIds"),
        *("fields.id", "fields.value", "fields.defaultValue", "fields.agentId"),
        "fields.userId",
    },
}


def paths(value: Any, before: str = "") -> set[str]:
    """Return the path of each member in a document, without list indexes."""
    if isinstance(value, list):
        return {path for one in value for path in paths(one, before)}
    if not isinstance(value, dict):
        return set()
    return {path for name, one in value.items() for path in ({before + name} | paths(one, f"{before}{name}."))}


def test_no_template_has_a_secret_or_an_id_and_all_else_is_there(api: Api) -> None:
    agent, tool, secrets = canaries()
    made = api.post(
        "/v3/agents",
        {"agent": {**agent, "SECRET_API_KEY": "<own-key-of-at-least-32-characters>", "tools": [tool] * FIFTY}},
    ).data
    ids = [one["id"] for one in made["tools"]]
    change = {"assignedToolsIds": [*reversed(ids), "<of another agent>"], "nodes": [{"id": "a", "toolsIds": ids}]}
    for tool_id in ids:  # members that are ignored on creation
        api.patch(f"/v3/tools/{tool_id}", {"tool": {"variablesIds": tool["variablesIds"]}}).data  # noqa: B018
    source = api.patch(f"/v3/agents/{made['id']}", {"agent": change}).data
    answer = api.get(EXPORT.format(made["id"]))
    template = answer.json["agentTemplate"]
    data = {**template["agentData"], "nodes": template["nodes"]}

    fields = {field["id"] for one in source["tools"] for field in one["fields"]}
    hidden = {
        *secrets,
        "<own-key-of-at-least-32-characters>",
        "<of another agent>",
        source["id"],
        *ids,
        *fields,
        source["tools"][0]["userId"],
    }
    assert len(secrets) > 30
    text = json.dumps(without(template, "workspaceId"), ensure_ascii=False)
    assert [one for one in hidden if one in text] == []
    assert paths(without(source, "tools")) - paths(data) == LEFT_OUT["agent_v3"] | {"title", "description"}
    assert (template["name"], template["description"]) == (source["title"], source["description"])
    assert paths(source["tools"]) - paths(template["tools"]) == LEFT_OUT["tool"]
    places = [f"tools.{place}" for place in range(FIFTY)]
    assert data["assignedToolsIds"] == places[::-1]
    assert template["nodes"][-1] == {"id": "a", "toolsIds": places}
    assert "warnings" not in answer.json


def test_an_agent_with_every_member_and_50_tools_survives_two_moves(api: Api, other_workspace: NewWorkspace) -> None:
    source, other = whole_agent(api), Api(other_workspace.workspace_key)
    template = template_of(api, source["id"])
    with metered() as used:
        answer = import_of(other, **template)
    made = answer.data
    assert used.requests["TransactWriteItems"] == 1
    assert answer.json["message"] == "Agent imported successfully"
    assert "warnings" not in answer.json
    assert other.get(f"/v3/agents/{made['id']}").data == made
    moved = template_of(other, made["id"])
    assert moved.pop("workspaceId") == other_workspace.workspace_id != template.pop("workspaceId")
    assert json.dumps(moved, sort_keys=True) == json.dumps(template, sort_keys=True)
    assert references(made) == [[one for one in each if one.isdecimal()] for each in references(source)]
    assert {tool["id"] for tool in made["tools"]}.isdisjoint(tool["id"] for tool in source["tools"])
    assert Api(made["SECRET_API_KEY"]).get(f"/v2/agents/{made['id']}").status == 200

    back = import_of(api, **template_of(other, made["id"])).data
    assert without(template_of(api, back["id"]), "workspaceId") == template


@pytest.mark.parametrize(
    "template",
    [
        {},
        {"name": "x", "description": ""},
        {"agentData": {"ui": {}, "tabs": [], "photoappOptions": {}}},
        {
            "agentData": {"agentPlatform": {"a": [1.0, 1, None]}},
            "tools": [{"name": "w"}, {"name": "x"}, {"name": "y", "fields": [{}, {"key": "k"}]}],
        },
        {"agentData": {"assignedToolsIds": ["tools.1", "tools.0", "tools.1"]}, "tools": [{"name": "a"}, {"name": "b"}]},
        {"agentData": {"assignedToolsIds": [], "retention": {"days": 30}}},
    ],
    ids=str,
)
def test_a_template_is_not_changed_by_its_import(template: Document, api: Api) -> None:
    made = import_of(api, **template).data
    assert without(template_of(api, made["id"]), "workspaceId") == complete(template)


def test_a_template_leaves_out_unknown_members_and_says_so(api: Api) -> None:
    agent = {"newer": 1, "ui": {"own": 1}, "nodes": [{"id": "a", "own": 1}], "title": "x"}
    made = api.post("/v3/agents", {"agent": agent}).data
    answer = api.get(EXPORT.format(made["id"]))
    template = {"name": "x", "nodes": [{"id": "a"}], "agentData": {"agentPlatform": "vg", "ui": {}}}
    assert without(answer.json["agentTemplate"], "workspaceId") == complete(template)
    rule = "is unknown to the service and may be secret, so the template omits it"
    assert answer.json["warnings"] == [
        {"path": f"agentTemplate.{path}", "message": rule}
        for path in ("agentData.newer", "nodes.0.own", "agentData.ui.own")
    ]
    reader = Api(api.post("/v3/tokens", {"token": {"name": "x", "readOnly": True}}).data["token"])
    hidden = reader.get(EXPORT.format(made["id"])).json
    assert (hidden["agentTemplate"], "warnings" in hidden) == (answer.json["agentTemplate"], False)


def test_an_import_keeps_unknown_members_and_takes_secrets(api: Api, agent_id: str) -> None:
    members = {"newer": 1, "igAccessToken": "added", "SECRET_API_KEY": "own" * 11, "VF_PROJECT_ID": "ours"}
    answer = import_of(api, agentData=members)
    assert answer.data.items() >= members.items()
    message = "is not a member of this object; it is stored as sent"
    assert answer.json["warnings"] == [{"path": "agentTemplate.agentData.newer", "message": message}]
    strict = {**api._headers, "Content-Type": "application/json", "Prefer": "handling=strict"}
    body = {"agentTemplate": {"agentData": members}}
    refused(api.call("POST", IMPORT, body, strict), 400, "agentTemplate.agentData.newer")
    taken = api.get(f"/v3/agents/{agent_id}").data["SECRET_API_KEY"]
    refused(import_of(api, agentData={"SECRET_API_KEY": taken}), 409, code="KEY_TAKEN")


def test_only_the_workspace_key_imports_an_agent_key(api: Api, workspace: NewWorkspace) -> None:
    token = Api(workspace.access_token)
    refused(import_of(token, agentData={"SECRET_API_KEY": "own" * 11}), 403)
    answer = import_of(token, name="x")
    assert [one["path"] for one in answer.json["warnings"]] == ["agent.SECRET_API_KEY"]
    assert len(api.get("/v3/agents").data) == 1


@pytest.mark.parametrize("place", ["tools.1", "tools.01", "tools.-1", "tools", "0", "", "tools.0 ", "tools.100"])
def test_a_reference_without_its_tool_is_refused(place: str, api: Api) -> None:
    for member, path in (
        ({"agentData": {"assignedToolsIds": ["tools.0", place]}}, "agentTemplate.agentData.assignedToolsIds.1"),
        ({"nodes": [{}, {"toolsIds": [place]}]}, "agentTemplate.nodes.1.toolsIds.0"),
    ):
        message = refused(import_of(api, **member, tools=[{"name": "x"}]), 400, path)
        assert message == f"{path} must be a tool's position in tools, such as tools.0, or a tool's id."
    assert api.get("/v3/agents").data == []


def test_an_import_is_validated_as_a_creation_is(api: Api) -> None:
    for member, path in (
        ({"nodes": [{"id": "a"}, {"id": "a"}]}, "nodes.1.id"),
        ({"agentData": {"UIhandoffdescription": "x"}}, "agentData.UIhandoffdescription"),
        ({"agentData": {"retention": {"days": 0}}}, "agentData.retention.days"),
    ):
        refused(import_of(api, **member), 400, f"agentTemplate.{path}")


def test_a_template_of_another_service_refers_to_its_tools_by_id(api: Api) -> None:
    template = {"name": "x", "tools": [{"id": "their-1", "name": "a"}], "nodes": [{"id": "n", "toolsIds": ["their-1"]}]}
    body = {"agentTemplate": {**template, "variables": [{"name": "v"}]}, "agentName": "y", "fromAgentId": "theirs"}
    answer = api.post(IMPORT, body)
    assert answer.data["title"] == "y"
    assert answer.data["nodes"][0]["toolsIds"] == [answer.data["tools"][0]["id"]] != ["their-1"]
    ignored = [one["path"] for one in answer.json["warnings"]]
    assert ignored == ["agentTemplate.tools.0.id", "agentTemplate.variables"]


def test_a_template_that_could_not_be_imported_is_refused(api: Api, agent_id: str) -> None:
    tools = [{"name": "x"}] * (copies.MAX_TOOLS + 1)
    message = refused(import_of(api, tools=tools), 413)
    assert message == "The template has more than 96 tools."
    assert len(import_of(api, tools=tools[1:]).data["tools"]) == copies.MAX_TOOLS
    for _ in range(2):
        api.post(f"/v3/agents/{agent_id}/tools", {"tool": {"name": "x", "description": "x" * 1_100_000}})
    message = refused(api.get(EXPORT.format(agent_id)), 413)
    assert message == "The template must be at most 1,999,900 bytes."


@pytest.mark.parametrize("named", [{}, {"name": ""}, {"name": " "}])
def test_a_template_names_a_tool_that_an_earlier_version_stored_without_a_name(named: Any, api: Api) -> None:
    template = templates.of("w", {"title": "x"}, [{"method": "GET", **named}], ["t"])
    assert template["tools"] == [{"method": "GET", "name": "tool"}]
    assert import_of(api, **template).status == 200
