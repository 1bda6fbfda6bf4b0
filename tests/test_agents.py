"""Agents over HTTP in both forms, and their stored rows (§2.4, §2.5, §4.1, §4.2).

`contract/test_members.py` tests the members of each form; `test_agent_keys.py` tests the key.
"""

import json
import random
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import clock
from chalicelib.agents import store
from chalicelib.agents.store import AgentRow
from chalicelib.credentials import tokens
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.contract.test_members import document
from tests.evidence import canonical, refused, stored
from tests.requests import counted, lose_first_answer
from tests.selection import each_value_once, one_of_each
from tests.writes import before_each_commit

NOW = 1_790_000_000
# Members of the v3 form that the stored document does not have.
NOT_STORED = ("ID", "id", "tools")
THEME = {"themeType": "dark", "primary": "#0af", "nineColorPallet": [[0, 1.5], []]}
Hold = Callable[[int], None]


@pytest.fixture
def stop_clock(monkeypatch: pytest.MonkeyPatch) -> Hold:
    """Stop the clock at a Unix second."""
    return lambda seconds: monkeypatch.setattr(clock, "milliseconds", lambda: seconds * 1000)


@pytest.fixture
def v3(api: Api, agent_id: str) -> Callable[[dict[str, Any]], Any]:
    """Change the agent through v3; returns the answered record."""
    return lambda change: api.patch(f"/v3/agents/{agent_id}", {"agent": change}).data


def row_of(workspace: NewWorkspace, agent_id: str = "support") -> AgentRow:
    return store.read(workspace.workspace_id, agent_id)


def stored_agent(workspace: NewWorkspace, agent_id: str = "support") -> Any:
    return row_of(workspace, agent_id).open()


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


# v2: create and edit


def test_the_first_v2_write_of_an_id_creates_the_agent(workspace: NewWorkspace, api: Api, stop_clock: Hold) -> None:
    stop_clock(NOW)
    answer = api.post("/v2/agents/support", {"title": "Support"})

    assert answer.json["message"] == "Agent created successfully"
    assert without(answer.data, "SECRET_API_KEY") == {"title": "Support", "agentPlatform": "vg"}
    times = {"createdAtUNIX": NOW, "lastModified": NOW}
    assert stored_agent(workspace) == {**answer.data, **times}


def test_a_new_agent_gets_its_own_key(api: Api) -> None:
    keys = [api.post(f"/v2/agents/{name}", {}).data["SECRET_API_KEY"] for name in ("one", "two")]
    assert [tokens.kind(key) for key in keys] == [tokens.AGENT, tokens.AGENT]
    assert keys[0] != keys[1]


def test_a_new_agent_may_be_sent_with_a_key_and_a_platform(workspace: NewWorkspace, api: Api) -> None:
    given = {"SECRET_API_KEY": "from elsewhere", "agentPlatform": "vf"}
    assert api.post("/v2/agents/support", given).data == given
    assert stored_agent(workspace).items() >= given.items()


def test_later_v2_writes_change_only_the_members_they_name(workspace: NewWorkspace, api: Api, stop_clock: Hold) -> None:
    stop_clock(NOW)
    before = api.post("/v2/agents/support", {"title": "Support", "lang": "de"}).data
    stop_clock(NOW + 5)
    answer = api.post("/v2/agents/support", {"title": "Sales", "vg_maxTokens": 5})

    assert answer.json["message"] == "Agent updated successfully"
    assert answer.data == {**before, "title": "Sales", "vg_maxTokens": 5}
    assert stored_agent(workspace) == {**answer.data, "createdAtUNIX": NOW, "lastModified": NOW + 5}


def test_a_v2_read_returns_the_record_without_an_envelope(api: Api) -> None:
    written = api.post("/v2/agents/support", {"title": "Support", "vg_initMessages": ["Hello"]}).data
    answer = api.get("/v2/agents/support")
    assert (answer.status, answer.json) == (200, written)


