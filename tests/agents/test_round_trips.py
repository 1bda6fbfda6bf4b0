"""Every agent value is returned unchanged, and saving an unchanged record writes nothing."""

import json
from typing import Any

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.agents.records import NOT_STORED, NOW, row_of, stored_agent, without
from tests.api import Api
from tests.assertions import canonical, stored
from tests.conftest import StopClock
from tests.contract.member_table import document
from tests.selection import one_of_each


@pytest.mark.parametrize("whole", [True, False], ids=["whole numbers", "fractions"])
@pytest.mark.parametrize("way", ["create", "change"])
def test_every_v3_member_is_stored_and_returned_unchanged(
    way: str, whole: bool, workspace: NewWorkspace, api: Api, v3: Any
) -> None:
    sent = document("agent_v3", whole=whole)
    made = v3(sent) if way == "change" else api.post("/v3/agents", {"agent": sent}).data
    set_by_the_service = ("ID", "id", "ownerID", "createdAtUNIX", "lastModified", "tools")

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
    workspace: NewWorkspace, api: Api, v3: Any, stop_clock: StopClock
) -> None:
    stop_clock(NOW)
    v3(document("agent_v3", whole=False))
    read, before = api.get("/v3/agents/support").data, stored()
    stop_clock(NOW + 100)

    assert api.patch("/v3/agents/support", {"agent": read}).data == read
    assert stored() == before


def test_saving_an_unchanged_record_through_v2_writes_nothing(
    workspace: NewWorkspace, api: Api, v3: Any, stop_clock: StopClock
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
    workspace: NewWorkspace, api: Api, v3: Any, stop_clock: StopClock
) -> None:
    before = row_of(workspace).version_tag
    stop_clock(NOW + 100)
    assert v3({"title": "Sales"})["lastModified"] == NOW + 100
    assert row_of(workspace).version_tag != before
