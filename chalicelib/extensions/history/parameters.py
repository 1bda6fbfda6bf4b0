"""The history operations' OpenAPI parameters."""

from chalicelib.extensions.history.browse import RESOURCES
from chalicelib.http import parameters
from chalicelib.ids import IDENTIFIER
from chalicelib.openapi.schemas import Schema

SCHEMAS: dict[str, Schema] = {}
PATH: dict[str, Schema] = {"number": {"description": "The `number` of the version."}}
QUERY: dict[str, Schema] = {
    "historyBy": {
        "name": "by",
        "description": "Return only changes made with the credential that has this name, id or kind.",
        "schema": {"type": "string", "minLength": 1, "maxLength": parameters.MAX_TEXT},
    },
    "keep": {
        "description": "A member that keeps its current value. Repeat the parameter for each member.",
        "schema": {
            "type": "array",
            "minItems": 1,
            "maxItems": parameters.MAX_PAGE_SIZE,
            "items": {"type": "string", "minLength": 1, "maxLength": parameters.MAX_TEXT},
        },
    },
    "resource": {
        "description": "Return only changes to this record, such as `agents/support`: "
        + ", ".join(f"`{resource}`" for resource in RESOURCES)
        + ".",
        "schema": {"type": "string", "pattern": f"^({'|'.join(RESOURCES)})/{IDENTIFIER.pattern}$"},
    },
}
