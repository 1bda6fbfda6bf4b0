"""Unknown members and query parameters.

Agents keep unknown members; all other requests are rejected, and the error names the members.
"""

import json
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.agents import store
from chalicelib.http import responses
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.assertions import refused, stored

V2, V3 = "/v2/agents/support", "/v3/agents/support"
STORED = "is not a member of this object; it is stored as sent"
CLEARED = "is not a member of this object; null clears it"
NEWER: dict[str, Any] = {"shape": "round", "parts": [{"size": 1.0, "spare": None}], "": {"é😀": True}}


def warned(answer: Answer, *paths: str) -> Any:
    """Return the record from a successful response; assert that the response warns about exactly these members."""
    assert answer.status == 200, answer.text
    assert answer.json.get("warnings", []) == [{"path": path, "message": STORED} for path in paths]
    return answer.data


def preferring(api: Api, method: str, path: str, body: Any, preference: str) -> Answer:
    return api.call(method, path, body, {**api._headers, "Content-Type": "application/json", "Prefer": preference})


def test_a_new_agent_keeps_them_at_every_depth(api: Api) -> None:
    agent = {
        "newer": NEWER,
        "ui": {"newer": 1, "voice": {"newer": [None]}},
        "nodes": [{"id": "start", "newer": "x", "childrenNodes": [{"newer": True}]}],
    }
    paths = ["newer", "ui.newer", "ui.voice.newer", "nodes.0.newer", "nodes.0.childrenNodes.0.newer"]
    made = warned(
        api.post("/v3/agents", {"agent": agent}), *(f"agent.{path}" for path in sorted(paths, key=paths.index))
    )
    shown = api.get(f"/v3/agents/{made['id']}").data
    assert {name: shown[name] for name in agent} == agent == {name: made[name] for name in agent}


@pytest.mark.parametrize("as_sent", [lambda theme: theme, json.dumps], ids=["object", "text"])
def test_a_theme_keeps_them(as_sent: Any, api: Api) -> None:
    theme = {"primary": "#0af", "newer": NEWER}
    made = warned(api.post(V2, {"customThemeJSONString": as_sent(theme)}), "customThemeJSONString.newer")
    assert made["customThemeJSONString"] == theme


def test_both_forms_keep_and_show_them(api: Api) -> None:
    assert warned(api.post(V2, {"newer": NEWER}), "newer")["newer"] == NEWER
    assert warned(api.patch(V3, {"agent": {"other": 1}}), "agent.other")["newer"] == NEWER
    shown = api.get(V2).json
    assert (shown["newer"], shown["other"]) == (NEWER, 1)
    assert api.get("/v3/agents").data[0]["newer"] == NEWER


def test_a_change_replaces_them_and_null_clears_them(api: Api, agent_id: str) -> None:
    api.patch(V3, {"agent": {"newer": {"a": 1, "b": 2}, "ui": {"newer": 1}}})
    assert warned(api.patch(V3, {"agent": {"newer": {"a": 3}}}), "agent.newer")["newer"] == {"a": 3}
    cleared = api.patch(V3, {"agent": {"newer": None, "ui": {"newer": None}}}).data
    assert "newer" not in {*cleared, *cleared["ui"]}
    answer = api.patch(V3, {"agent": {"newer": None}})
    assert answer.json["warnings"] == [{"path": "agent.newer", "message": CLEARED}]
    api.post(V2, {"newer": 1})
    assert "newer" not in api.post(V2, {"newer": None}).data


def test_their_names_may_be_those_of_methods_of_the_model(api: Api, agent_id: str) -> None:
    names = ["__class__", "__dict__", "_x", "copy", "merge_into", "model_fields_set", "schema", "writable_members"]
    sent = {name: name for name in names}
    shown = warned(api.patch(V3, {"agent": sent}), *(f"agent.{name}" for name in names))
    assert {name: shown[name] for name in names} == sent
    assert {name: api.post(V2, sent).data[name] for name in names} == sent


def test_a_token_without_secrets_is_not_shown_them(api: Api, agent_id: str) -> None:
    api.patch(V3, {"agent": {"apiKey2": "secret", "ui": {"apiKey2": "secret"}, "nodes": [{"apiKey2": "secret"}]}})
    reader = Api(api.post("/v3/tokens", {"token": {"name": "Reads", "readOnly": True}}).data["token"])
    assert reader.get(V3).data["nodes"][0]["id"]
    assert "apiKey2" not in reader.get(V3).text + reader.get("/v3/agents").text


def scoped(api: Api) -> Api:
    """Return a caller that may write agents but cannot read secrets."""
    token = {"name": "Writes", "scopes": ["agents:read", "agents:write"]}
    return Api(api.post("/v3/tokens", {"token": token}).data["token"])


