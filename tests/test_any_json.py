"""Members that accept any JSON return the value unchanged in every form, list, response and event.

The comparison is strict: 3 differs from 3.0, and 0.0 from -0.0. The contract's member table lists these members.
"""

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app import app
from chalicelib import errors
from chalicelib.agents.record import AgentV3
from chalicelib.http import bodies
from chalicelib.http.projections import without_secrets
from chalicelib.webhooks import change, events
from tests.api import Api
from tests.assertions import canonical, refused
from tests.contract.member_table import TABLE, document
from tests.guarantees import CaseCounter
from tests.moto_tables import drop_history
from tests.openapi.document import operations
from tests.selection import each_value_once
from tests.webhooks.pipeline import Stream

pytestmark = pytest.mark.guarantee("any")

STATE = "/agents/support/interact/ann/state"
# Maximum nesting depth, and maximum number of digits in an integer.
LEVELS, DIGITS = 200, 4_300

AWKWARD = [
    *(0, -1, 2**53 + 1, -(2**63), 2**64, 10**41, int("9" * DIGITS), 3, 3.0, 0.0, -0.0),
    *(1e300, -1e300, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 1e16, 1e22, 123456789.123456789, True, False),
    *("", "\u0000", "😀", "\U0010ffff", '\u2028</script>\\"', "é" * 10_000, "NaN", "1e999", "null"),
    *([], {}, [[]], [None], {"": {"": [""]}}, {"a": None}, {"\u0000": 1, "a.b": 2, "#": 3, "$ref": "#/x"}),
    *([1, 1.0, True, "1"], {"ID": 1, "id": 2, "mid": None, "SECRET_API_KEY": "x", "__class__": {}}),
]
_awkward = st.sampled_from(AWKWARD)
_leaves = _awkward | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
_anything = st.recursive(
    _leaves | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
# null is excluded, because it clears the member.
values = (_awkward | _anything).filter(lambda value: value is not None)

base_settings = settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
few, many = settings(base_settings, max_examples=10), settings(base_settings, max_examples=400)


def any_members(resource: str) -> set[str]:
    """Return the paths of a resource's writable members that accept any JSON."""
    rows = TABLE["resources"][resource]["members"]
    return {row["path"] for row in rows if row["type"].startswith("any") and not row.get("readOnly")}


# `tool_field` is listed separately, because changing an agent does not change its `tools`.
IN_AGENTS = sorted(any_members("agent_v3"))
IN_FIELDS = sorted(any_members("tool_field"))


def test_no_other_member_accepts_any_json() -> None:
    elsewhere = {name: any_members(name) for name in TABLE["resources"]}
    assert {name for name, paths in elsewhere.items() if paths} == {"agent_v3", "tool_field", "state_out"}
    assert elsewhere["state_out"] == {"actionMessages"}, "`actionMessages` is always empty"


def placed(paths: list[str], value: Any) -> dict[str, Any]:
    """Return an object that contains the value at each of these paths."""
    whole: dict[str, Any] = {}
    for path in paths:
        _put(whole, path.split("."), value)
    return whole


def _put(node: dict[str, Any], steps: list[str], value: Any) -> None:
    name, is_list = steps[0].removesuffix("[]"), steps[0].endswith("[]")
    if len(steps) == 1:
        node[name] = [value] if name in ("tabs", "kbTagsDataMap") else value
        return
    made = {"id": "one"} if is_list else {}
    inner = node.setdefault(name, [made] if is_list else made)
    _put(inner[0] if is_list else inner, steps[1:], value)


def is_equal(response: dict[str, Any], written: dict[str, Any]) -> bool:
    """Return whether the response contains the written JSON unchanged."""
    return canonical({name: response.get(name) for name in written}) == canonical(written)


def agent_holds(api: Api, value: Any) -> int:
    written = placed(IN_AGENTS, value)
    path = "/v3/agents/support"
    assert is_equal(api.patch(path, {"agent": written}).data, written)
    assert is_equal(api.get(path).data, written)
    # A write through the v2 API does not change these members.
    assert api.post("/v2/agents/support", {"description": canonical(value)[:20]}).status == 200
    assert is_equal(api.get("/v3/agents").data[0], written)
    return 3 * len(IN_AGENTS)


def theme_holds(api: Api, value: Any) -> int:
    theme = {"primary": "#0af", "own": value}
    v2, v3 = "/v2/agents/support", "/v3/agents/support"
    themes = [
        api.post(v2, {"customThemeJSONString": theme}).data["customThemeJSONString"],
        json.loads(api.get(v3).data["customThemeJSONString"]),
        api.post(STATE).json["agentData"]["customThemeJSONString"],
    ]
    text = json.dumps(theme, indent=1)
    themes.append(json.loads(api.patch(v3, {"agent": {"customThemeJSONString": text}}).data["customThemeJSONString"]))
    themes.append(api.get(v2).json["customThemeJSONString"])
    assert {canonical(one) for one in themes} == {canonical(theme)}
    return len(themes)


def tool_holds(api: Api, value: Any) -> int:
    fields = [{"id": "one", **dict.fromkeys(IN_FIELDS, value)}]
    made = api.post("/v3/agents/support/tools", {"tool": {"name": "x", "fields": fields}}).data
    path = f"/v3/tools/{made['id']}"
    tools = [made, api.get(path).data, api.get("/v3/agents/support/tools").data[-1]]
    again = [{"id": "one", **{name: [value] for name in IN_FIELDS}}]
    changed = api.patch(path, {"tool": {"fields": again}}).data
    assert {canonical(one["fields"]) for one in tools} == {canonical(fields)}
    assert is_equal(changed, {"fields": again})
    assert api.delete(path).status == 200
    return (len(tools) + 1) * len(IN_FIELDS)


def state_holds(api: Api, value: Any, mid: str, stream: Stream) -> int:
    message = {"mid": mid, "type": "any", "item": {"own": value}, "of message": value}
    turn = {"from": "human", "ts": 1, "of turn": value, "messages": message}
    written = api.post(STATE, {"turns": [{**turn, "messages": [message]}]}).json["turns"]
    (event,) = [
        one for record in stream.read("conversations") for one in events.from_change(change.from_record(record))
    ]
    read = api.post(STATE).json["turns"]
    old = api.post(STATE, {"turns": []}).json["oldTurns"]
    assert {canonical(one) for one in (written, read, old)} == {canonical([turn])}
    assert canonical(json.loads(event.payload["messageContent"])) == canonical({"own": value})
    return 3 * 3 + 1


@pytest.fixture
def holds(api: Api, agent_id: str) -> Any:
    """Return a function that checks that every such member stores a value. It returns the number of checks."""

    mid = count()

    def all_hold(value: Any) -> int:
        drop_history()
        kept = agent_holds(api, value) + theme_holds(api, value) + tool_holds(api, value)
        return kept + state_holds(api, value, str(next(mid)), Stream())

    return all_hold


def test_unusual_values_are_stored_unchanged(holds: Any, count_cases: CaseCounter) -> None:
    """Store all values in one list. Also store falsy values alone, because code may mistake them for absent values."""
    count_cases(states=sum(holds(value) for value in [AWKWARD, *(value for value in AWKWARD if not value)]))


def test_a_read_agent_has_the_bytes_that_encoding_it_again_would_give(
    api: Api, agent_id: str, count_cases: CaseCounter
) -> None:
    path = "/v3/agents/support"
    for name in ("first", "second"):
        api.post(f"{path}/tools", {"tool": {"name": name, "fields": [{"key": "Zoë 😀 \u2028", "value": AWKWARD}]}})
    api.patch(path, {"agent": document("agent_v3", whole=True)})
    encoded = api.patch(path, {"agent": {**placed(IN_AGENTS, AWKWARD), "title": "Zoë 😀 \u2028 </script>"}})
    assert encoded.data.keys() >= AgentV3.model_fields.keys()
    expected = encoded.text.replace("Agent updated successfully", "Agent retrieved successfully", 1)
    assert api.get(path).text == expected
    tools = json.dumps(api.get(f"{path}/tools").data, ensure_ascii=False, separators=(",", ":"))
    assert expected.endswith(f'"tools":{tools}}}}}')

    reader = Api(api.post("/v3/tokens", {"token": {"name": "Reads", "readOnly": True}}).data["token"])
    visible = {**encoded.json, "message": "Agent retrieved successfully"}
    visible["data"] = without_secrets(AgentV3, encoded.data)
    assert reader.get(path).text == json.dumps(visible, ensure_ascii=False, separators=(",", ":"))
    count_cases(states=2)


@few
@given(value=values)
def test_any_value_is_stored_unchanged(value: Any, holds: Any, count_cases: CaseCounter) -> None:
    count_cases(states=holds(value))


@pytest.mark.long
@many
@given(value=values)
def test_many_values_are_stored_unchanged(value: Any, holds: Any, count_cases: CaseCounter) -> None:
    count_cases(states=holds(value))


# ---- limits ---------------------------------------------------------------------------------------

BODIES = {
    "agent": ("PATCH", "/v3/agents/support", '{"agent": {"vectorDb": %s}}', 2),
    "theme": ("POST", "/v2/agents/support", '{"customThemeJSONString": {"own": %s}}', 2),
    "tool": ("POST", "/v3/agents/support/tools", '{"tool": {"name": "x", "fields": [{"value": %s}]}}', 4),
    "message": ("POST", STATE, '{"turns": [{"messages": [{"item": {"own": %s}}]}]}', 6),
    "member of a message": ("POST", STATE, '{"turns": [{"messages": [{"own": %s}]}]}', 5),
    "member of a turn": ("POST", STATE, '{"turns": [{"own": %s}]}', 3),
}
NO_JSON = [
    "NaN",
    "-Infinity",
    "1e999",
    '{"a": [-1E400]}',
    r'"\ud800"',
    r'{"\udc00": 1}',
    "9" * (DIGITS + 1),
    "[1,]",
    "01",
]


@pytest.mark.parametrize("place", BODIES)
def test_json_that_cannot_be_stored_is_refused(place: str, api: Api, agent_id: str) -> None:
    method, path, body, _ = BODIES[place]
    for text in NO_JSON:
        answer = api.call(method, path, (body % text).encode())
        assert answer.status == 400, text
        refused(answer, 400, *[issue["path"] for issue in answer.json["issues"]], interaction=path == STATE)


@each_value_once
@pytest.mark.parametrize("place", BODIES)
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_a_deeply_nested_body_is_stored_completely(place: str, brackets: str, api: Api, agent_id: str) -> None:
    method, path, body, around = BODIES[place]
    opening, closing = ("[", "]") if brackets == "[]" else ('{"a":', "}")

    inner = LEVELS - around
    deepest = opening * inner + "1" + closing * inner
    answer = api.call(method, path, (body % deepest).encode())
    assert answer.status == 200
    assert deepest in answer.text
    deeper = api.call(method, path, (body % f"[{deepest}]").encode())
    refused(deeper, 400, "", interaction=path == STATE)


def test_the_numbers_of_every_body_are_finite() -> None:
    """Check that one rule covers the whole body, because a type that checks each value would take ten times as long."""
    declared = [app.routes[one.path][one.method].view_function.operation for one in operations()]
    models = {one.resolve(one.body) for one in declared} - {None}
    assert len(models) > 10
    for model in models:
        for number in ("NaN", "-Infinity", "1e999"):
            with pytest.raises(errors.Invalid, match=r"x\.1\.y must be a finite number"):
                bodies.parse(model, b'{"x": [1, {"y": %s}]}' % number.encode())
