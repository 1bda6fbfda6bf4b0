"""The document's path, query and header parameters, with the rules that `http` enforces."""

import re
from collections.abc import Iterable
from typing import Any

from chalicelib import extensions
from chalicelib.agents import listing as agents
from chalicelib.conversations import filters, message_list_routes, transcript
from chalicelib.http import etag, files, idempotency, parameters
from chalicelib.ids import IDENTIFIER, IDENTIFIER_RULE, ULID
from chalicelib.openapi.schemas import Schema, reference

SCHEMAS: dict[str, Schema] = {
    "Identifier": {
        "description": f"{IDENTIFIER_RULE}; not `.` or `..`",
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "pattern": rf"^(?!\.\.?$){IDENTIFIER.pattern}$",
    },
    **{
        name: {"description": about, "type": "string", "enum": list(values)}
        for name, about, values in (
            ("AgentOrder", "The sort order of agents.", agents.ORDERS),
            ("ExportFormat", "The file format.", files.MEDIA),
            (
                "MessageOrder",
                "`desc` lists the newest message first, and `asc` the oldest.",
                message_list_routes.ORDERS,
            ),
        )
    },
}

# Ids that callers choose have an example. Generated ids have none, because viewers would send an example id whose
# record does not exist.
_PATH: dict[str, Schema] = {
    "agent_id": {"description": "The agent id.", "example": "support"},
    "client_id": {"description": "The client id.", "example": "client-1"},
    "convo_id": {"description": "The conversation id.", "example": "visitor-1"},
    "delivery_id": {"description": "The delivery id."},
    "lead_id": {"description": "The lead id."},
    "message_id": {"description": "The message's `mid`.", "example": "m-4"},
    "org_id": {"description": "The organisation id.", "example": "org-1"},
    "token_id": {"description": "The access token's `id`, not the token itself."},
    "tool_id": {"description": "The tool id."},
    "user_id": {"description": "The conversation id, which may be the user's id.", "example": "visitor-1"},
    "webhook_id": {"description": "The webhook endpoint id."},
}

_TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": parameters.MAX_TEXT}
_OPTIONAL_TEXT: Schema = {"type": "string", "maxLength": parameters.MAX_TEXT}
_FLAG: Schema = {"type": "boolean"}
_SECONDS: Schema = {"type": "integer", "format": "int64", "minimum": 0, "maximum": 99_999_999_999}

# The component for the query parameter `cursor`, by the form that an operation declares.
CURSORS = {IDENTIFIER: "cursor", ULID: "ulidCursor", transcript.POSITION: "messageCursor"}


def _cursor(position: re.Pattern[str]) -> Schema:
    return {
        "name": "cursor",
        "description": "The `nextCursor` of an earlier response. The list continues after it.",
        "schema": {"type": "string", "pattern": f"^({position.pattern})?$"},
    }


def _bounded(default: int) -> Schema:
    return {
        "description": f"The maximum number of records. Larger values mean {parameters.MAX_PAGE_SIZE}.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999, "default": default},
    }


# Query parameters by component name, which is the parameter's name unless `name` is set. If core and an extension have
# a parameter with the same name, the extension's component is `<extension><Name>`, such as `historyBy`.
QUERY: dict[str, Schema] = {
    "activeSince": {"description": "Return only records changed at or after this Unix time.", "schema": _SECONDS},
    "after": {
        "description": "Return only messages after this position, the `after` of an earlier response. If the position "
        "is empty or no longer valid, return the newest 50 messages, with `reset`.",
        "schema": {"type": "string", "pattern": f"^{message_list_routes.AFTER.pattern}$"},
    },
    "agentId": {"description": "Return only this agent's records.", "schema": _TEXT},
    "assignedTo": {"description": "Return only conversations with this client as `chatAssignedTo`.", "schema": _TEXT},
    "boundedLimit": {"name": "limit", **_bounded(parameters.PAGE_SIZE)},
    "cursor": _cursor(IDENTIFIER),
    "deployed": {"description": "`true` returns only deployed records, `false` only the others.", "schema": _FLAG},
    "from": {"description": "Return only records created at or after this Unix time.", "schema": _SECONDS},
    "inbox": {
        "description": "`true` returns only conversations that are waiting for a person, sorted by latest activity.",
        "schema": _FLAG,
    },
    "label": {
        "description": "Return only conversations with this label, `name:value`.",
        "schema": {"type": "string", "minLength": 1, "maxLength": filters.MAX_LABEL, "pattern": ":"},
    },
    "limit": {
        "description": "The maximum number of records.",
        "schema": {
            "type": "integer",
            "minimum": 1,
            "maximum": parameters.MAX_PAGE_SIZE,
            "default": parameters.PAGE_SIZE,
        },
    },
    "messageCursor": _cursor(transcript.POSITION),
    "messageLimit": {
        "name": "limit",
        "description": f"The maximum number of messages. Larger values mean {parameters.MAX_PAGE_SIZE}. By default, a "
        f"page has {parameters.PAGE_SIZE} messages, or with `order=asc`, as many as fit in a response.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999},
    },
    "order": {"description": "The order of the messages, by default `desc`.", "schema": reference("MessageOrder")},
    "orgId": {"description": "Return only this organisation's records.", "schema": _TEXT},
    "page": {
        "description": "The page number, starting at 1. Pages after the last page are empty, or if a cursor continues "
        "the list, invalid.",
        "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999, "default": 1},
    },
    "firstPage": {
        "name": "page",
        "description": "Always 1, because `cursor` continues the list.",
        "schema": {"type": "integer", "const": 1},
    },
    "pageSize": _bounded(parameters.PAGE_SIZE),
    "origin": {"description": "Return only records with this origin.", "schema": _TEXT},
    "q": {"description": "Return only records with this text in a searched member, ignoring case.", "schema": _TEXT},
    "search": {
        "description": "Return only agents with this text in a searched member, ignoring case.",
        "schema": _OPTIONAL_TEXT,
    },
    "searchTerm": {"description": "Return only leads with this text in a searched member.", "schema": _OPTIONAL_TEXT},
    "searchLimit": {"name": "limit", **_bounded(agents.SEARCH_LIMIT)},
    "sortBy": {
        "description": "`newest` (the default) and `oldest` sort by the last change, `firstCreated` and `lastCreated` "
        "by creation, and `alphabetical` by title.",
        "schema": reference("AgentOrder"),
    },
    "starredOnly": {"description": "`true` returns only starred agents.", "schema": _FLAG},
    "state": {"description": "Return only conversations in this state.", "schema": _TEXT},
    "status": {"description": "Return only deliveries with this status.", "schema": reference("DeliveryStatus")},
    "tag": {"description": "Return only records with this tag.", "schema": _TEXT},
    "to": {"description": "Return only records created before this Unix time.", "schema": _SECONDS},
    "ulidCursor": _cursor(ULID),
    "version": {
        "description": "The `version` of the response that contained `after`. If it is still current, the read costs "
        "less, but a change may take about a second to appear.",
        "schema": {"type": "string", "pattern": f"^{message_list_routes.VERSION.pattern}$"},
    },
    "userID": {"description": "Return only this user's conversations.", "schema": _TEXT},
    "workspaceId": {
        "description": "The workspace of the credential. Any other workspace fails with 403.",
        "schema": _TEXT,
    },
}

