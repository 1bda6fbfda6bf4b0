"""The erasure operations' OpenAPI parameters."""

from chalicelib.openapi.schemas import Schema

PATH: dict[str, Schema] = {"erasure_id": {"description": "The erasure id."}}
QUERY: dict[str, Schema] = {}
SCHEMAS: dict[str, Schema] = {}
