"""The OpenAPI parameters of the operations on analytics records."""

from chalicelib.openapi.schemas import Schema

_NOW = 1_793_611_800  # the time in all examples, in Unix seconds
_SECONDS: Schema = {"type": "integer", "format": "int64", "minimum": 0, "maximum": 99_999_999_999}
_SINCE: Schema = {"description": "Return only records last written at or after this Unix time.", "schema": _SECONDS}
_UNTIL: Schema = {"description": "Return only records last written before this Unix time.", "schema": _SECONDS}

SCHEMAS: dict[str, Schema] = {}
PATH: dict[str, Schema] = {}
QUERY: dict[str, Schema] = {
    "start_ts": _SINCE,
    "stop_ts": _UNTIL,
    "requiredFrom": {"name": "from", "required": True, "example": _NOW - 86_400, **_SINCE},
    "requiredStart_ts": {"name": "start_ts", "required": True, "example": _NOW - 86_400, **_SINCE},
    "requiredStop_ts": {"name": "stop_ts", "required": True, "example": _NOW, **_UNTIL},
    "requiredTo": {"name": "to", "required": True, "example": _NOW, **_UNTIL},
}
