"""Component schemas in JSON Schema 2020-12, which pydantic generates from the wire models.

In requests, most members are optional, and `null` clears them. In responses, members that are always present are
required, and others are absent instead of null. If a model has both forms, `<name>Input` is the form in requests.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

from chalicelib import extensions
from chalicelib.http.wire import PRESENT_MARK
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
    by_key: dict[tuple[str, str], Schema]


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


def build(types: Mapping[tuple[str, str], Any]) -> Schemas:
    """Return these types' schemas. A key contains a view's name and a place: `body` or `response`."""
    modes = {key: _mode(key[1], kind) for key, kind in types.items()}
    adapters = [(key, modes[key], TypeAdapter(kind)) for key, kind in types.items()]
    schemas, shared = TypeAdapter.json_schemas(adapters, ref_template=_PREFIX + "{model}", schema_generator=_Generator)
    definitions = _renamed(shared.get("$defs", {}))
    components = {name: _describe(name, definitions[name]) for name in sorted(definitions)}
    return Schemas(components, {key: _renamed(schemas[key, modes[key]]) for key in types})


def _mode(place: str, kind: Any) -> JsonSchemaMode:
    """Return pydantic's mode for a type, such as `list[models.Tool]`."""
    (model,) = get_args(kind) or (kind,)
    return "validation" if place == "body" or getattr(model, "has_one_form", False) else "serialization"


def _renamed(schemas: Schema) -> Schema:
    """Replace pydantic's names for the two forms of a model, such as `Tool-Input` and `Tool-Output`."""
    renamed: Schema = json.loads(json.dumps(schemas).replace('-Input"', 'Input"').replace('-Output"', '"'))
    return renamed


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

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        is_of_response = self.mode == "serialization" and not schema["cls"].has_one_form
        return _form(super().model_schema(schema), is_of_response=is_of_response)

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return _form(super().typed_dict_schema(schema), is_of_response=self.mode == "serialization")

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        # This is equivalent to pydantic's `anyOf`, but viewers display `"type": ["string", "null"]` on one line.
        inner = self.generate_inner(schema["schema"])
        if not isinstance(inner.get("type"), str):
            return {"anyOf": [inner, {"type": "null"}]}
        return {**inner, "type": [inner["type"], "null"]}


def _form(schema: Schema, *, is_of_response: bool) -> Schema:
    """Return an object's schema in requests, or in responses, which omit members without a value."""
    properties = {name: {**member} for name, member in schema.get("properties", {}).items()}
    present = [name for name, member in properties.items() if member.pop(PRESENT_MARK, False)]
    if not is_of_response or not properties:
        return {**schema, "properties": properties} if properties else schema
    required = schema.get("required", ())
    properties = {name: one if name in required else _without_null(one) for name, one in properties.items()}
    return {**schema, "properties": properties, "required": [*required, *present]}


def _without_null(schema: Schema) -> Schema:
    """Return the schema of a type without null, which `nullable_schema` added."""
    if isinstance(schema.get("type"), list):
        return {**schema, "type": schema["type"][0]}
    return {**schema.get("anyOf", ({},))[0], **{key: value for key, value in schema.items() if key != "anyOf"}}


def _describe(name: str, definition: Schema) -> Schema:
    """Return a definition with its public description and the notes on its members."""
    schema = {key: value for key, value in definition.items() if key not in ("title", "description")}
    if schema.get("additionalProperties") == {}:
        schema["additionalProperties"] = True  # this is equivalent, and the usual form
    if description := without_sections(definition.get("description", "")):
        schema["description"] = description
    if "properties" in schema:
        notes, properties = notes_of(name.removesuffix("Input")), schema["properties"]
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
