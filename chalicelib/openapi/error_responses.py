"""Each operation's error responses, derived from its declaration (`http.operation`).

A test provokes every documented error of every operation.
"""

from collections.abc import Iterable
from typing import Any

from chalicelib import errors, extensions
from chalicelib.agents.store import AgentBeingDeleted, KeyTaken
from chalicelib.clients.store import EmailTaken
from chalicelib.conversations import reply_check
from chalicelib.http import etag, idempotency
from chalicelib.http.operation import Operation
from chalicelib.ids import IDENTIFIER_RULE
from chalicelib.openapi.schemas import COMPONENTS, Schema, reference
from chalicelib.openapi.text import without_sections

# One response component per status: the first class with that status in `errors`. The base class represents 500.
_ALL_ERRORS: list[type[errors.ApiError]] = [*errors.ApiError.__subclasses__(), errors.ApiError]
_CLASSES = {error.STATUS_CODE: error for error in reversed(_ALL_ERRORS)}
_STRING = {"schema": {"type": "string"}}
_CHALLENGE = "`Bearer`. A deployed stage sends this header as `x-amzn-Remapped-WWW-Authenticate`."
_HEADERS = {
    # API Gateway renames the header, so clients cannot rely on it.
    401: {"WWW-Authenticate": {"description": _CHALLENGE, **_STRING}},
    503: {"Retry-After": {"description": "Seconds to wait.", "required": True, **_STRING}},
}
_SCHEMAS = ("Error", "InteractionError")
# Codes that only Chalice and the gateway use. No operation raises them.
_GATEWAY_CODES = frozenset({"METHOD_NOT_ALLOWED", "THROTTLED"})

_INVALID_ID = errors.Invalid.member("agent_id", f"must be {IDENTIFIER_RULE}")
_CHANGED = errors.PreconditionFailed("If-Match does not match the record's current ETag; read it and try again.")
_NEWEST = {"mid": "m-4", "from": "human", "ts": 1793611800}
_CHATTING = reply_check.HumanChatting({"state": "human-chatting", "chatAssignedTo": "client-1", "newest": _NEWEST})
# Examples by status and name. The interaction route returns these errors with its own members.
_COMMON: dict[int, dict[str, errors.ApiError]] = {
    401: {"token": errors.Unauthorized()},
    403: {"credential": errors.Forbidden(), "suspended": errors.WorkspaceSuspended()},
    404: {"unknown": errors.NotFound.of("agent")},
    409: {"stale": errors.Stale(), "key": idempotency.KeyReused()},
    412: {"changed": _CHANGED},
    415: {"text": errors.UnsupportedMediaType()},
    500: {"failed": errors.ApiError()},
    503: {"busy": errors.Unavailable()},
}
_OTHER: dict[int, dict[str, errors.ApiError]] = {
    400: {"path": _INVALID_ID, "body": errors.Invalid.member("tool.name", "must be a string")},
    403: {"scope": errors.Forbidden("The access token lacks the scope tools:write.")},
    409: {"deleting": AgentBeingDeleted(), "email": EmailTaken(), "login": KeyTaken(), "chatting": _CHATTING},
    413: {"record": errors.TooLarge("The record is too large to store.")},
    429: {"limit": errors.LimitReached("A workspace can have 50 webhooks; delete one first.", "webhooks", 50, 50)},
}
_LIMIT = "The agent's messagesLimit is 1. This request would raise the count from 0 to 2."
_METADATA = "metadata must be at most 64,000 bytes of JSON, and 32,000 bytes compressed."
_INTERACTION: dict[int, dict[str, errors.ApiError]] = {
    400: {"path": _INVALID_ID, "body": errors.Invalid.member("turns", "must be an array")},
    413: {"metadata": errors.TooLarge(_METADATA)},
    429: {"limit": errors.LimitReached(_LIMIT, "messagesLimit", 1, 0)},
}
# Errors that the interaction route returns after it has read the agent. Their envelopes contain the platform.
_AFTER_READ = {"stale", "changed", "metadata", "limit"}


def _envelopes(errors_: dict[str, errors.ApiError]) -> dict[str, dict[str, Any]]:
    return {name: error.envelope() for name, error in errors_.items()}


def _interaction(name: str, body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "appError": body["message"], **({"platformName": "vg"} if name in _AFTER_READ else {})}