@pytest.mark.parametrize(
    ("member", "value", "name_in_v3"),
    [
        pytest.param("title", "Support", "title", id="text"),
        pytest.param("vg_maxTokens", 0, "vg_maxTokens", id="number"),
        pytest.param("smartInit", False, "smartInit", id="boolean"),
        pytest.param("vg_initMessages", [], "vg_initMessages", id="list"),
        pytest.param("agentPlatform", "vf", "agentPlatform", id="platform"),
        pytest.param("customThemeJSONString", THEME, "customThemeJSONString", id="theme"),
        pytest.param("UIhandoffdescription", "Wait", "UIhandoffTitle", id="renamed"),
    ],
)
@one_of_each(lambda: None)
def test_null_clears_a_member_through_v2(
    member: str, value: Any, name_in_v3: str, workspace: NewWorkspace, api: Api
) -> None:
    assert api.post("/v2/agents/support", {member: value}).data[member] == value
    assert name_in_v3 in stored_agent(workspace)

    assert member not in api.post("/v2/agents/support", {member: None}).data
    assert name_in_v3 not in stored_agent(workspace)


# One record, two forms


def test_v3_members_survive_a_v2_write(api: Api, agent_id: str, v3: Any) -> None:
    only = {"region": "eu", "ui": {"voice": {"question": "?"}}, "nodes": [{"id": "n"}], "UIhandoffTitle": "Wait"}
    v3(only)
    api.post(f"/v2/agents/{agent_id}", {"title": "Sales"})
    assert api.get(f"/v3/agents/{agent_id}").data.items() >= {**only, "title": "Sales"}.items()


def test_v2_members_survive_a_v3_write(api: Api, agent_id: str, v3: Any) -> None:
    given = {"customThemeJSONString": THEME, "UIhandoffdescription": "Wait", "lang": "de"}
    api.post(f"/v2/agents/{agent_id}", given)
    v3({"title": "Sales", "region": "eu"})
    assert api.get(f"/v2/agents/{agent_id}").json.items() >= {**given, "title": "Sales"}.items()


@pytest.mark.parametrize(
    ("v2_name", "v3_name"),
    [("UIhandoffdescription", "UIhandoffTitle"), ("UIhandoffSubdescription", "UIhandoffSubtitle")],
)
def test_both_forms_share_the_handoff_text_under_two_names(
    v2_name: str, v3_name: str, api: Api, agent_id: str, v3: Any
) -> None:
    api.post(f"/v2/agents/{agent_id}", {v2_name: "through v2"})
    shown = api.get(f"/v3/agents/{agent_id}").data
    assert (shown[v3_name], v2_name in shown) == ("through v2", False)

    v3({v3_name: "through v3"})
    shown = api.get(f"/v2/agents/{agent_id}").json
    assert (shown[v2_name], v3_name in shown) == ("through v3", False)


def test_each_form_refuses_the_handoff_names_of_the_other(api: Api, agent_id: str) -> None:
    refused(api.post(f"/v2/agents/{agent_id}", {"UIhandoffTitle": "x"}), 400, "UIhandoffTitle")
    refused(
        api.patch(f"/v3/agents/{agent_id}", {"agent": {"UIhandoffdescription": "x"}}), 400, "agent.UIhandoffdescription"
    )


@one_of_each(lambda: None)
@pytest.mark.parametrize("platform", [{"own": 1}, "another", 5, ["vg"], True], ids=json.dumps)
def test_v2_omits_a_platform_that_it_cannot_express(platform: Any, api: Api, agent_id: str, v3: Any) -> None:
    v3({"agentPlatform": platform})
    assert "agentPlatform" not in api.get(f"/v2/agents/{agent_id}").json
    api.post(f"/v2/agents/{agent_id}", {"title": "Sales"})
    assert canonical(api.get(f"/v3/agents/{agent_id}").data["agentPlatform"]) == canonical(platform)


# The theme


