"""The pull endpoint operations' OpenAPI parameters."""

from chalicelib.extensions.feeds.feed import POSITION
from chalicelib.openapi.schemas import Schema

SCHEMAS: dict[str, Schema] = {}
PATH: dict[str, Schema] = {}
QUERY: dict[str, Schema] = {
    "feedsAfter": {
        "name": "after",
        "description": "Return only events after this position, the `after` of an earlier response or event.",
        "schema": {"type": "string", "pattern": f"^({POSITION.pattern})?$"},
    },
}
