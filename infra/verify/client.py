"""The checks' HTTP client, which sends at most one credential."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

# Longer than the time that API Gateway waits for the function.
_TIMEOUT_SECONDS = 40


class Response(NamedTuple):
    """A response with any status. `body` is the JSON body or None; header names are lowercase."""

    status: int
    headers: dict[str, str]
    body: Any


class Client:
    """A client for the API at `address`."""

    def __init__(self, address: str, token: str | None = None) -> None:
        self.address = address
        self._address, self._token = urlsplit(address), token

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Response:
        """Send a request and return the response. Raise OSError if there is no response."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        raw = None if body is None else json.dumps(body).encode()
        connection_type = HTTPSConnection if self._address.scheme == "https" else HTTPConnection
        connection = connection_type(self._address.netloc, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(method, self._address.path + path, raw, sent)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Response(response.status, names, _parse(response.read()))
        except HTTPException as error:
            raise OSError(f"{method} {path} did not receive a valid HTTP response.") from error
        finally:
            connection.close()


def _parse(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None
