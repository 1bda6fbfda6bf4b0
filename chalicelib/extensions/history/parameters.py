"""The OpenAPI parameters of the history's operations."""

from chalicelib.extensions.history.browse import RESOURCES
from chalicelib.http import parameters
from chalicelib.ids import IDENTIFIER
from chalicelib.openapi.schemas import Schema

SCHEMAS: dict[str, Schema] = {}
PATH: dict[str, Schema] = {"number": {"description": "The `number` of the version."}}
QUERY: dict[str, Schema] = {
    "historyBy": {
        "name": "by",
        "description": "Only changes by the credential with this name, id or kind.",
        "schema": {"type": "string", "minLength": 1, "maxLength": parameters.MAX_TEXT},
    },
    "resource": {
        "description": "Only changes of this record, such as `agents/support`: "
        + ", ".join(f"`{resource}`" for resource in RESOURCES)
        + ".",
        "schema": {"type": "string", "pattern": f"^({'|'.join(RESOURCES)})/{IDENTIFIER.pattern}$"},
    },
}