def test_a_token_without_secrets_sends_back_what_it_read(api: Api, agent_id: str) -> None:
    edges = [{"nodeId": "a", "newer": 1}, {"nodeId": "b", "newer": {"c": 2}}, {"nodeId": "b", "newer": 3}]
    words = [{"word": "a", "newer": 1}]
    nodes = [{"id": "start", "newer": 1, "childrenNodes": edges}, {"id": "end", "childrenNodes": edges[:1]}]
    api.patch(V3, {"agent": {"nodes": nodes, "voiceConfig": {"speechGen": {"wordsReplacements": words}}}})
    before = api.get(V3).data
    read = scoped(api).get(V3).data
    assert "newer" not in json.dumps(read)
    scoped(api).patch(V3, {"agent": read})
    after = api.get(V3).data
    assert (after["nodes"], after["voiceConfig"]) == (before["nodes"], before["voiceConfig"])
    read["nodes"][0]["childrenNodes"][0]["condition"] = "changed"
    scoped(api).patch(V3, {"agent": {"nodes": [{**read["nodes"][0], "newer": None}]}})
    changed = [{"nodeId": "a", "condition": "changed"}, *edges[1:]]
    assert api.get(V3).data["nodes"][0] == {"id": "start", "childrenNodes": changed}


@pytest.mark.parametrize("earlier", ["text", 1, ["text", {"widgetType": "direct-chat"}]])
def test_what_a_later_version_declares_as_an_object_can_be_read(
    earlier: Any, api: Api, agent_id: str, workspace: NewWorkspace
) -> None:
    with storage.unit_of_work():
        row = store.read(workspace.workspace_id, agent_id)
        before = row.open()
        store.save(row, before, {**before, "ui": earlier, "voiceConfig": {"speechGen": earlier}})
    assert api.get(V3).data["ui"] == earlier
    reader = scoped(api)
    assert "text" not in reader.get(V3).text + json.dumps(reader.get("/v3/agents").data)
    assert reader.patch(V3, {"agent": {"ui": {"widgetType": "x"}}}).data["ui"] == {"widgetType": "x"}


def test_the_longest_warnings_fit_in_the_room_for_the_envelope(api: Api, agent_id: str) -> None:
    longest = {f"{number:02}" + "😀" * 100: 1 for number in range(30)}
    answer = api.patch(V3, {"agent": {"tools": [], "nodes": [{"id": "start", "childrenNodes": [longest]}]}})
    assert len(answer.json["warnings"]) == 20
    assert len(json.dumps(storage.encode_json(answer.json["warnings"]).decode())) < responses.ENVELOPE - 1_000


def test_twenty_warnings_are_enough(api: Api, agent_id: str) -> None:
    answer = api.patch(V3, {"agent": {f"newer{number:02}": number for number in range(30)}})
    warned(answer, *(f"agent.newer{number:02}" for number in range(20)))
    assert answer.data["newer29"] == 29


@pytest.mark.parametrize("preference", ["handling=strict", 'respond-async, Handling = "strict"; x=1'])
@pytest.mark.parametrize(
    ("method", "path", "body", "at"),
    [
        ("POST", "/v3/agents", {"agent": {"title": "x", "ui": {"newer": 1}}}, "agent.ui.newer"),
        ("PATCH", V3, {"agent": {"newer": None}}, "agent.newer"),
        ("POST", V2, {"newer": 1}, "newer"),
    ],
    ids=["create", "change", "save v2"],
)
def test_a_strict_caller_is_refused_instead(
    method: str, path: str, body: Any, at: str, preference: str, api: Api, agent_id: str
) -> None:
    before = stored()
    refused(preferring(api, method, path, body, preference), 400, at)
    assert stored() == before


def test_another_preference_changes_nothing(api: Api, agent_id: str) -> None:
    warned(preferring(api, "PATCH", V3, {"agent": {"newer": 1}}, "handling=lenient, strict"), "agent.newer")


@pytest.mark.parametrize(
    ("path", "body", "at"),
    [
        (V2, {"region": "eu"}, "region"),
        (V2, {"limits": "text"}, "limits"),
        (V3, {"agent": {"UIhandoffdescription": "x"}}, "agent.UIhandoffdescription"),
    ],
)
def test_a_member_of_the_other_form_is_refused(path: str, body: Any, at: str, api: Api, agent_id: str) -> None:
    before = stored()
    refused(api.post(path, body) if path == V2 else api.patch(path, body), 400, at)
    assert stored() == before


def test_a_name_may_be_empty(api: Api, agent_id: str) -> None:
    refused(api.post("/v2/clients/ann", {"": 1}), 400, '""')
    assert warned(api.post(V2, {"": 1}), '""')[""] == 1
    refused(preferring(api, "PATCH", V3, {"agent": {"": 2}}, "handling=strict"), 400, 'agent.""')


def test_tools_of_a_new_agent_refuse_them(api: Api) -> None:
    refused(api.post("/v3/agents", {"agent": {"tools": [{"name": "x", "newer": 1}]}}), 400, "agent.tools.0.newer")


def test_a_node_without_an_id_gets_one(api: Api, agent_id: str) -> None:
    nodes = [{"id": "start"}, {"name": "second"}, {"id": None, "name": "third"}, {"id": ""}]
    made = api.patch(V3, {"agent": {"nodes": nodes}}).data["nodes"]
    assert [node.get("name") for node in made] == [None, "second", "third", None]
    assert len({node["id"] for node in made} - {""}) == 4
    assert api.patch(V3, {"agent": {"nodes": made}}).data["nodes"] == made


def test_the_rule_names_the_parameters_of_the_route(api: Api) -> None:
    answer = api.get("/v3/tokens?size=5")
    assert api.get("/v3/agents?=5").json["message"].startswith('"" is not a query parameter of this route')
    assert answer.json["message"] == "size is not a query parameter of this route, which has limit, cursor."