# Examples by schema, status and name. A test provokes each example.
EXAMPLES: dict[str, dict[int, dict[str, dict[str, Any]]]] = {
    "Error": {
        status: _envelopes({**_COMMON.get(status, {}), **_OTHER.get(status, {})}) for status in {**_COMMON, **_OTHER}
    },
    "InteractionError": {
        status: {
            name: _interaction(name, body)
            for name, body in _envelopes({**_COMMON.get(status, {}), **_INTERACTION.get(status, {})}).items()
        }
        for status in {**_COMMON, **_INTERACTION}
    },
}


def statuses(operation: Operation, *, repeatable: bool) -> list[int]:
    """Return an operation's error statuses, without 405, because an unsupported method is not an operation."""
    takes_body = operation.body is not None
    conditions = {
        400: True,  # an unknown query parameter
        401: True,
        403: True,
        409: repeatable,
        412: etag.IF_MATCH in operation.headers,
        413: takes_body
        or (operation.data or "").startswith("list[")
        or (operation.bare is not None and (operation.bounded or "limit" in operation.query)),
        415: takes_body,
        500: True,
        503: True,
    }
    derived = {status for status, can_be in conditions.items() if can_be}
    return sorted(derived | {error.STATUS_CODE for error in operation.raises})


def responses(path: str, error_statuses: list[int], operation: Operation, *, repeatable: bool) -> dict[str, Schema]:
    """Return an operation's error responses: references, and a 409 response that lists its causes."""
    schema_name = _SCHEMAS[path.endswith("/state")]
    answers = {
        str(status): {"$ref": f"#/components/responses/{_name(schema_name, status)}"} for status in error_statuses
    }
    if "409" in answers:
        causes = _conflicts(operation)
        if repeatable:
            causes.append(idempotency.KeyReused)
        answers["409"]["description"] = " ".join(f"`{cause.code}`: {cause.sentence}" for cause in causes)
    return answers


def shared_responses(used: set[str]) -> dict[str, Schema]:
    """Return the response components named in `used`, which the document references."""
    built = {
        _name(schema_name, status): _response(schema_name, status)
        for schema_name in _SCHEMAS
        for status in sorted(_CLASSES)
    }
    return {name: response for name, response in built.items() if f"#/components/responses/{name}" in used}


def _conflicts(operation: Operation) -> list[type[errors.ApiError]]:
    """Return the causes of an operation's 409 responses. Each cause has its own code."""
    return [error for error in operation.raises if issubclass(error, errors.Conflict)]


def schemas(operations: Iterable[Operation]) -> dict[str, Schema]:
    """Return these operations' two error envelope schemas, and the schemas of their members."""
    codes = sorted(
        {one.code for one in _CLASSES.values()}
        | _GATEWAY_CODES
        | {errors.WorkspaceSuspended.code, idempotency.KeyReused.code}
        | {one.code for operation in operations for one in _conflicts(operation)}
    )
    known = ", ".join(f"`{code}`" for code in codes)
    code = {"type": "string", "description": f"The error code, for programs. Known codes: {known}.", "examples": codes}
    fixed = COMPONENTS["schemas"]
    others = {name: schema for members in extensions.hooks("error_members") for name, schema in members.items()}
    error = {**fixed["Error"], "properties": {**fixed["Error"]["properties"], "code": code}}
    members = fixed["InteractionError"]
    interaction = {**error, **members, "properties": {**error["properties"], **members["properties"]}}
    return {**fixed, "Error": {**error, "properties": error["properties"] | others}, "InteractionError": interaction}


def _response(schema_name: str, status: int) -> Schema:
    cls = _CLASSES[status]
    content: Schema = {"schema": reference(schema_name)}
    if shown := EXAMPLES[schema_name].get(status):
        content["examples"] = {name: {"value": value} for name, value in shown.items()}
    description = cls.sentence if cls is errors.ApiError else without_sections(cls.__doc__ or "")
    headers = {"headers": _HEADERS[status]} if status in _HEADERS else {}
    return {"description": description, **headers, "content": {"application/json": content}}


def _name(schema_name: str, status: int) -> str:
    cls = _CLASSES[status]
    name = "Failed" if cls is errors.ApiError else cls.__name__
    return name if schema_name == "Error" else f"Interaction{name}"
