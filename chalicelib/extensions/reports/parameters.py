"""The OpenAPI parameters of the reports' operations."""

from chalicelib.extensions.reports import hours, series
from chalicelib.openapi.schemas import Schema, reference

SCHEMAS: dict[str, Schema] = {
    name: {"description": about, "type": "string", "enum": list(values)}
    for name, about, values in (
        ("Dimension", "A dimension that groups the counts of a report.", hours.DIMENSIONS),
        ("Interval", "The length of an interval.", series.INTERVALS),
    )
}
PATH: dict[str, Schema] = {}
QUERY: dict[str, Schema] = {
    "by": {
        "description": "Adds `groups`: the same counts for each value of this dimension.",
        "schema": reference("Dimension"),
    },
    "interval": {
        "description": "The length of the intervals of the series; `day` by default.",
        "schema": reference("Interval"),
    },
    "tz": {
        "description": "The time zone in which days and months begin, by its name in the IANA database.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 64, "default": "UTC"},
    },
}