# Description, example and schema of each required query parameter.
_REQUIRED: dict[str, tuple[str, Any, Schema]] = {
    "format": (
        "`ndjson` returns one JSON object per line, `csv` a table for spreadsheets.",
        "ndjson",
        reference("ExportFormat"),
    ),
    "inbox": (
        "Always `true`, because the list contains only conversations that are waiting for a person.",
        "true",
        {"type": "string", "const": "true"},
    ),
}
QUERY |= {
    f"required{name.capitalize()}": {
        "name": name,
        "required": True,
        "description": description,
        "example": example,
        "schema": schema,
    }
    for name, (description, example, schema) in _REQUIRED.items()
}
for _module in extensions.hooks("parameters"):
    SCHEMAS |= _module.SCHEMAS
    _PATH |= _module.PATH
    QUERY |= _module.QUERY

_TAG = r'(W/)?"[!#-~]*"'
_TAGS: Schema = {"type": "string", "pattern": rf"^(\*|{etag.BARE.pattern}|{_TAG}(, ?{_TAG})*)$"}
# These headers have no `example`, because viewers would send it. The precondition would fail, or the key would already
# be used.
_HEADERS: dict[str, Schema] = {
    etag.IF_MATCH: {
        "description": "Write only if the record has one of these ETags, or exists (`*`). Otherwise, fail with 412.",
        "schema": _TAGS,
    },
    etag.IF_NONE_MATCH: {
        "description": "Applies if the record has one of these ETags, or exists (`*`): a read returns 304, and a "
        "write fails with 412.",
        "schema": _TAGS,
    },
    "Prefer": {
        "description": "`handling=strict` rejects unknown members instead of storing them.",
        "schema": {"type": "string"},
    },
    idempotency.HEADER: {
        "description": "A key that you choose for this request. The request takes effect once, however often you send "
        "it, and returns the same response for 24 hours. Another request with the same key fails with 409. A request "
        "that changes nothing stores no response and runs again. With a visitor token, this header fails with 400.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": f"^{idempotency.KEY.pattern}$"},
    },
}


def references(path: str, query: tuple[str, ...], headers: tuple[str, ...]) -> dict[str, Any]:
    """Return references to an operation's parameters, or an empty object if it has none."""
    refs = [{"$ref": f"#/components/parameters/{name}"} for name in (*_names(path), *query, *headers)]
    return {"parameters": refs} if refs else {}


def components(paths: Iterable[str]) -> dict[str, Schema]:
    """Return the parameter components for these paths, and all query and header parameters."""
    in_path = sorted({name for path in paths for name in _names(path)})
    in_query = {name: {"name": name, "in": "query", **QUERY[name]} for name in sorted(QUERY)}
    in_header = {name: {"name": name, "in": "header", **described} for name, described in _HEADERS.items()}
    return {**{name: _path_parameter(name) for name in in_path}, **in_query, **in_header}


def _path_parameter(name: str) -> Schema:
    return {"name": name, "in": "path", "required": True, **_PATH.get(name, {}), "schema": reference("Identifier")}


def _names(path: str) -> list[str]:
    return re.findall(r"{(\w+)}", path)