def test_the_theme_is_an_object_in_v2_and_a_string_in_v3(workspace: NewWorkspace, api: Api, agent_id: str) -> None:
    assert api.post(f"/v2/agents/{agent_id}", {"customThemeJSONString": THEME}).data["customThemeJSONString"] == THEME
    text = api.get(f"/v3/agents/{agent_id}").data["customThemeJSONString"]
    assert canonical(json.loads(text)) == canonical(THEME)
    assert stored_agent(workspace)["customThemeJSONString"] == text


def test_v2_accepts_the_theme_as_a_string_and_returns_the_object(api: Api, agent_id: str) -> None:
    answer = api.post(f"/v2/agents/{agent_id}", {"customThemeJSONString": json.dumps(THEME)})
    assert answer.data["customThemeJSONString"] == THEME


def test_v3_returns_the_theme_unchanged_and_v2_parses_it(api: Api, agent_id: str, v3: Any) -> None:
    text = '{ "primary":"#0af",\n "nineColorPallet": [[1.0, 2]], "own": {"": [null, 1E2]} }'
    assert v3({"customThemeJSONString": text})["customThemeJSONString"] == text
    assert api.get(f"/v2/agents/{agent_id}").json["customThemeJSONString"] == json.loads(text)


@one_of_each(lambda: None)
@pytest.mark.parametrize(
    "text",
    ["", "dark", "[]", "null", "5", "{", '{"primary": 5}', '{"nineColorPallet": [["1"]]}', '{"own": 1e999}', "{}{}"],
)
def test_v2_omits_a_theme_that_it_cannot_parse(text: str, api: Api, agent_id: str, v3: Any) -> None:
    v3({"customThemeJSONString": text})
    answer = api.get(f"/v2/agents/{agent_id}")
    assert (answer.status, "customThemeJSONString" in answer.json) == (200, False)
    api.post(f"/v2/agents/{agent_id}", {"title": "Sales"})
    assert api.get(f"/v3/agents/{agent_id}").data["customThemeJSONString"] == text


# v3: create and change


def test_v3_creates_an_agent_with_a_generated_id(workspace: NewWorkspace, api: Api, stop_clock: Hold) -> None:
    stop_clock(NOW)
    answer = api.post("/v3/agents", {"agent": {"title": "Support", "ui": {"bgImageVisible": True}}})

    made = answer.data
    assert answer.json["message"] == "Agent created successfully"
    assert made["ID"] == made["id"]
    assert without(made, "ID", "id", "SECRET_API_KEY") == {
        "agentPlatform": "vg",
        "createdAtUNIX": NOW,
        "lastModified": NOW,
        "title": "Support",
        "tools": [],
        "ui": {"bgImageVisible": True},
    }
    assert stored_agent(workspace, made["id"]) == without(made, *NOT_STORED)
    assert api.get(f"/v3/agents/{made['id']}").data == made


def test_each_v3_creation_creates_another_agent(api: Api) -> None:
    made = [api.post("/v3/agents", {"agent": {}}).data for _ in range(3)]
    assert len({agent["id"] for agent in made}) == 3
    assert len({agent["SECRET_API_KEY"] for agent in made}) == 3


def test_a_v3_read_returns_the_envelope(api: Api, agent_id: str) -> None:
    answer = api.get(f"/v3/agents/{agent_id}")
    assert answer.json == {"success": True, "message": "Agent retrieved successfully", "data": answer.data}
    assert answer.data["id"] == agent_id


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("GET", "/v3/agents/unknown", None, id="read"),
        pytest.param("GET", "/v2/agents/unknown", None, id="read v2"),
        pytest.param("PATCH", "/v3/agents/unknown", {"agent": {"title": "x"}}, id="change"),
    ],
)
@one_of_each(lambda: None)
def test_an_unknown_agent_is_not_found(method: str, path: str, body: Any, api: Api) -> None:
    assert refused(api.call(method, path, body) if body is None else api.patch(path, body), 404) == (
        "There is no such agent."
    )


