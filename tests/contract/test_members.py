"""Tests the wire models against `members.json`, the members of the specification (sections 2, 4.1 and 4.3).

They cover the members of a model, their JSON types, the accepted and refused values, and lossless conversion. The tests
of a resource cover writable and required members.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic import TypeAdapter, ValidationError

from chalicelib.agents.record import AgentV2, AgentV3
from chalicelib.analytics.models import AnalyticsRecord
from chalicelib.clients.models import Client
from chalicelib.conversations.models import (
    ConversationIn,
    ConvoMeta,
    CreatedConversation,
    Issue,
    Message,
    StateIn,
    StateOut,
    TurnIn,
    TurnOut,
)
from chalicelib.organisations.models import Organisation
from chalicelib.tools.models import Tool, ToolField
from tests.selection import first_case, one_of_each, whole

TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("members.json").read_text(encoding="utf-8"))

MODELS: dict[str, Any] = {
    "agent_v3": AgentV3,
    "agent_v2": AgentV2,
    "tool": Tool,
    "tool_field": ToolField,
    "convo_meta": ConvoMeta,
    "message": Message,
    "turn_in": TurnIn,
    "turn_out": TurnOut,
    "analytics": AnalyticsRecord,
    "client": Client,
    "organisation": Organisation,
    "created_conversation": CreatedConversation,
    "conversation_in": ConversationIn,
    "state_in": StateIn,
    "state_out": StateOut,
    "warning": Issue,
}

# Turns and messages are open: they store unknown members. All others refuse unknown members, except our own answers,
# which are never sent to us.
OPEN_RESOURCES = {"agent_v2", "agent_v3", "message", "turn_in", "turn_out"}
ANSWERS = {"created_conversation", "state_out", "warning"}

# Members that contain a record of another resource. The import rules forbid that resource's models, so a model may
# declare an open object, or list the members.
ACROSS_RESOURCES = {("agent_v3", "tools"), ("state_out", "agentData")}


class Shape(NamedTuple):
    """The type of a member on the wire: its JSON type and, for a closed enum, all its values."""

    type: str
    values: frozenset[str] | None = None


class Member(NamedTuple):
    """One line of the table, with the resource it belongs to."""

    resource: str
    path: str
    row: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.row["type"])

    @property
    def shape(self) -> Shape:
        return Shape(self.type, frozenset(self.row["known"]) if self.row.get("closed") else None)


def members(resource: str) -> list[Member]:
    """The resource's members in the specification and our additions, without those of an `of` resource."""
    rows = TABLE["resources"].get(resource, {"members": []})["members"] + TABLE["additions"].get(resource, [])
    return [Member(resource, row["path"], row) for row in rows]


EVERY_MEMBER = [member for resource in MODELS for member in members(resource)]


def name_of(member: Member) -> str:
    return f"{member.resource}:{member.path}"


def kind_of(member: Member) -> tuple[Any, ...]:
    """The properties that determine the accepted values of a member."""
    return member.type, member.row.get("closed"), member.row.get("format")


# The expanded table: path -> shape


def expected_shapes(resource: str) -> dict[str, Shape]:
    """Every path of the resource with its shape, including the members of an `of` resource."""
    shapes: dict[str, Shape] = {}
    for member in members(resource):
        shapes[member.path] = member.shape
        if "of" in member.row:
            below = member.path + "[]" * member.type.count("[]")
            inner = expected_shapes(member.row["of"])
            shapes.update({f"{below}.{path}": shape for path, shape in inner.items()})
    return shapes


# The models, expanded in the same way from their JSON schemas


def model_shapes(resource: str) -> dict[str, Shape]:
    """Every path that the resource's model declares with its shape."""
    schema = adapter(resource).json_schema(mode="validation")
    return dict(_properties(schema, schema.get("$defs", {}), ""))


def _properties(schema: dict[str, Any], defs: dict[str, Any], below: str) -> Iterator[tuple[str, Shape]]:
    for name, declared in _resolved(schema, defs).get("properties", {}).items():
        path = below + name
        type_, values, item = _described(declared, defs)
        yield path, Shape(type_, values)
        yield from _properties(item, defs, path + "[]" * type_.count("[]") + ".")


