"""Component schemas in JSON Schema 2020-12, which pydantic generates from the wire models.

A record has one component for both requests and responses, so that a client can send back a record unchanged. In
requests, `null` clears a member. Responses omit cleared members.
"""

import json
import re
from collections.abc import Hashable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from chalicelib import extensions
from chalicelib.openapi.text import without_sections

Schema = dict[str, Any]

_PREFIX = "#/components/schemas/"


def _read(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return read


# Parts of the document that cannot be derived from the code: error schemas and response headers.
COMPONENTS = _read(Path(__file__).with_name("components.json"))
_HIDDEN = "Hidden from access tokens with scopes."
# Text members with a matching name contain a time in ISO 8601.
_MOMENT = re.compile(r"at|\w+(At|Until)")


class Schemas(NamedTuple):
    """The components by name, and each type's schema by the key passed to `build`."""

    components: dict[str, Schema]
    by_key: dict[Hashable, Schema]


def reference(name: str) -> Schema:
    """Return a reference to a component."""
    return {"$ref": _PREFIX + name}


def references(node: Any) -> Iterator[str]:
    """Yield all `$ref` values in part of the document."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        node = list(node.values())
    if isinstance(node, list):
        for element in node:
            yield from references(element)


def build(types: Mapping[Hashable, Any]) -> Schemas:
    """Return these types' schemas."""
    adapters = [(key, "validation", TypeAdapter(kind)) for key, kind in types.items()]
    schemas, shared = TypeAdapter.json_schemas(adapters, ref_template=_PREFIX + "{model}", schema_generator=_Generator)  # type: ignore[arg-type]
    definitions = shared.get("$defs", {})
    components = {name: _describe(name, definitions[name]) for name in sorted(definitions)}
    return Schemas(components, {key: schemas[key, "validation"] for key in types})


def inline(kind: Any) -> Schema:
    """Return a type's inline schema. Its members may refer to components."""
    schema = TypeAdapter(kind).json_schema(ref_template=_PREFIX + "{model}", schema_generator=_Generator)
    return {key: value for key, value in schema.items() if key not in ("$defs", "title")}


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, without titles, which carry no information, and without defaults, which would be wrong."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        # The default None means "absent" in our models, not `null`.
        return self.generate_inner(schema["schema"])

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        # Milliseconds need 64 bits, but some client generators use 32 bits by default.
        return {**super().int_schema(schema), "format": "int64"}

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        # This is equivalent to pydantic's `anyOf`, but viewers display `"type": ["string", "null"]` on one line.
        inner = self.generate_inner(schema["schema"])
        if not isinstance(inner.get("type"), str):
            return {"anyOf": [inner, {"type": "null"}]}
        return {**inner, "type": [inner["type"], "null"]}


def _describe(name: str, definition: Schema) -> Schema:
    """Return a definition with its public description and the notes on its members."""
    schema = {key: value for key, value in definition.items() if key not in ("title", "description")}
    if schema.get("additionalProperties") == {}:
        schema["additionalProperties"] = True  # this is equivalent, and the usual form
    if description := without_sections(definition.get("description", "")):
        schema["description"] = description
    if "properties" in schema:
        notes, properties = notes_of(name), schema["properties"]
        schema["properties"] = {
            member: _annotate(member, inner, notes.get(member, {})) for member, inner in properties.items()
        }
    return schema


def _annotate(member: str, schema: Schema, note: Schema) -> Schema:
    """Return a member's schema with its note. For a list, the known values describe the items."""
    if "items" in schema and "examples" in note:
        schema = {**schema, "items": {**schema["items"], "examples": note["examples"]}}
        note = {key: value for key, value in note.items() if key != "examples"}
    schema = {**schema, **note}
    if _MOMENT.fullmatch(member) and "string" in schema.get("type", ()):
        schema["format"] = "date-time"
    if schema.get("x-secret"):
        schema["description"] = f"{schema.get('description', '')} {_HIDDEN}".strip()
    return schema


@cache
def notes() -> dict[str, dict[str, Any]]:
    """Return the notes by model and member: rules that the wire models' types cannot express.

    `members.json` in this folder and in the extension folders contains the notes.

    A note is a description, the known values of an open enumeration (section 2 of the specification), or part of the
    schema. A model that sets `like` also gets the notes of the model that `like` names.
    """
    files = (Path(__file__).with_name("members.json"), *extensions.files("members.json"))
    return {model: members for file in files for model, members in _read(file).items()}


def notes_of(model: str) -> dict[str, Schema]:
    """Return a model's notes as partial schemas, by member."""
    own = dict(notes().get(model, {}))
    inherited = notes_of(own.pop("like")) if "like" in own else {}
    return {**inherited, **{member: _part(note) for member, note in own.items()}}


def _part(note: Any) -> Schema:
    if isinstance(note, str):
        return {"description": note}
    if "known" not in note:
        return dict(note)
    values = ", ".join(f"`{value}`" for value in note["known"])
    return {"description": f"Known values: {values}. Any other string is accepted.", "examples": note["known"]}