UI = {"bgImageVisible": True, "voice": {"question": "?", "continueBtnLabel": "Go"}}


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        pytest.param({"title": "a", "lang": "de"}, {"title": "b"}, {"title": "b", "lang": "de"}, id="scalar replaces"),
        pytest.param({"title": "a", "lang": "de"}, {"title": None}, {"lang": "de"}, id="null clears"),
        pytest.param(
            {"ui": UI},
            {"ui": {"voice": {"question": "!"}}},
            {"ui": {"bgImageVisible": True, "voice": {"question": "!", "continueBtnLabel": "Go"}}},
            id="objects merge at every depth",
        ),
        pytest.param(
            {"ui": UI},
            {"ui": {"voice": {"question": None}}},
            {"ui": {"bgImageVisible": True, "voice": {"continueBtnLabel": "Go"}}},
            id="null clears inside an object",
        ),
        pytest.param({"ui": UI}, {"ui": {"voice": None}}, {"ui": {"bgImageVisible": True}}, id="null clears an object"),
        pytest.param({"ui": UI}, {"ui": None}, {}, id="null clears an object with objects"),
        pytest.param({"ui": UI}, {"ui": {}}, {"ui": UI}, id="an empty object changes nothing"),
        pytest.param({}, {"ui": {"voice": {}}}, {"ui": {"voice": {}}}, id="an empty object is stored"),
        pytest.param({}, {"ui": UI}, {"ui": UI}, id="an object is added"),
        pytest.param({"kbTags": ["a", "b"]}, {"kbTags": ["c"]}, {"kbTags": ["c"]}, id="lists replace"),
        pytest.param({"kbTags": ["a", "b"]}, {"kbTags": []}, {"kbTags": []}, id="an empty list replaces"),
        pytest.param(
            {"voiceConfig": {"speechGen": {"wordsReplacements": [{"word": "a", "replacement": "b"}]}}},
            {"voiceConfig": {"speechGen": {"wordsReplacements": [{"word": "c"}]}}},
            {"voiceConfig": {"speechGen": {"wordsReplacements": [{"word": "c"}]}}},
            id="lists of objects replace",
        ),
        pytest.param(
            {"vectorDb": {"a": 1, "b": 2}}, {"vectorDb": {"c": None}}, {"vectorDb": {"c": None}}, id="any JSON replaces"
        ),
        pytest.param({"vectorDb": {"a": 1}}, {"vectorDb": None}, {}, id="null clears any JSON"),
    ],
)
def test_a_v3_change_merges(before: Any, change: Any, after: Any, workspace: NewWorkspace, api: Api) -> None:
    made = api.post("/v3/agents", {"agent": before}).data
    always = {name: made[name] for name in ("ID", "id", "SECRET_API_KEY", "agentPlatform", "createdAtUNIX")}
    answer = api.patch(f"/v3/agents/{made['id']}", {"agent": change})

    assert answer.json["message"] == "Agent updated successfully"
    assert without(answer.data, "lastModified") == {**always, **after, "tools": []}
    assert stored_agent(workspace, made["id"]) == without(answer.data, *NOT_STORED)


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        pytest.param(
            [{"id": "a", "name": "A", "kb": {"enabled": True, "maxChunks": 3}}, {"id": "b"}],
            [{"id": "a", "kb": {"maxChunks": 4}}],
            [{"id": "a", "name": "A", "kb": {"enabled": True, "maxChunks": 4}}, {"id": "b"}],
            id="merge into the node with the same id",
        ),
        pytest.param(
            [{"id": "a"}, {"id": "b"}],
            [{"id": "new", "name": "N"}, {"id": "b", "name": "B"}],
            [{"id": "a"}, {"id": "b", "name": "B"}, {"id": "new", "name": "N"}],
            id="keep their order, new nodes are appended",
        ),
        pytest.param(
            [{"id": "a", "name": "A", "conditionData": {"condition": "x"}}],
            [{"id": "a", "name": None, "conditionData": {"condition": None}}],
            [{"id": "a", "conditionData": {}}],
            id="null clears inside",
        ),
        pytest.param(
            [{"id": "a", "childrenNodes": [{"nodeId": "b"}, {"nodeId": "c"}], "toolsIds": ["t"]}],
            [{"id": "a", "childrenNodes": [{"nodeId": "d"}], "toolsIds": []}],
            [{"id": "a", "childrenNodes": [{"nodeId": "d"}], "toolsIds": []}],
            id="lists inside replace",
        ),
        pytest.param([{"id": "a"}], [], [{"id": "a"}], id="an empty list changes nothing"),
        pytest.param([{"id": "a"}], None, None, id="null clears all nodes"),
    ],
)
def test_nodes_merge_by_id(before: Any, change: Any, after: Any, workspace: NewWorkspace, api: Api) -> None:
    made = api.post("/v3/agents", {"agent": {"nodes": before}}).data
    answer = api.patch(f"/v3/agents/{made['id']}", {"agent": {"nodes": change}})
    assert answer.data.get("nodes") == after
    assert stored_agent(workspace, made["id"]).get("nodes") == after


