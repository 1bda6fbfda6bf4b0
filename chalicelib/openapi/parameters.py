"""Path and query parameters of the document, with the rules that `http` holds them against."""

import re
from collections.abc import Iterable
from typing import Any

from chalicelib import http
from chalicelib.openapi.examples import shared
from chalicelib.openapi.schemas import Schema, reference
from chalicelib.webhooks import ledger

SCHEMAS: dict[str, Schema] = {
    "Identifier": {
        "description": "1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : + = , | -",
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "pattern": f"^{http.IDENTIFIER.pattern}$",
    }
}

# What a path parameter names, and an example.
_PATH: dict[str, tuple[str, str]] = {
    "agent_id": ("The agent.", shared.AGENT),
    "asset": ("The name of a file of the page.", "swagger_bundle.js"),
    "client_id": ("The client.", shared.CLIENT),
    "convo_id": ("The conversation.", shared.VISITOR),
    "delivery_id": ("The delivery.", shared.DELIVERY_ID),
    "lead_id": ("The lead.", shared.LEAD_ID),
    "org_id": ("The organisation.", shared.ORGANISATION),
    "token_id": ("The access token: its `id`, not the token itself.", shared.TOKEN_ID),
    "tool_id": ("The tool.", shared.TOOL_ID),
    "user_id": ("The conversation; its id may be that of the user.", shared.VISITOR),
    "webhook_id": ("The endpoint.", shared.WEBHOOK_ID),
}

_QUERY: dict[str, Schema] = {
    "cursor": {
        "description": "The `nextCursor` of an earlier answer: the list goes on behind it.",
        "schema": {"type": "string"},
    },
    "limit": {
        "description": "How many at most.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
    },
    "page": {
        "description": "The page, from 1. Beyond the last one the list is empty.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999, "default": 1},
    },
    "status": {
        "description": "Only those of this status.",
        "schema": {"type": "string", "enum": list(ledger.STATUSES)},
    },
}


def of(path: str, query: tuple[str, ...]) -> dict[str, Any]:
    """The parameters of an operation; nothing where there are none."""
    references = [{"$ref": f"#/components/parameters/{name}"} for name in (*_names(path), *query)]
    return {"parameters": references} if references else {}


def components(paths: Iterable[str]) -> dict[str, Schema]:
    """The components that the references lead to."""
    in_path = sorted({name for path in paths for name in _names(path)})
    in_query = {name: {"name": name, "in": "query", **_QUERY[name]} for name in sorted(_QUERY)}
    return {**{name: _path_parameter(name) for name in in_path}, **in_query}


def _path_parameter(name: str) -> Schema:
    words, example = _PATH.get(name, ("", None))
    described = {"description": words, "example": example} if example else {}
    return {"name": name, "in": "path", "required": True, **described, "schema": reference("Identifier")}


def _names(path: str) -> list[str]:
    return re.findall(r"{(\w+)}", path)
