"""Calls API operations for a page, in the same process and as the current caller.

The API's checks therefore apply to pages and forms. Writes are staged in the page request's unit of work.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import urlencode

from chalice.app import Request, Response

from chalicelib import errors, storage
from chalicelib.extensions.console.routes import routes
from chalicelib.http import commit, current_request
from chalicelib.ids import IDENTIFIER, IDENTIFIER_RULE

_Result = TypeVar("_Result")
# With strict handling, a member that the API would otherwise ignore is an error.
_HEADERS = {"content-type": "application/json", "prefer": "handling=strict"}


def get(path: str, query: dict[str, Any] | None = None, **values: str) -> Any:
    """Return the response body of a GET request. Empty `query` values are not sent. A list has several values."""
    return json.loads(_call("GET", path, query or {}, None, values).body)


def read(path: str, **values: str) -> tuple[Any, str]:
    """Return the record that a GET request reads, and its entity tag."""
    answer = _call("GET", path, {}, None, values)
    return json.loads(answer.body)["data"], str(answer.headers["ETag"])


def send(method: str, path: str, body: Any, if_match: str | None = None, **values: str) -> Any:
    """Return the response body of a request with a JSON body. Raise the operation's errors."""
    return json.loads(_call(method, path, {}, body, values, _if_match(if_match)).body)


def create(path: str, body: Any, **values: str) -> None:
    """Send a POST request and commit it immediately, unless the record already exists. Raise the operation's errors."""
    with suppress(errors.PreconditionFailed):
        commit_now(lambda: _call("POST", path, {}, body, values, {"if-none-match": "*"}))


def post_with_query(path: str, query: dict[str, Any], if_match: str, **values: str) -> None:
    """Send a POST request with a query and without a body. Raise the operation's errors."""
    _call("POST", path, query, None, values, _if_match(if_match))


def patch_as_sent(path: str, body: Any, if_match: str | None = None, **values: str) -> None:
    """Send a PATCH request whose body may contain members that are unknown to the API. Raise the operation's errors."""
    _call("PATCH", path, {}, body, values, {**_if_match(if_match), "prefer": ""})


def send_once(
    form_id: str | None, path: str, body: Any, require: Callable[[], None] = lambda: None, **values: str
) -> Any:
    """Send a POST request and commit it immediately, once per form id and content. Return the response body.

    Submitting a form twice returns the first response. `require` stages conditions for the commit.
    """

    def run() -> Any:
        require()
        return send("POST", path, body, **values)

    return commit_once(form_id, path, body, run, **values)


def commit_once(form_id: str | None, path: str, content: Any, action: Callable[[], Any], **values: str) -> Any:
    """Run an action that sends requests, and commit them together, once per form id and content. Return its result.

    The form id and the content are part of an idempotency key for a POST request to `path`. The result is a JSON value.
    """
    key = hashlib.sha256(json.dumps([form_id, path, content, values]).encode()).hexdigest()
    headers = {} if form_id is None else {"idempotency-key": key}
    request = Request(_event("POST", path, {}, content, values, headers), None)
    with current_request.request_context(request):
        answer = commit.commit(routes.current_app.routes, request, lambda _: Response(json.dumps(action())))
    return json.loads(answer.body)


def commit_now(action: Callable[[], _Result]) -> _Result:
    """Run an action, commit its writes and return its result, so that a page can show commit errors."""

    def run() -> _Result:
        with storage.unit_of_work() as unit:
            result = action()
        commit.send(unit.messages)
        return result

    return storage.retry_on_conflict(run)


def query_string(query: dict[str, Any]) -> str:
    """Return a query string with its `?`, without empty values, or an empty string if all values are empty."""
    filled = {name: value for name, value in query.items() if value not in (None, "")}
    return f"?{urlencode(filled)}" if filled else ""


def _call(
    method: str,
    path: str,
    query: dict[str, Any],
    body: Any,
    values: dict[str, str],
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    view = _view(method, path, values)
    event = _event(method, path, query, body, values, headers)
    with current_request.request_context(Request(event, None)):
        answer: Response = view(**values)
    return answer


def _if_match(tag: str | None) -> dict[str, str]:
    return {"if-match": tag} if tag else {}


def _view(method: str, path: str, values: dict[str, str]) -> Callable[..., Response]:
    """Return the view of an operation. Raise Invalid for a value that is not an identifier, such as a form's text."""
    for name, value in values.items():
        if not IDENTIFIER.fullmatch(value):
            raise errors.Invalid.member(name, f"must be {IDENTIFIER_RULE}")
    view: Callable[..., Response] = routes.current_app.routes[path][method].view_function
    return view


def _event(
    method: str, path: str, query: dict[str, Any], body: Any, path_values: dict[str, str], headers: Mapping[str, str]
) -> dict[str, Any]:
    values = {name: value if isinstance(value, list) else [value] for name, value in query.items()}
    filled = {name: [*map(str, several)] for name, several in values.items() if several not in ([None], [""])}
    return {
        "requestContext": {"httpMethod": method, "resourcePath": path, "path": path},
        "headers": {**_HEADERS, **headers},
        "multiValueQueryStringParameters": filled,
        "pathParameters": path_values,
        "stageVariables": None,
        "isBase64Encoded": False,
        "body": "" if body is None else json.dumps(body),
    }