@each_value_once
@pytest.mark.parametrize(
    ("nodes", "path"),
    [
        pytest.param([{"id": "a"}, {"id": "b"}, {"id": "a"}], "agent.nodes.2.id", id="duplicated"),
    ],
)
@pytest.mark.parametrize("target", ["/v3/agents", "/v3/agents/support"], ids=["create", "change"])
def test_a_node_with_a_duplicated_id_is_refused(nodes: Any, path: str, target: str, api: Api, agent_id: str) -> None:
    before = stored()
    answer = (api.post if target == "/v3/agents" else api.patch)(target, {"agent": {"title": "x", "nodes": nodes}})
    refused(answer, 400, path)
    assert stored() == before


@pytest.mark.parametrize(
    ("member", "value"), [("ID", "other"), ("id", "other"), ("createdAtUNIX", 5), ("lastModified", 5)]
)
def test_read_only_members_are_accepted_and_ignored(
    member: str, value: Any, workspace: NewWorkspace, api: Api, agent_id: str
) -> None:
    before, tag = api.get(f"/v3/agents/{agent_id}").data, row_of(workspace).version_tag
    assert api.patch(f"/v3/agents/{agent_id}", {"agent": {member: value}}).data == before
    made = api.post("/v3/agents", {"agent": {member: value}}).data
    assert made[member] != value
    assert (api.get("/v3/agents/other").status, row_of(workspace).version_tag) == (404, tag)


# Lossless round trips, and no unnecessary writes


@pytest.mark.parametrize("whole", [True, False], ids=["whole numbers", "fractions"])
@pytest.mark.parametrize("way", ["create", "change"])
def test_every_v3_member_is_stored_and_returned_unchanged(
    way: str, whole: bool, workspace: NewWorkspace, api: Api, v3: Any
) -> None:
    sent = document("agent_v3", whole=whole)
    made = v3(sent) if way == "change" else api.post("/v3/agents", {"agent": sent}).data
    set_by_the_service = ("ID", "id", "createdAtUNIX", "lastModified", "tools")

    assert canonical(without(made, *set_by_the_service)) == canonical(without(sent, *set_by_the_service))
    assert canonical(api.get(f"/v3/agents/{made['id']}").data) == canonical(made)
    assert canonical(stored_agent(workspace, made["id"])) == canonical(without(made, *NOT_STORED))


@pytest.mark.parametrize("whole", [True, False], ids=["whole numbers", "fractions"])
def test_every_v2_member_is_returned_unchanged(whole: bool, api: Api) -> None:
    sent = document("agent_v2", whole=whole)
    assert canonical(api.post("/v2/agents/support", sent).data) == canonical(sent)
    assert canonical(api.get("/v2/agents/support").json) == canonical(sent)


