"""The transcript operations' OpenAPI parameters."""

from chalicelib.extensions.transcripts import export
from chalicelib.http import parameters
from chalicelib.ids import IDENTIFIER
from chalicelib.openapi.schemas import Schema, reference

SCHEMAS: dict[str, Schema] = {
    "ConversationOrder": {
        "description": "The sort order of conversations, by creation.",
        "type": "string",
        "enum": [*export.ORDERS],
    },
    "TranscriptFormat": {
        "description": "The format of exported conversations.",
        "type": "string",
        "enum": [*export.FORMATS],
    },
}
PATH: dict[str, Schema] = {}
_SECONDS: Schema = {"type": "integer", "format": "int64", "minimum": 0, "maximum": 99_999_999_999}
QUERY: dict[str, Schema] = {
    "convoIds": {
        "description": "Return only the conversations with these ids. Repeat the parameter for each id.",
        "schema": {
            "type": "array",
            "minItems": 1,
            "maxItems": parameters.MAX_PAGE_SIZE,
            "items": reference("Identifier"),
        },
    },
    "requiredQ": {
        "name": "q",
        "required": True,
        "description": "The text to search for, ignoring case.",
        "example": "1010",
        "schema": {"type": "string", "minLength": 1, "maxLength": parameters.MAX_TEXT},
    },
    "sortedCursor": {
        "name": "cursor",
        "description": "The `nextCursor` of an earlier response with the same `sort`. The list continues after it.",
        "schema": {"type": "string", "pattern": f"^({IDENTIFIER.pattern})?$"},
    },
    "fromTs": {"description": "Return only conversations created at or after this Unix time.", "schema": _SECONDS},
    "toTs": {"description": "Return only conversations created before this Unix time.", "schema": _SECONDS},
    "transcriptsFormat": {
        "name": "format",
        "description": "`json` (the default), or `csv` for spreadsheets.",
        "schema": reference("TranscriptFormat"),
    },
    "transcriptsSort": {
        "name": "sort",
        "description": "The order of the conversations, by default `newest` first.",
        "schema": reference("ConversationOrder"),
    },
}
