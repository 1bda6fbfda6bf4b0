"""Tests of the wire models against `members.json`, the specification's members (sections 2, 4.1 and 4.3).

They cover each model's members, their JSON types, valid and invalid values, and lossless conversion. Each resource's
own tests cover writable and required members.
"""

import json
import re

import pytest

from tests.assertions import canonical
from tests.contract.member_table import (
    EVERY_MEMBER,
    TABLE,
    Member,
    alone,
    document,
    expected_secrets,
    expected_shapes,
    invalid_values,
    is_required,
    members,
    name_of,
    valid_values,
)
from tests.contract.wire_models import (
    MODELS,
    converted,
    is_refused,
    model_shapes,
    read_only_members,
    secret_members,
)

# Turns and messages are open: they store unknown members. All other models reject unknown members, except models that
# are used only for responses.
OPEN_RESOURCES = {"agent_v2", "agent_v3", "message", "turn_in", "turn_out"}
# Unknown members that a closed record accepts, because one of its members is an open record.
OPEN_MEMBERS = {"conversation_in": ["conversation.notInTheTable"]}
ANSWERS = {"created_conversation", "state_out", "warning"}
# Members that contain another resource's record. The import rules forbid importing that resource's models, so a model
# may declare an open object or list the members itself.
ACROSS_RESOURCES = {("agent_v3", "tools"), ("state_out", "agentData")}

each_resource = pytest.mark.parametrize("resource", MODELS)


def is_kept(resource: str, record: object) -> bool:
    """Return whether parsing and serialising the record leaves it unchanged."""
    return canonical(converted(resource, record)) == canonical(record)


# The table itself


def test_the_table_and_the_models_have_the_same_resources() -> None:
    assert TABLE["resources"].keys() | TABLE["additions"].keys() == MODELS.keys()
    assert {*TABLE["neverNull"], *TABLE["values"]} <= {name_of(member) for member in EVERY_MEMBER}


@each_resource
def test_the_table_lists_a_member_once_and_after_its_parent(resource: str) -> None:
    seen: dict[str, str] = {}
    for member in members(resource):
        parent, _, _ = member.path.rpartition(".")
        if parent:
            assert seen[parent.removesuffix("[]")] == ("object[]" if parent.endswith("[]") else "object")
        assert member.path not in seen
        seen[member.path] = member.type


@pytest.mark.parametrize("form", ["v2", "v3"])
def test_the_forms_of_an_agent_s_member_match_the_tables_that_list_it(form: str) -> None:
    listed = {name: {member.path for member in members(f"agent_{name}")} for name in ("v2", "v3")}
    for member in members(f"agent_{form}"):
        assert member.row["forms"] == [name for name in listed if member.path in listed[name]], member.path


# The models compared with the table


@each_resource
def test_a_model_has_exactly_the_members_of_the_specification(resource: str) -> None:
    declared, expected = model_shapes(resource), expected_shapes(resource)
    for path in (path for owner, path in ACROSS_RESOURCES if owner == resource):
        inside = (f"{path}.", f"{path}[].")
        if not any(other.startswith(inside) for other in declared):
            expected = {other: shape for other, shape in expected.items() if not other.startswith(inside)}
    missing, extra = expected.keys() - declared.keys(), declared.keys() - expected.keys()
    assert (missing, extra) == (set(), set())
    differing = {path: (declared[path], shape) for path, shape in expected.items() if declared[path] != shape}
    assert differing == {}, "each path has (the model's value, the specification's value)"


@each_resource
def test_read_only_members_of_the_specification_are_read_only_in_the_model(resource: str) -> None:
    marked = {m.path for m in members(resource) if m.row.get("readOnly") or m.row.get("responseOnly")}
    assert marked <= read_only_members(resource)


@pytest.mark.parametrize("resource", sorted(MODELS.keys() - {"state_out"}))  # its agent is an `agent_v2`
def test_exactly_the_secret_members_of_the_specification_are_secret_in_the_model(resource: str) -> None:
    assert secret_members(resource) == expected_secrets(resource)


def test_every_member_that_is_named_like_a_secret_is_one() -> None:
    like_a_secret = re.compile(r"(key|token|secret|password)s?$", re.IGNORECASE)
    texts = [member for member in EVERY_MEMBER if member.type.startswith("string")]
    others = {name_of(one) for one in texts if like_a_secret.search(one.path) and not one.row.get("secret")}
    assert others == {"tool_field:key"}  # the name of a parameter


# The values of a member


@each_resource
def test_a_member_accepts_every_value_of_its_type_unchanged(resource: str) -> None:
    for member in members(resource):
        for value in valid_values(member):
            assert is_kept(resource, alone(member, value)), (member.path, value)


@each_resource
def test_a_member_may_be_null_which_differs_from_absent(resource: str) -> None:
    for member in members(resource):
        assert is_required(member) or is_kept(resource, alone(member, None)), member.path


@each_resource
def test_a_member_refuses_every_value_of_another_type(resource: str) -> None:
    accepted = [
        (member.path, text)
        for member in members(resource)
        for text in invalid_values(member)
        if not is_refused(resource, json.dumps(alone(member, "HERE")).replace('"HERE"', text))
    ]
    assert accepted == []


@each_resource
def test_a_record_with_every_member_is_converted_without_loss(resource: str) -> None:
    for whole in (True, False):
        assert is_kept(resource, document(resource, whole=whole))


@pytest.mark.parametrize("resource", [name for name in MODELS if name not in OPEN_RESOURCES | ANSWERS])
def test_a_record_refuses_an_unknown_member(resource: str) -> None:
    holders = ["", *(f"{m.path}{'[]' * m.type.count('[]')}." for m in members(resource) if _has_members(m))]
    accepted = []
    for holder in holders:
        stranger = Member(resource, f"{holder}notInTheTable", {"type": "any"})
        if not is_refused(resource, json.dumps(alone(stranger, 1))):
            accepted.append(stranger.path)
    assert accepted == OPEN_MEMBERS.get(resource, [])


def _has_members(member: Member) -> bool:
    """Return whether the resource's table lists this member's own members."""
    below = (f"{member.path}.", f"{member.path}[].")
    return any(other.path.startswith(below) for other in members(member.resource))


@pytest.mark.parametrize("resource", sorted(OPEN_RESOURCES))
def test_an_open_record_keeps_an_unknown_member(resource: str) -> None:
    assert is_kept(resource, {**document(resource, whole=True), "notInTheTable": {"kept": [1, 2.5, None, True]}})
