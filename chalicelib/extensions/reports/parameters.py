"""The report operations' OpenAPI parameters."""

from chalicelib.extensions.reports import hours, series
from chalicelib.openapi.schemas import Schema, reference

SCHEMAS: dict[str, Schema] = {
    name: {"description": about, "type": "string", "enum": list(values)}
    for name, about, values in (
        ("Dimension", "The dimension by which a report groups its counts.", hours.DIMENSIONS),
        ("Interval", "The interval length.", series.INTERVALS),
    )
}
PATH: dict[str, Schema] = {}
QUERY: dict[str, Schema] = {
    "by": {
        "description": "Add `groups`, which contains the same counts for each value of this dimension.",
        "schema": reference("Dimension"),
    },
    "interval": {
        "description": "The interval length of the series; `day` by default.",
        "schema": reference("Interval"),
    },
    "tz": {
        "description": "The time zone for day and month boundaries, as a name from the IANA database.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 64, "default": "UTC"},
    },
}