ANY_JSON = {
    "a large number": 1e300,
    "a small number": 5e-324,
    "an integer beyond 64 bits": 123456789012345678901234567890123456789012,
    "a negative number": -0.1,
    "zero": 0,
    "false": False,
    "empty text": "",
    "an empty list": [],
    "an empty object": {},
    "an empty name": {"": {"": [""]}},
    "null inside": {"a": None, "b": [None]},
    "every plane of Unicode": 'é 😀 \u0000 \u2028 \U0010ffff " \\ </script>',
    "names of every kind": {"a.b": 1, "#": 2, "$set": 3, "😀": 4, "__class__": 5},
    "150 levels": json.loads("[" * 75 + '{"a":' * 75 + "1" + "}" * 75 + "]" * 75),
}


@one_of_each(lambda value: type(value))
@pytest.mark.parametrize("value", ANY_JSON.values(), ids=ANY_JSON.keys())
def test_a_member_of_any_type_stores_any_json(value: Any, workspace: NewWorkspace, api: Api, v3: Any) -> None:
    change = {
        "vectorDb": value,
        "tabs": [value],
        "nodes": [{"id": "n", "rf": value}],
        "voiceConfig": {"transcriber": {"randomOptions": value}},
    }
    assert canonical({name: v3(change)[name] for name in change}) == canonical(change)
    assert canonical({name: stored_agent(workspace)[name] for name in change}) == canonical(change)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(1, True, id="1 and true"),
        pytest.param(False, 0, id="false and 0"),
        pytest.param(3, 3.0, id="3 and 3.0"),
        pytest.param([{"a": [1]}], [{"a": [True]}], id="deep inside"),
    ],
)
def test_a_change_between_values_that_python_compares_equal_is_stored(
    before: Any, after: Any, workspace: NewWorkspace, v3: Any
) -> None:
    v3({"vectorDb": before})
    assert canonical(v3({"vectorDb": after})["vectorDb"]) == canonical(after)
    assert canonical(stored_agent(workspace)["vectorDb"]) == canonical(after)


def test_saving_an_unchanged_record_through_v3_writes_nothing(
    workspace: NewWorkspace, api: Api, v3: Any, stop_clock: Hold
) -> None:
    stop_clock(NOW)
    v3(document("agent_v3", whole=False))
    read, before = api.get("/v3/agents/support").data, stored()
    stop_clock(NOW + 100)

    assert api.patch("/v3/agents/support", {"agent": read}).data == read
    assert stored() == before


def test_saving_an_unchanged_record_through_v2_writes_nothing(
    workspace: NewWorkspace, api: Api, v3: Any, stop_clock: Hold
) -> None:
    stop_clock(NOW)
    v3(document("agent_v3", whole=False))
    v3({"customThemeJSONString": '{ "primary": "#0af", "own": 1E2 }', "agentPlatform": "vf"})
    read, before = api.get("/v2/agents/support").json, stored()
    assert read["customThemeJSONString"] == {"primary": "#0af", "own": 100.0}
    stop_clock(NOW + 100)

    assert api.post("/v2/agents/support", read).data == read
    assert stored() == before


def test_a_change_updates_the_version_tag_and_the_time(
    workspace: NewWorkspace, api: Api, v3: Any, stop_clock: Hold
) -> None:
    before = row_of(workspace).version_tag
    stop_clock(NOW + 100)
    assert v3({"title": "Sales"})["lastModified"] == NOW + 100
    assert row_of(workspace).version_tag != before


# The list


def test_the_pages_contain_every_agent_once_and_none_is_empty(api: Api) -> None:
    ids = sorted(["b", "a@x.y", "c:+=,|~_-", "B", "10", "9"])
    for agent_id in ids:
        api.post(f"/v2/agents/{agent_id}", {})

    for limit in (1, 2, 3, 4, 5, 6, 7, 100):
        assert pages(api, limit) == [ids[start : start + limit] for start in range(0, len(ids), limit)]


