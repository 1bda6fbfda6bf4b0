"""The wire model of each resource in `members.json`: its members, their shapes, and conversion from and to JSON."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

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
from tests.contract.member_table import Shape

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


def model_shapes(resource: str) -> dict[str, Shape]:
    """Return every path that the resource's model declares, with its shape."""
    schema = adapter(resource).json_schema(mode="validation")
    return dict(_properties(schema, schema.get("$defs", {}), ""))


def read_only_members(resource: str) -> set[str]:
    """Return the names of the resource's read-only members."""
    schema = adapter(resource).json_schema()
    properties = _resolved(schema, schema.get("$defs", {}))["properties"]
    return {name for name, declared in properties.items() if declared.get("readOnly")}


def secret_members(resource: str) -> set[str]:
    """Return the path of every member that the resource's model marks as secret."""
    schema = adapter(resource).json_schema()
    return set(_secrets(schema, schema.get("$defs", {}), ""))


def _secrets(schema: dict[str, Any], defs: dict[str, Any], below: str) -> Iterator[str]:
    for name, declared in _resolved(schema, defs).get("properties", {}).items():
        if declared.get("x-secret"):
            yield below + name
        type_, _, item = _described(declared, defs)
        yield from _secrets(item, defs, below + name + "[]" * type_.count("[]") + ".")


def _properties(schema: dict[str, Any], defs: dict[str, Any], below: str) -> Iterator[tuple[str, Shape]]:
    for name, declared in _resolved(schema, defs).get("properties", {}).items():
        path = below + name
        type_, values, item = _described(declared, defs)
        yield path, Shape(type_, values)
        yield from _properties(item, defs, path + "[]" * type_.count("[]") + ".")


def _described(schema: dict[str, Any], defs: dict[str, Any]) -> tuple[str, frozenset[str] | None, dict[str, Any]]:
    """Return a schema's JSON type, the values of a closed enum, and the schema of its array items."""
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
    """Return a schema's alternatives except null, with references resolved."""
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


@cache
def adapter(resource: str) -> TypeAdapter[Any]:
    """Return the adapter that parses and serialises a model or a typed dictionary."""
    return TypeAdapter(MODELS[resource])


def validate(resource: str, text: str) -> Any:
    """Parse JSON as the service does."""
    return adapter(resource).validate_json(text)


def converted(resource: str, record: Any) -> Any:
    """Parse a record and serialise it again in its stored form."""
    return adapter(resource).dump_python(validate(resource, json.dumps(record)), exclude_unset=True)


def is_refused(resource: str, text: str) -> bool:
    """Return whether the resource's model rejects this JSON."""
    try:
        validate(resource, text)
    except ValidationError:
        return True
    return False
