"""The v2 and v3 forms of one agent share its handoff texts, platform and theme (§2.4, §2.5)."""

import json
from typing import Any

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.agents.records import THEME, stored_agent
from tests.api import Api
from tests.assertions import canonical, refused

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
    agent = api.get(f"/v3/agents/{agent_id}").data
    assert (agent[v3_name], v2_name in agent) == ("through v2", False)

    v3({v3_name: "through v3"})
    agent = api.get(f"/v2/agents/{agent_id}").json
    assert (agent[v2_name], v3_name in agent) == ("through v3", False)


def test_each_form_refuses_the_handoff_names_of_the_other(api: Api, agent_id: str) -> None:
    refused(api.post(f"/v2/agents/{agent_id}", {"UIhandoffTitle": "x"}), 400, "UIhandoffTitle")
    refused(
        api.patch(f"/v3/agents/{agent_id}", {"agent": {"UIhandoffdescription": "x"}}), 400, "agent.UIhandoffdescription"
    )


def test_v2_omits_a_platform_that_it_cannot_express(api: Api, agent_id: str, v3: Any) -> None:
    for platform in ({"own": 1}, "another", 5, ["vg"], True):
        v3({"agentPlatform": platform})
        assert "agentPlatform" not in api.get(f"/v2/agents/{agent_id}").json
        api.post(f"/v2/agents/{agent_id}", {"title": f"Sales {platform}"})
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


def test_v2_omits_a_theme_that_it_cannot_parse(api: Api, agent_id: str, v3: Any) -> None:
    objects = ('{"primary": 5}', '{"nineColorPallet": [["1"]]}', '{"own": 1e999}')
    for text in ("", "dark", "[]", "null", "5", "{", "{}{}", *objects):
        v3({"customThemeJSONString": text})
        answer = api.get(f"/v2/agents/{agent_id}")
        assert (answer.status, "customThemeJSONString" in answer.json) == (200, False), text
        api.post(f"/v2/agents/{agent_id}", {"title": f"Sales {text}"})
        assert api.get(f"/v3/agents/{agent_id}").data["customThemeJSONString"] == text