def pages(api: Api, limit: int) -> list[list[str]]:
    """The ids of each page, up to the page without a cursor."""
    found, cursor = [], ""
    for _ in range(20):
        answer = api.get(f"/v3/agents?limit={limit}&cursor={cursor}")
        found.append([agent["id"] for agent in answer.data])
        if "nextCursor" not in answer.json:
            return found
        cursor = answer.json["nextCursor"]
    raise AssertionError("the list does not end")


def test_a_page_has_twenty_agents_by_default(api: Api) -> None:
    for number in range(21):
        api.post(f"/v2/agents/{number:02}", {})
    first = api.get("/v3/agents")
    second = api.get(f"/v3/agents?cursor={first.json['nextCursor']}")
    assert [len(page.data) for page in (first, second)] == [20, 1]
    assert "nextCursor" not in second.json


def test_the_list_returns_the_same_records_as_a_read(api: Api, agent_id: str) -> None:
    answer = api.get("/v3/agents")
    assert answer.json["message"] == "Agents retrieved successfully"
    assert answer.data == [without(api.get(f"/v3/agents/{agent_id}").data, "tools")]


def test_the_list_of_a_workspace_without_agents_is_empty(api: Api) -> None:
    expected = {"success": True, "message": "Agents retrieved successfully", "hasMore": False, "data": []}
    assert api.get("/v3/agents").json == expected


# Two workspaces


def test_two_workspaces_use_the_same_agent_id_independently(
    workspace: NewWorkspace, api: Api, other_workspace: NewWorkspace
) -> None:
    other = Api(other_workspace.workspace_key)
    answers = [one.post("/v2/agents/support", {"title": title}) for one, title in ((api, "ours"), (other, "theirs"))]
    assert [answer.json["message"] for answer in answers] == ["Agent created successfully"] * 2
    other.patch("/v3/agents/support", {"agent": {"region": "eu"}})

    assert api.get("/v2/agents/support").json["title"] == "ours"
    assert [agent["title"] for agent in api.get("/v3/agents").data] == ["ours"]
    assert "region" not in stored_agent(workspace)
    assert stored_agent(other_workspace)["title"] == "theirs"


def test_another_workspace_s_agent_is_not_found(api: Api, agent_id: str, other_workspace: NewWorkspace) -> None:
    other = Api(other_workspace.workspace_key)
    refused(other.get(f"/v2/agents/{agent_id}"), 404)
    refused(other.get(f"/v3/agents/{agent_id}"), 404)
    refused(other.patch(f"/v3/agents/{agent_id}", {"agent": {"title": "mine"}}), 404)
    assert other.get("/v3/agents").data == []


# Concurrent writers


def interrupt(monkeypatch: pytest.MonkeyPatch, times: int, another: Callable[[], Any]) -> None:
    """Run another write before each of the next `times` commits."""
    left = [times]

    def act() -> None:
        if left[0] > 0:
            left[0], rest = 0, left[0] - 1
            another()
            left[0] = rest

    before_each_commit(monkeypatch, act)


