"""Component schemas from the wire models: JSON Schema 2020-12 as pydantic makes it, for both directions.

One model says what a request may carry, where `null` clears, and what an answer shows, where nothing is
null: what was cleared is not there. So a closed object that goes both ways becomes two components, `Tool`
in answers and `ToolInput` in requests. Open objects are kept as they came and are one and the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from chalicelib.openapi import members
from chalicelib.openapi.text import without_sections

Schema = dict[str, Any]

_PLACE = "#/components/schemas/"


class Schemas(NamedTuple):
    """The components by name, and the schema of each body and each answer by the key it was asked under."""

    components: dict[str, Schema]
    bodies: dict[str, Schema]
    answers: dict[str, Schema]


def reference(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": _PLACE + name}


def references(node: Any) -> Iterator[str]:
    """Every `$ref` below a node of the document."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        node = list(node.values())
    if isinstance(node, list):
        for one in node:
            yield from references(one)


def build(bodies: Mapping[str, Any], answers: Mapping[str, Any]) -> Schemas:
    """The schemas of these types."""
    wanted = [(("body", key), "validation", TypeAdapter(kind)) for key, kind in bodies.items()]
    wanted += [(("answer", key), "validation", TypeAdapter(kind)) for key, kind in answers.items()]
    made, whole = TypeAdapter.json_schemas(wanted, ref_template=_PLACE + "{model}", schema_generator=_Generator)  # type: ignore[arg-type]
    definitions = {name: _described(name, definition) for name, definition in whole.get("$defs", {}).items()}
    given = {key: made[("body", key), "validation"] for key in bodies}
    shown = {key: made[("answer", key), "validation"] for key in answers}
    in_bodies, in_answers = _reached(given.values(), definitions), _reached(shown.values(), definitions)
    twofold = {name for name in in_bodies & in_answers if _is_closed(definitions[name])}

    def as_input(schema: Any) -> Any:
        return _renamed(schema, lambda name: f"{name}Input" if name in twofold else name)

    components = {name: _answered(name, definitions[name]) for name in in_answers}
    for name in in_bodies - (in_answers - twofold):
        components[f"{name}Input" if name in twofold else name] = as_input(definitions[name])
    return Schemas(
        dict(sorted(components.items())), {key: as_input(schema) for key, schema in given.items()}, dict(shown)
    )


class _Generator(GenerateJsonSchema):
    """pydantic's generator without what says nothing (titles) or what is wrong here (defaults)."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        # The default of nearly every member is None and stands for "absent", which is not `null`.
        return self.generate_inner(schema["schema"])

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        # `"type": ["string", "null"]` says the same as pydantic's `anyOf`, and readers show it in one line.
        inner = self.generate_inner(schema["schema"])
        if not isinstance(inner.get("type"), str):
            return {"anyOf": [inner, {"type": "null"}]}
        choices = {"enum": [*inner["enum"], None]} if "enum" in inner else {}
        return {**inner, **choices, "type": [inner["type"], "null"]}


def _described(name: str, definition: Schema) -> Schema:
    """A component with what `members` knows, and with words for readers who do not have our code."""
    described = {key: value for key, value in definition.items() if key not in ("title", "description")}
    if described.get("additionalProperties") == {}:
        described["additionalProperties"] = True  # the same, as it is usually written
    if words := without_sections(definition.get("description", "")):
        described["description"] = words
    if notes := members.NOTES.get(name):
        properties = described["properties"]
        noted = {member: _noted(properties[member], note) for member, note in notes.items()}
        described["properties"] = {**properties, **noted}
    return described


def _noted(schema: Schema, note: Schema) -> Schema:
    """The schema of a member with a note on it; the known values of a list are those of its items."""
    if "examples" not in note or "items" not in schema:
        return {**schema, **note}
    rest = {key: value for key, value in note.items() if key != "examples"}
    return {**schema, **rest, "items": {**schema["items"], "examples": note["examples"]}}


def _answered(name: str, definition: Schema) -> Schema:
    if not _is_closed(definition):
        return definition
    nullable = members.NULL_IN_ANSWERS.get(name, ())
    shown = {
        member: schema if member in nullable else _without_null(schema)
        for member, schema in definition["properties"].items()
    }
    return {**definition, "properties": shown}


def _without_null(schema: Schema) -> Schema:
    if isinstance(schema.get("type"), list):
        (kind,) = (one for one in schema["type"] if one != "null")
        choices = {"enum": [value for value in schema["enum"] if value is not None]} if "enum" in schema else {}
        return {**schema, **choices, "type": kind}
    if {"type": "null"} in schema.get("anyOf", ()):
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        (kind,) = (one for one in schema["anyOf"] if one != {"type": "null"})
        return {**kind, **rest}
    return schema


def _is_closed(definition: Schema) -> bool:
    return definition.get("additionalProperties") is False


def _reached(schemas: Iterable[Schema], definitions: Mapping[str, Schema]) -> set[str]:
    """The names of all components that these schemas lead to."""
    found: set[str] = set()
    waiting = [name for schema in schemas for name in _names(schema)]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_names(definitions[name]))
    return found


def _names(schema: Schema) -> Iterator[str]:
    return (reference.removeprefix(_PLACE) for reference in references(schema))


def _renamed(node: Any, new_name: Callable[[str], str]) -> Any:
    if isinstance(node, dict):
        return {
            key: _PLACE + new_name(value.removeprefix(_PLACE)) if key == "$ref" else _renamed(value, new_name)
            for key, value in node.items()
        }
    return [_renamed(one, new_name) for one in node] if isinstance(node, list) else node
