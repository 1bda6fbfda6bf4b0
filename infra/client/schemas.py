"""The OpenAPI document's schemas as Python names and annotations."""

import keyword
import re
from typing import Any

Schema = dict[str, Any]

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_OBJECT = "dict[str, Any]"
# Abbreviations that the general rule would split in a wrong place.
_ABBREVIATIONS = {"IDs": "Ids", "LLm": "Llm", "UIhand": "UiHand"}
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Ends the name of a model's form in requests, if it differs from the form in responses.
INPUT = "Input"
# Names of classes for schemas that the API's two versions tell apart.
_CLASSES = {"AgentV3": "Agent", "ConvoMetaV3": "Conversation"}


def snake_case(name: str) -> str:
    """Return a member's name in Python: `widgetIDs` becomes `widget_ids`, and `from` becomes `from_`."""
    for abbreviation, word in _ABBREVIATIONS.items():
        name = name.replace(abbreviation, word)
    name = _WORD.sub("_", name).lower().replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def class_name(reference: str) -> str:
    """Return the class for a schema's name or reference. Both forms of a model have the same class."""
    name = reference.rsplit("/", 1)[-1].removesuffix(INPUT)
    return _CLASSES.get(name, name)


class Types:
    """Annotations for schemas. A `prefix` precedes the names of classes and enumerations."""

    def __init__(self, document: Schema) -> None:
        """Read the schemas of this OpenAPI document."""
        self.schemas: dict[str, Schema] = document["components"]["schemas"]

    def resolve(self, schema: Schema) -> Schema:
        """Return the schema to which a reference points."""
        return self.schemas[schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema

    def annotation(self, schema: Schema, prefix: str = "") -> str:
        """Return the type of a value in Python."""
        if "$ref" in schema:
            return self._of_reference(schema["$ref"], prefix)
        if "anyOf" in schema:
            return " | ".join(dict.fromkeys(self.annotation(option, prefix) for option in schema["anyOf"]))
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        kinds = schema.get("type", [])
        names = [self._of_type(kind, schema, prefix) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
        return " | ".join(names) or "Any"

    def record(self, schema: Schema) -> str:
        """Return the name of the class for the objects in a value, or an empty string."""
        if "$ref" in schema:
            return class_name(schema["$ref"]) if self.is_record(self.resolve(schema)) else ""
        options = [*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())]
        return next(filter(None, map(self.record, options)), "")

    @staticmethod
    def is_record(schema: Schema) -> bool:
        """Return whether the schema is an object with declared members."""
        return "properties" in schema

    def members(self, schema: Schema) -> dict[str, str]:
        """Return the names in Python and in the API. If `ID` and `id` are equal in Python, the latter wins."""
        names: dict[str, str] = {}
        for name in schema["properties"]:
            if names.get(snake_case(name)) != snake_case(name):
                names[snake_case(name)] = name
        return names

    def _of_reference(self, reference: str, prefix: str) -> str:
        schema = self.resolve({"$ref": reference})
        if self.is_record(schema) or "enum" in schema:
            return prefix + class_name(reference)
        return self.annotation(schema, prefix)

    def _of_type(self, kind: str, schema: Schema, prefix: str) -> str:
        if kind == "array":
            return f"list[{self.annotation(schema['items'], prefix)}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {self.annotation(values, prefix)}]" if isinstance(values, dict) else _OBJECT
        return _SCALARS[kind]
