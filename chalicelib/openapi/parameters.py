"""Path, query and header parameters of the document, with the rules that `http` holds them against."""

import re
from collections.abc import Iterable
from typing import Any

from chalicelib.http import etag, idempotency
from chalicelib.ids import IDENTIFIER
from chalicelib.openapi.examples import shared
from chalicelib.openapi.schemas import Schema, reference
from chalicelib.webhooks import ledger

SCHEMAS: dict[str, Schema] = {
    "Identifier": {
        "description": "1 to 128 of the characters A-Z a-z 0-9 . _ ~ @ : + = , | -",
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "pattern": f"^{IDENTIFIER.pattern}$",
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

_HEADERS: dict[str, Schema] = {
    etag.IF_MATCH: {
        "description": "Save only over the record that has one of these tags, or over any with `*`; 412 otherwise.",
        "schema": {"type": "string"},
        "example": shared.ETAG,
    },
    etag.IF_NONE_MATCH: {
        "description": "A read is answered with 304 where the record has one of these tags; a save with 412, and with "
        "`*` where there is a record at all.",
        "schema": {"type": "string"},
        "example": shared.ETAG,
    },
    idempotency.HEADER: {
        "description": "A key of the caller's for this one request. Sent again with the same key, it has its effect "
        "once, and for 24 hours the same answer; another request with the key is 409.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": f"^{idempotency.KEY.pattern}$"},
        "example": shared.IDEMPOTENCY_KEY,
    },
}

# Of every answer to a request that was sent again with its key.
REPLAYED: Schema = {
    idempotency.REPLAYED: {
        "description": "`true` where this is the answer to an earlier request with the same key.",
        "schema": {"type": "string", "const": "true"},
    }
}

# Of every answer with one record, and of the 304 that stands for one.
ETAG: Schema = {
    "ETag": {
        "description": "The mark of the record's last save, in quotes; left out where nothing is saved yet.",
        "schema": {"type": "string"},
        "example": shared.ETAG,
    }
}


def references(path: str, query: tuple[str, ...], headers: tuple[str, ...]) -> dict[str, Any]:
    """The parameters of an operation; nothing where there are none."""
    references = [{"$ref": f"#/components/parameters/{name}"} for name in (*_names(path), *query, *headers)]
    return {"parameters": references} if references else {}


def components(paths: Iterable[str]) -> dict[str, Schema]:
    """The components that the references lead to."""
    in_path = sorted({name for path in paths for name in _names(path)})
    in_query = {name: {"name": name, "in": "query", **_QUERY[name]} for name in sorted(_QUERY)}
    in_header = {name: {"name": name, "in": "header", **described} for name, described in _HEADERS.items()}
    return {**{name: _path_parameter(name) for name in in_path}, **in_query, **in_header}


def _path_parameter(name: str) -> Schema:
    words, example = _PATH.get(name, ("", None))
    described = {"description": words, "example": example} if example else {}
    return {"name": name, "in": "path", "required": True, **described, "schema": reference("Identifier")}


def _names(path: str) -> list[str]:
    return re.findall(r"{(\w+)}", path)
