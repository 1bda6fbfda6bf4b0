"""An API client that invokes the service with gateway events, so that each request passes through all middleware."""

import json
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from chalice.local import LambdaContext, LambdaEventConverter, RouteMatcher

from app import app


class Answer(NamedTuple):
    """A response: its status, its JSON body, its headers keyed by lowercase name, and its raw body."""

    status: int
    json: Any
    headers: dict[str, str]
    text: str

    @property
    def data(self) -> Any:
        """Return the `data` of a success envelope. Fail the test for any other response."""
        assert self.status == 200, self.text
        assert self.json["success"] is True
        return self.json["data"]


class Api:
    """An API client with at most one credential."""

    def __init__(self, token: str | None = None) -> None:
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str) -> Answer:
        """Send a GET request."""
        return self.call("GET", path)

    def post(self, path: str, body: Any = None) -> Answer:
        """Send a POST request with `body`: a JSON value, raw bytes, or no body."""
        return self.call("POST", path, body)

    def patch(self, path: str, body: Any) -> Answer:
        """Send a PATCH request with `body`."""
        return self.call("PATCH", path, body)

    def delete(self, path: str) -> Answer:
        """Send a DELETE request."""
        return self.call("DELETE", path)

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """Send any request; `headers` replace the default headers."""
        response = app(self.event(method, path, body, headers), LambdaContext("api", 256))
        text = response["body"]
        received = {name.lower(): value for name, value in response["headers"].items()}
        # Several values of a header are on lines of their own.
        received |= {name.lower(): "\n".join(values) for name, values in response.get("multiValueHeaders", {}).items()}
        parsed = json.loads(text) if received.get("content-type") == "application/json" else None
        return Answer(response["statusCode"], parsed, received, text)

    def event(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> dict[str, Any]:
        """Return the Lambda event that the gateway creates for a request."""
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = dict(self._headers) if raw is None else {"Content-Type": "application/json", **self._headers}
        event: dict[str, Any] = _converter.create_lambda_event(method, path, sent if headers is None else headers, raw)
        event["multiValueQueryStringParameters"] = parse_qs(urlsplit(path).query, keep_blank_values=True) or None
        return event


_converter = LambdaEventConverter(RouteMatcher(list(app.routes)), app.api.binary_types)
