"""Operations of the API, called by a page in the same process.

A page shows what an operation answers, and a form does what an operation does, with the same checks. Writes are staged
in the unit of work of the page's own request.
"""

import json
from typing import Any
from urllib.parse import urlencode

from chalice.app import Request, Response

from chalicelib.http import exchange

_JSON = {"content-type": "application/json"}


class Operations:
    """The operations of an app with these `routes`, for the current caller."""

    def __init__(self, routes: Any) -> None:
        self._routes = routes

    def get(self, path: str, query: dict[str, Any] | None = None, **values: str) -> Any:
        """The body of the answer to a GET of a route; entries of `query` without a value are left out."""
        return json.loads(self._call("GET", path, query or {}, None, values).body)

    def get_tagged(self, path: str, **values: str) -> tuple[Any, str]:
        """The same, with the ETag of the answer."""
        answer = self._call("GET", path, {}, None, values)
        return json.loads(answer.body), str(answer.headers["ETag"])

    def send(self, method: str, path: str, body: Any, if_match: str | None = None, **values: str) -> Any:
        """The body of the answer to a request with a JSON body. Raises the errors of the operation."""
        headers = {"if-match": if_match} if if_match else {}
        return json.loads(self._call(method, path, {}, body, values, headers).body)

    def _call(
        self,
        method: str,
        path: str,
        query: dict[str, Any],
        body: Any,
        values: dict[str, str],
        headers: dict[str, str] | None = None,
    ) -> Response:
        view = self._routes[path][method].view_function
        given = {name: [str(value)] for name, value in query.items() if value not in (None, "")}
        event = {
            "requestContext": {"httpMethod": method, "resourcePath": path, "path": path},
            "headers": {**_JSON, **(headers or {})},
            "multiValueQueryStringParameters": given,
            "pathParameters": values,
            "stageVariables": None,
            "isBase64Encoded": False,
            "body": "" if body is None else json.dumps(body),
        }
        with exchange.request_context(Request(event, None)):
            answer: Response = view(**values)
        return answer


def query_string(query: dict[str, Any]) -> str:
    """The text of a query, without entries that have no value; with its `?` if there are any."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return f"?{urlencode(given)}" if given else ""