def _described(schema: dict[str, Any], defs: dict[str, Any]) -> tuple[str, frozenset[str] | None, dict[str, Any]]:
    """A schema's JSON type, its values if it is a closed enum, and the schema of its array items."""
    branches = list(_branches(schema, defs))
    kinds = {_kind(branch) for branch in branches}
    if kinds == {"object", "string"}:
        # An object that is also accepted as JSON text (the theme of section 2.5) counts as an object.
        branches, kinds = [branch for branch in branches if _kind(branch) == "object"], {"object"}
    if kinds == {"array"} and len(branches) == 1:
        type_, values, item = _described(branches[0].get("items", {}), defs)
        return f"{type_}[]", values, item
    if kinds <= {"integer", "number"} and "number" in kinds:
        return "number", None, {}
    if kinds == {"string"} and all("enum" in branch or "const" in branch for branch in branches):
        return "string", frozenset(value for branch in branches for value in _values(branch)), {}
    return "|".join(sorted(kinds)), None, branches[0] if len(branches) == 1 else {}


def _branches(schema: dict[str, Any], defs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The alternatives of a schema, references followed, without null."""
    schema = _resolved(schema, defs)
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives:
        for alternative in alternatives:
            yield from _branches(alternative, defs)
    elif schema.get("type") != "null":
        yield schema


def _resolved(schema: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = defs[schema["$ref"].removeprefix("#/$defs/")]
    return schema


def _kind(schema: dict[str, Any]) -> str:
    return str(schema.get("type", "any"))


def _values(schema: dict[str, Any]) -> list[str]:
    return [schema["const"]] if "const" in schema else list(schema["enum"])


# Documents generated from the table


def sample(member: Member, salt: int, *, whole: bool) -> Any:
    """A unique value of the member's type; numbers are integers if `whole`."""
    number = salt if whole else salt + 0.5
    text = f"{member.path} {salt} ünïcödé 🐑"
    if "of" in member.row:
        value: Any = document(member.row["of"], salt, whole=whole)
    elif member.path == "SECRET_API_KEY":
        value = f"agent-key-{salt:022}"
    elif member.row.get("closed"):
        value = member.row["known"][salt % len(member.row["known"])]
    elif name_of(member) in TABLE["values"]:
        value = TABLE["values"][name_of(member)][salt % len(TABLE["values"][name_of(member)])]
    elif member.row.get("format") == "date-time":
        value = "2026-11-21T08:09:10Z"
    elif member.row.get("format") == "iso-639-1":
        value = "de"
    else:
        value = {
            "string": text,
            "number": number,
            "integer": salt,
            "boolean": salt % 2 == 0,
            "object": {},
            "any": {"of any": [salt, "shape", None, {"": True}], text: number},
        }[member.type.rstrip("[]")]
    for _ in range(member.type.count("[]")):
        value = [value]
    return value


def document(resource: str, salt: int = 1000, *, whole: bool) -> dict[str, Any]:
    """A record of the resource with a unique value in every member of the table."""
    filled: dict[str, Any] = {}
    for index, member in enumerate(members(resource)):
        *parents, name = member.path.split(".")
        here = filled
        for parent in parents:
            stem = parent.removesuffix("[]")
            here = here[stem][0] if parent.endswith("[]") else here[stem]
        here[name] = sample(member, salt + index, whole=whole)
    return filled


def alone(member: Member, value: Any) -> dict[str, Any]:
    """The smallest record with the value: the member's parents and the required members."""
    for segment in reversed(member.path.split(".")):
        value = {segment.removesuffix("[]"): [value] if segment.endswith("[]") else value}
    return required_inside(member.resource, "") | dict(value)


def required_inside(resource: str, parent: str) -> dict[str, Any]:
    """The required members of the record, or of the object at `parent`, its path and a dot."""
    found = (m for m in members(resource) if is_required(m))
    inside = {m.path.removeprefix(parent): sample(m, 0, whole=True) for m in found if m.path.startswith(parent)}
    return {name: value for name, value in inside.items() if "." not in name}


def is_required(member: Member) -> bool:
    """Whether the member must not be null, by the specification or by our own rule (`neverNull`)."""
    return member.row.get("required", False) or name_of(member) in TABLE["neverNull"]


def valid_values(member: Member) -> list[Any]:
    """Values of the member's type, including the known ones of an enum."""
    by_type: dict[str, list[Any]] = {
        "string": ["", "some other text", "ünïcödé 🐑"],
        "number": [3, 3.5, 0, -2.25],
        "integer": [1, 3650],
        "boolean": [True, False],
        "object": [
            required_inside(member.row["of"], "")
            if "of" in member.row
            else required_inside(member.resource, f"{member.path}.")
        ],
        "any": ["text", 3, 3.5, True, [], {}, [{"a": None}]],
    }
    if "format" in member.row:
        values = [sample(member, 0, whole=True)]
    elif member.row.get("closed"):
        values = member.row["known"]
    elif name_of(member) in TABLE["values"]:
        values = TABLE["values"][name_of(member)]
    else:
        values = by_type[member.type.rstrip("[]")] + member.row.get("known", [])
    for _ in range(member.type.count("[]")):
        values = [[], values]
    return values


WRONG = {
    "string": ["5", "1.5", "true", "[]", "{}", '["text"]'],
    "number": ['"5"', '""', "true", "false", "[]", "{}", "NaN", "Infinity", "-Infinity", "1e999", "-1e999"],
    "integer": ['"5"', "0", "3651", "3.5", "true", "[]", "{}", "1e999"],
    "boolean": ["1", "0", "1.0", '"true"', '"yes"', '""', "[]", "{}"],
    "object": ["5", "true", '"text"', "[]", '"[]"', '"5"'],
}


def invalid_values(member: Member) -> list[str]:
    """JSON texts of other types; none is null."""
    wrong = WRONG.get(member.type.rstrip("[]"), [])
    if member.row.get("closed"):
        wrong = [*wrong, '""', '"another"', json.dumps(member.row["known"][0].upper())]
    for _ in range(member.type.count("[]")):
        wrong = [*(f"[{text}]" for text in wrong), "5", "true", '"text"', "{}"]
    return wrong


@cache
def adapter(resource: str) -> TypeAdapter[Any]:
    """The adapter that parses and serialises a model or a typed dictionary."""
    return TypeAdapter(MODELS[resource])


def validate(resource: str, text: str) -> Any:
    return adapter(resource).validate_json(text)


def dumped(resource: str, value: Any) -> Any:
    return adapter(resource).dump_python(value, exclude_unset=True)


def canonical(value: Any) -> str:
    """Canonical JSON, which distinguishes 3 from 3.0, 1 from true, and absent from null."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def is_refused(resource: str, text: str) -> bool:
    try:
        validate(resource, text)
    except ValidationError:
        return True
    return False


# The table itself


def test_the_table_and_the_models_have_the_same_resources() -> None:
    assert TABLE["resources"].keys() | TABLE["additions"].keys() == MODELS.keys()
    assert {*TABLE["neverNull"], *TABLE["values"]} <= {name_of(member) for member in EVERY_MEMBER}


@whole
@pytest.mark.parametrize("resource", MODELS)
def test_no_member_is_listed_twice(resource: str) -> None:
    paths = [member.path for member in members(resource)]
    assert sorted(paths) == sorted(set(paths))


@whole
@pytest.mark.parametrize("resource", MODELS)
def test_the_table_lists_a_parent_before_its_members(resource: str) -> None:
    seen: dict[str, str] = {}
    for member in members(resource):
        parent, _, _ = member.path.rpartition(".")
        if parent:
            assert seen[parent.removesuffix("[]")] == ("object[]" if parent.endswith("[]") else "object")
        seen[member.path] = member.type


@pytest.mark.parametrize("form", ["v2", "v3"])
def test_the_forms_of_an_agent_s_member_match_the_tables_that_list_it(form: str) -> None:
    listed = {name: {member.path for member in members(f"agent_{name}")} for name in ("v2", "v3")}
    for member in members(f"agent_{form}"):
        assert member.row["forms"] == [name for name in listed if member.path in listed[name]], member.path


# The models against the table


@pytest.mark.parametrize("resource", MODELS)
def test_a_model_has_exactly_the_members_of_the_specification(resource: str) -> None:
    declared, expected = model_shapes(resource), expected_shapes(resource)
    for path in (path for owner, path in ACROSS_RESOURCES if owner == resource):
        if not any(other.startswith((f"{path}.", f"{path}[].")) for other in declared):
            expected = {
                other: shape for other, shape in expected.items() if not other.startswith((f"{path}.", f"{path}[]."))
            }
    missing, extra = expected.keys() - declared.keys(), declared.keys() - expected.keys()
    assert (missing, extra) == (set(), set())
    differing = {path: (declared[path], shape) for path, shape in expected.items() if declared[path] != shape}
    assert differing == {}, "path: (the model's, the specification's)"


@pytest.mark.parametrize("resource", MODELS)
@first_case
def test_read_only_members_of_the_specification_are_read_only_in_the_model(
    resource: str,
) -> None:
    marked = {m.path for m in members(resource) if m.row.get("readOnly") or m.row.get("responseOnly")}
    schema = adapter(resource).json_schema()
    properties = _resolved(schema, schema.get("$defs", {}))["properties"]
    assert marked <= {name for name, declared in properties.items() if declared.get("readOnly")}


@pytest.mark.parametrize("resource", sorted(MODELS.keys() - {"state_out"}))  # its agent is an `agent_v2`
def test_exactly_the_secret_members_of_the_specification_are_secret_in_the_model(resource: str) -> None:
    schema = adapter(resource).json_schema()
    assert set(_secrets(schema, schema.get("$defs", {}), "")) == expected_secrets(resource)


def test_every_member_that_is_named_like_a_secret_is_one() -> None:
    like_a_secret = re.compile(r"(key|token|secret|password)s?$", re.IGNORECASE)
    texts = [member for member in EVERY_MEMBER if member.type.startswith("string")]
    others = {name_of(one) for one in texts if like_a_secret.search(one.path) and not one.row.get("secret")}
    assert others == {"tool_field:key"}  # the name of a parameter


def expected_secrets(resource: str) -> set[str]:
    found = {member.path for member in members(resource) if member.row.get("secret")}
    for member in members(resource):
        if "of" in member.row:
            below = member.path + "[]" * member.type.count("[]")
            found |= {f"{below}.{path}" for path in expected_secrets(member.row["of"])}
    return found


def _secrets(schema: dict[str, Any], defs: dict[str, Any], below: str) -> Iterator[str]:
    for name, declared in _resolved(schema, defs).get("properties", {}).items():
        if declared.get("x-secret"):
            yield below + name
        type_, _, item = _described(declared, defs)
        yield from _secrets(item, defs, below + name + "[]" * type_.count("[]") + ".")


@one_of_each(kind_of)
@pytest.mark.parametrize("member", EVERY_MEMBER, ids=name_of)
def test_a_member_accepts_every_value_of_its_type_unchanged(member: Member) -> None:
    for value in valid_values(member):
        record = alone(member, value)
        kept = dumped(member.resource, validate(member.resource, json.dumps(record)))
        assert canonical(kept) == canonical(record)


@pytest.mark.parametrize("member", [m for m in EVERY_MEMBER if not is_required(m)], ids=name_of)
@first_case
def test_a_member_may_be_null_which_differs_from_absent(member: Member) -> None:
    record = alone(member, None)
    kept = dumped(member.resource, validate(member.resource, json.dumps(record)))
    assert canonical(kept) == canonical(record)


@one_of_each(kind_of)
@pytest.mark.parametrize("member", [m for m in EVERY_MEMBER if invalid_values(m)], ids=name_of)
def test_a_member_refuses_every_value_of_another_type(member: Member) -> None:
    accepted = [
        text
        for text in invalid_values(member)
        if not is_refused(member.resource, json.dumps(alone(member, "HERE")).replace('"HERE"', text))
    ]
    assert accepted == []


@pytest.mark.parametrize("whole", [True, False], ids=["whole numbers", "fractions"])
@pytest.mark.parametrize("resource", MODELS)
@first_case
def test_a_record_with_every_member_is_converted_without_loss(resource: str, whole: bool) -> None:
    record = document(resource, whole=whole)
    kept = dumped(resource, validate(resource, json.dumps(record)))
    assert canonical(kept) == canonical(record)


@first_case
@pytest.mark.parametrize("resource", [name for name in MODELS if name not in OPEN_RESOURCES | ANSWERS])
def test_a_record_refuses_an_unknown_member(resource: str) -> None:
    holders = ["", *(f"{m.path}{'[]' * m.type.count('[]')}." for m in members(resource) if _has_members(m))]
    accepted = []
    for holder in holders:
        stranger = Member(resource, f"{holder}notInTheTable", {"type": "any"})
        if not is_refused(resource, json.dumps(alone(stranger, 1))):
            accepted.append(stranger.path)
    assert accepted == []


def _has_members(member: Member) -> bool:
    """Whether this resource's table lists the members inside the member."""
    below = (f"{member.path}.", f"{member.path}[].")
    return any(other.path.startswith(below) for other in members(member.resource))


@pytest.mark.parametrize("resource", sorted(OPEN_RESOURCES))
def test_an_open_record_keeps_an_unknown_member(resource: str) -> None:
    record = {**document(resource, whole=True), "notInTheTable": {"kept": [1, 2.5, None, True]}}
    kept = dumped(resource, validate(resource, json.dumps(record)))
    assert canonical(kept) == canonical(record)


# The theme, the only member that is an object in one form and a string in the other (section 2.5)

THEME = {"themeType": "dark", "primary": "blue", "nineColorPallet": [[1, 2, 3], [4, 5.5, 6]]}


def test_the_v2_form_also_accepts_the_theme_as_json_text() -> None:
    agent = validate("agent_v2", json.dumps({"customThemeJSONString": json.dumps(THEME)}))
    assert dumped("agent_v2", agent) == {"customThemeJSONString": THEME}


@first_case
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("not JSON", id="not JSON"),
        pytest.param("", id="empty"),
        pytest.param("[]", id="array"),
        pytest.param("null", id="null"),
        pytest.param('{"primary": 5}', id="member of a wrong type"),
        pytest.param('{"nineColorPallet": [["5"]]}', id="text in the pallet"),
        pytest.param('{"nineColorPallet": [[NaN]]}', id="NaN"),
        pytest.param('{"nineColorPallet": [[1e999]]}', id="infinity"),
        pytest.param('{"notInTheTable": NaN}', id="NaN in an unknown member"),
        pytest.param('{"notInTheTable": [-Infinity]}', id="Infinity in an unknown member"),
        pytest.param('{"notInTheTable": 1e999}', id="a too large number in an unknown member"),
        pytest.param('{"notInTheTable": "\\ud800"}', id="lone surrogate"),
        pytest.param('{"notInTheTable": ' + "[" * 100_000 + "]" * 100_000 + "}", id="100,000 levels"),
        pytest.param('{"primary": "blue"} and more', id="text after the JSON"),
    ],
)
def test_the_v2_form_refuses_a_theme_with_invalid_json_text(text: str) -> None:
    assert is_refused("agent_v2", json.dumps({"customThemeJSONString": text}))


def test_the_v2_form_keeps_unknown_members_of_a_theme() -> None:
    theme = {**THEME, "notInTheTable": {"kept": [1, 2.5, None, True]}}
    for sent in (theme, json.dumps(theme)):
        agent = validate("agent_v2", json.dumps({"customThemeJSONString": sent}))
        assert canonical(dumped("agent_v2", agent)) == canonical({"customThemeJSONString": theme})


def test_the_v3_form_keeps_the_text_of_the_theme_unchanged() -> None:
    text = '{ "primary":"blue",\n "anything": [] }'
    agent = validate("agent_v3", json.dumps({"customThemeJSONString": text}))
    assert dumped("agent_v3", agent) == {"customThemeJSONString": text}


def test_the_v3_form_refuses_the_theme_as_an_object() -> None:
    assert is_refused("agent_v3", json.dumps({"customThemeJSONString": THEME}))