@pytest.mark.parametrize("form", ["v2", "v3"])
def test_a_change_is_applied_to_a_concurrent_write(
    form: str, api: Api, agent_id: str, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {"agent": {"ui": {"widgetType": "direct-chat"}, "nodes": [{"id": "theirs"}], "lang": "de"}}
    interrupt(monkeypatch, 1, lambda: api.patch(f"/v3/agents/{agent_id}", theirs))
    if form == "v2":
        changed = api.post(f"/v2/agents/{agent_id}", {"title": "ours"}).data
        assert (changed["title"], changed["lang"]) == ("ours", "de")
    else:
        change = {"title": "ours", "ui": {"bgImageVisible": True}, "nodes": [{"id": "ours"}]}
        changed = api.patch(f"/v3/agents/{agent_id}", {"agent": change}).data
        assert changed["ui"] == {"bgImageVisible": True, "widgetType": "direct-chat"}
        assert changed["nodes"] == [{"id": "theirs"}, {"id": "ours"}]
    assert stored_agent(workspace).items() >= {"title": "ours", "lang": "de"}.items()


def test_the_second_of_two_concurrent_creations_is_an_edit(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {"title": "theirs", "lang": "de"}
    interrupt(monkeypatch, 1, lambda: api.post("/v2/agents/support", theirs))
    answer = api.post("/v2/agents/support", {"title": "ours"})
    assert answer.json["message"] == "Agent updated successfully"
    assert (answer.data["title"], answer.data["lang"]) == ("ours", "de")


def test_a_change_that_always_loses_the_race_is_a_conflict(
    api: Api, agent_id: str, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "sleep", lambda _: None)
    numbers = iter(range(100))
    interrupt(monkeypatch, 99, lambda: api.post(f"/v2/agents/{agent_id}", {"vg_maxTokens": next(numbers)}))
    refused(api.post(f"/v2/agents/{agent_id}", {"title": "ours"}), 409)
    assert (stored_agent(workspace)["title"], next(numbers)) == ("Support", 20)


def test_a_change_with_a_lost_answer_applies_once_without_a_conflict(
    api: Api, agent_id: str, workspace: NewWorkspace
) -> None:
    """The SDK sends the request again, and the second one fails its condition."""
    with counted() as requests, lose_first_answer("PutItem"):
        answer = api.patch(f"/v3/agents/{agent_id}", {"agent": {"title": "Sales"}})
    assert answer.data["title"] == "Sales"
    assert (requests["PutItem"], answer.headers["etag"]) == (2, f'"{row_of(workspace).version_tag}"')
    assert api.patch(f"/v3/agents/{agent_id}", {"agent": {"title": "Again"}}).status == 200


# Size


NOISE = b64encode(random.Random(0).randbytes(450_000)).decode()  # does not compress


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("POST", "/v2/agents/new", {"description": NOISE}, id="create v2"),
        pytest.param("POST", "/v3/agents", {"agent": {"description": NOISE}}, id="create v3"),
        pytest.param("POST", "/v2/agents/support", {"description": NOISE}, id="edit v2"),
        pytest.param("PATCH", "/v3/agents/support", {"agent": {"vectorDb": [NOISE]}}, id="change v3"),
    ],
)
def test_a_too_large_record_is_refused_and_not_stored(
    method: str, path: str, body: Any, api: Api, agent_id: str
) -> None:
    before = stored()
    refused((api.post if method == "POST" else api.patch)(path, body), 413)
    assert stored() == before


def test_a_long_prompt_is_stored(api: Api, agent_id: str) -> None:
    prompt = "You help. 😀 " * 100_000
    assert api.post(f"/v2/agents/{agent_id}", {"vg_systemPrompt": prompt}).data["vg_systemPrompt"] == prompt
    assert api.get(f"/v2/agents/{agent_id}").json["vg_systemPrompt"] == prompt


def test_a_page_of_large_agents_is_shorter_and_no_agent_is_missing(api: Api) -> None:
    for number in range(8):
        assert api.post(f"/v2/agents/large{number}", {"branding": '"' * 300_000}).status == 200
    found = pages(api, 8)
    assert sorted(one for page in found for one in page) == [f"large{number}" for number in range(8)]
    assert len(found) > 1


@pytest.mark.parametrize("number", ["1" + "0" * 300 + "e50", "1e400"], ids=["long and e50", "e400"])
def test_a_number_that_overflows_is_refused_everywhere(api: Api, agent_id: str, number: str) -> None:
    raw = f'{{"agent":{{"vectorDb":{number}}}}}'.encode()
    assert api.call("PATCH", "/v3/agents/support", raw).status in (400, 415)
    api.patch("/v3/agents/support", {"agent": {"customThemeJSONString": f'{{"x":{number}}}'}})
    assert api.get("/v2/agents/support").status == 200
