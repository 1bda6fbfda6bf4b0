"""Calls a tool's operation in the same process, through the middleware of core's requests.

Therefore, the operation checks the scopes and path values, and commits its writes, as it does for other requests.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from chalice.app import Request, Response

from chalicelib import clock, errors
from chalicelib.extensions.mcp import answers
from chalicelib.extensions.mcp.tools import AssistantTool
from chalicelib.http import auth, commit, current_request, envelope, etag, idempotency, privileges

Routes = Mapping[str, Mapping[str, Any]]
Arguments = dict[str, Any]
_Middleware = Callable[[Request, Callable[[Request], Response]], Response]

# A list's default and maximum number of records. The operations have higher defaults, which would fill the context.
_LIMITED, _LIMIT, _MOST_RECORDS = "limit", 10, 100
# The arguments that are no parameters of the operation.
_ETAG, _CONFIRM, _KEY, _MEMBERS, _OFFSET = "etag", "confirm", "idempotency_key", "members", "offset"
_OF_TOOLS = frozenset({_ETAG, _CONFIRM, _KEY, _MEMBERS, _OFFSET})
# With strict handling, a member that the operation would otherwise ignore is an error.
_HEADERS = {"content-type": "application/json", "prefer": "handling=strict"}
_MIDDLEWARES = (envelope.decode_path, auth.require_own_path)
_REPLAYED = (
    "This is the stored response to an identical call in the last 24 hours, so nothing was written now. To write it"
    f" again on purpose, pass another {_KEY}."
)


def call(tool: AssistantTool, arguments: Arguments, routes: Routes) -> list[str]:
    """Call a tool, and return the texts of the result. Raise the operation's errors, and Invalid for arguments."""
    _require_known_names(tool, arguments)
    if tool.method == "DELETE":
        _require_confirmation(tool, arguments, routes)
    arguments = {name: value for name, value in arguments.items() if value is not None or name not in tool.query}
    if _LIMITED in tool.query:
        return [_read_list(tool, {_LIMITED: _LIMIT, **arguments}, routes)]
    response = _send(tool.method, tool, arguments, routes)
    if members := arguments.get(_MEMBERS):
        return [answers.selected(response, tool, members, arguments.get(_OFFSET, 0))]
    replayed = [_REPLAYED] if idempotency.REPLAYED in response.headers else []
    return [answers.fitted(response, tool), *replayed]


def _read_list(tool: AssistantTool, arguments: Arguments, routes: Routes) -> str:
    """Return a page of a list. Read a smaller page while the page is too long."""
    while True:
        response = _send(tool.method, tool, arguments, routes)
        if members := arguments.get(_MEMBERS):
            return answers.selected(response, tool, members, arguments.get(_OFFSET, 0))
        length, limit = answers.length(response, tool), min(int(arguments[_LIMITED]), _MOST_RECORDS)
        if length <= answers.MOST_CHARACTERS or limit == 1:
            return answers.fitted(response, tool)
        # At most half the records, because one long record would otherwise cost a request per short record.
        arguments = {**arguments, _LIMITED: max(1, min(limit // 2, limit * answers.MOST_CHARACTERS // length))}


def _require_known_names(tool: AssistantTool, arguments: Arguments) -> None:
    schema = tool.definition["inputSchema"]
    for name in arguments:
        if name not in schema["properties"]:
            raise errors.Invalid.member(name[:64] or '""', "is not an argument of this tool")
    for name in schema.get("required", ()):
        if name not in arguments:
            raise errors.Invalid.member(name, "is required")
    for name in _OF_TOOLS & arguments.keys():
        expected = {_MEMBERS: list, _OFFSET: int}.get(name, str)
        if not isinstance(arguments[name], expected):
            raise errors.Invalid.member(name, f"must be {_KINDS[expected]}")
    if arguments.get(_ETAG, "").strip() == "*":  # which `If-Match` accepts for any version
        raise errors.Invalid.member(_ETAG, "must be the etag of a version that you have read")


_KINDS = {list: "an array", int: "a number", str: "a string"}


def _require_confirmation(tool: AssistantTool, arguments: Arguments, routes: Routes) -> None:
    """Raise Invalid unless `confirm` is the title of the record that the tool deletes, or its id if it has no title."""
    names = {name: arguments[name] for name in _path_names(tool)}
    record = json.loads(_send("GET", tool, names, routes).body)["data"]
    *_, record_id = names.values()
    if arguments[_CONFIRM] != (record.get(tool.title) or record_id):
        raise errors.Invalid.member(_CONFIRM, f"must be the record's {tool.title}, or its id if it has none")


def _send(method: str, tool: AssistantTool, arguments: Arguments, routes: Routes) -> Response:
    """Send the operation's request, or a GET request to the same path, through the middleware. Raise its errors."""
    # Half of a surrogate pair becomes a character that no id contains.
    values = {name: quote(_text(name, arguments[name]), safe="", errors="replace") for name in _path_names(tool)}
    query = {name: _query_values(tool, name, arguments[name]) for name in tool.query if name in arguments}
    members = {name: arguments[name] for name in arguments.keys() - values.keys() - {*tool.query} - _OF_TOOLS}
    headers = dict(_HEADERS)
    if method != "GET":
        headers |= {etag.IF_MATCH: str(arguments[_ETAG])} if _ETAG in arguments else {}
        headers |= {idempotency.HEADER: _key(tool, arguments)} if method in idempotency.METHODS else {}
    event = {
        "requestContext": {"httpMethod": method, "resourcePath": tool.path, "path": tool.path},
        "headers": headers,
        "multiValueQueryStringParameters": {**query, **{name: [value] for name, value in tool.fixed.items()}},
        "pathParameters": values,
        "stageVariables": None,
        "isBase64Encoded": False,
        "body": json.dumps(members) if members else "",
    }
    request = Request(event, None)
    middlewares = (privileges.require_scope(routes), *_MIDDLEWARES, partial(commit.commit, routes))
    with current_request.request_context(request):
        return _answer(request, middlewares, routes[tool.path][method].view_function)


def _answer(request: Request, middlewares: Sequence[_Middleware], view: Callable[..., Response]) -> Response:
    """Return the view's response, inside these middlewares. The first of them is the outermost."""
    if not middlewares:
        return view(**(request.uri_params or {}))
    outermost, *others = middlewares
    return outermost(request, lambda inner: _answer(inner, others, view))


def _path_names(tool: AssistantTool) -> list[str]:
    return re.findall(r"{(\w+)}", tool.path)


def _key(tool: AssistantTool, arguments: Arguments) -> str:
    """Return an idempotency key for these arguments. A request id would not do, because each client counts from 1."""
    return hashlib.sha256(json.dumps([tool.name, arguments], sort_keys=True).encode()).hexdigest()


def _query_values(tool: AssistantTool, name: str, value: Any) -> list[str]:
    if name in tool.times and isinstance(value, str):
        value = _seconds(name, value)
    is_list = tool.definition["inputSchema"]["properties"][name].get("type") == "array" and isinstance(value, list)
    return [_text(name, element) for element in (value if is_list else [value])]


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, (str, int)):
        raise errors.Invalid.member(name, "must be a string, a number or a boolean")
    return str(value)


def _seconds(name: str, value: str) -> int:
    """Return an ISO date or time as Unix seconds. Times without an offset are in UTC."""
    try:
        return clock.parse_iso(value)
    except (ValueError, OverflowError):
        raise errors.Invalid.member(name, "must be an ISO date or time, such as 2026-01-31T12:00:00Z") from None
