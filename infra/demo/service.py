"""Requests of the demonstration to the running service, with the workspace key of the state directory."""

import http.client
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from infra.local.children import RunError
from infra.local.demonstration import USER_AGENT

_SECONDS = 30


class Service:
    """The API of a run, as its `credentials.json` names it."""

    def __init__(self, directory: Path) -> None:
        found = json.loads((directory / "credentials.json").read_text("utf-8"))
        self.workspace_id: str = found["workspace_id"]
        self.address: str = urlsplit(found["base_url"]).netloc
        self._headers = {
            "Authorization": f"Bearer {found['workspace_key']}",
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,  # the run prints no line for these requests, which would hide the webhooks
        }

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; return its `data`, or None if a GET finds no record. Raises RunError."""
        connection = http.client.HTTPConnection(self.address, timeout=_SECONDS)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), self._headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, ValueError, http.client.HTTPException):
            raise RunError("The service does not answer: it ended, or it is starting again.") from None
        finally:
            connection.close()
        if method == "GET" and response.status == http.HTTPStatus.NOT_FOUND:
            return None
        if not answer.get("success"):
            raise RunError(f"{method} {path} failed: {answer.get('message')}")
        return answer.get("data")
