"""Creating, changing and reading an agent through the v2 API (§4.1).

`tests/contract/test_members.py` tests the members of each form; `tests/agents/test_keys.py` tests the key.
"""

from typing import Any

import pytest

from chalicelib.credentials import tokens
from chalicelib.workspaces.store import NewWorkspace
from tests.agents.records import NOW, THEME, stored_agent, without
from tests.api import Api
from tests.conftest import StopClock
from tests.selection import first_case


def test_the_first_v2_write_of_an_id_creates_the_agent(
    workspace: NewWorkspace, api: Api, stop_clock: StopClock
) -> None:
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
    given = {"SECRET_API_KEY": "a-key-that-a-team-brings-from-elsewhere", "agentPlatform": "vf"}
    assert api.post("/v2/agents/support", given).data == given
    assert stored_agent(workspace).items() >= given.items()


def test_later_v2_writes_change_only_the_members_they_name(
    workspace: NewWorkspace, api: Api, stop_clock: StopClock
) -> None:
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
@first_case
def test_null_clears_a_member_through_v2(
    member: str, value: Any, name_in_v3: str, workspace: NewWorkspace, api: Api
) -> None:
    assert api.post("/v2/agents/support", {member: value}).data[member] == value
    assert name_in_v3 in stored_agent(workspace)

    assert member not in api.post("/v2/agents/support", {member: None}).data
    assert name_in_v3 not in stored_agent(workspace)


@pytest.mark.parametrize(
    ("member", "value", "rule"),
    [
        ("ownerID", "x", "the service sets it"),
        ("createdAtUNIX", 1, "the service sets it"),
        ("retention", {"days": 1}, "change it at /v3/agents/{agent_id}"),
    ],
)
def test_a_refused_member_of_the_v3_form_names_who_sets_it(member: str, value: Any, rule: str, api: Api) -> None:
    answer = api.post("/v2/agents/support", {member: value})
    expected = f"{member} is a member of the v3 form only; {rule}."
    assert (answer.status, answer.json["message"]) == (400, expected)
