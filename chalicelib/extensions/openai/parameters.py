"""The OpenAI operations' OpenAPI parameters, and the schema of OpenAI's errors."""

from chalicelib.openapi.schemas import Schema

SCHEMAS, PATH = dict[str, Schema](), dict[str, Schema]()
_ID: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
QUERY: dict[str, Schema] = {
    "openaiAfter": {"name": "after", "description": "The list continues after the entry with this id.", "schema": _ID},
    "openaiInclude": {"name": "include[]", "description": "Ignored: items are complete.", "schema": {"type": "string"}},
}
_MEMBERS = {name: {"type": ["string", "null"]} for name in ("message", "type", "param", "code")}
_RULES = {"type": "object", "properties": _MEMBERS, "required": [*_MEMBERS], "additionalProperties": False}
ERROR = {"error": {"description": "The same error in OpenAI's format. Only these operations return it.", **_RULES}}
"""The schemas of additional members of error bodies, by name."""
