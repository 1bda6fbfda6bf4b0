"""The rehearsal's client for the deployed API."""

import json
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.deployment.rehearsal import Failed


class Response(NamedTuple):
    """A response with any status. Header names are lowercase."""

    status: int
    headers: dict[str, str]
    body: bytes


class Gateway:
    """A client for the deployed API, with at most one credential."""

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address, self.token = address, token

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """Return the JSON of a response with status 200. Raise Failed for any other status."""
        answer = self.ask(method, path, body, headers)
        if answer.status != 200:
            raise Failed(f"{method} {path} returned {answer.status}:  {answer.body.decode()}")
        return json.loads(answer.body)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Response:
        """Return the response, regardless of its status."""
        raw = None if body is None else json.dumps(body).encode()
        defaults = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
        }
        request = Request(self.address + path, raw, {**defaults, **(headers or {})}, method=method)
        try:
            answer = urlopen(request, timeout=40)
        except HTTPError as error:
            answer = error
        with answer:
            received = {name.lower(): value for name, value in answer.headers.items()}
            return Response(answer.status, received, answer.read())
