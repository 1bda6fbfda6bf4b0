"""Operations of the API, called by a page in the same process.

A page shows what an operation answers, and a form does what an operation does, with the same checks. Writes are staged
in the unit of work of the page's own request.
"""

import json
from typing import Any
from urllib.parse import urlencode

from chalice.app import Request

from chalicelib.http import exchange

_JSON = {"content-type": "application/json"}


class Operations:
    """The operations of an app with these `routes`, for the current caller."""

    def __init__(self, routes: Any) -> None:
        self._routes = routes

    def get(self, path: str, query: dict[str, Any] | None = None, **values: str) -> Any:
        """The body of the answer to a GET of a route; entries of `query` without a value are left out."""
        return self._call("GET", path, query or {}, None, values)

    def send(self, method: str, path: str, body: Any, **values: str) -> Any:
        """The body of the answer to a request with a JSON body. Raises the errors of the operation."""
        return self._call(method, path, {}, body, values)

    def _call(self, method: str, path: str, query: dict[str, Any], body: Any, values: dict[str, str]) -> Any:
        view = self._routes[path][method].view_function
        given = {name: [str(value)] for name, value in query.items() if value not in (None, "")}
        event = {
            "requestContext": {"httpMethod": method, "resourcePath": path, "path": path},
            "headers": _JSON,
            "multiValueQueryStringParameters": given,
            "pathParameters": values,
            "stageVariables": None,
            "isBase64Encoded": False,
            "body": "" if body is None else json.dumps(body),
        }
        with exchange.request_context(Request(event, None)):
            answer = view(**values).body
        return json.loads(answer)


def query_string(query: dict[str, Any]) -> str:
    """The text of a query, without entries that have no value; with its `?` if there are any."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"?{urlencode(given)}" if given else ""
