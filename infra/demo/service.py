"""The local run that `make demo` uses: its API, its environment and its extensions."""

import http.client
import json
import os
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from infra.local import children, state
from infra.local.demonstration import USER_AGENT

_SECONDS_TO_ANSWER = 30


class Service:
    """The local run's API, with the address and credentials from `credentials.json`."""

    def __init__(self, directory: Path) -> None:
        credentials = json.loads((directory / "credentials.json").read_text("utf-8"))
        self.workspace_id: str = credentials["workspace_id"]
        self.access_token: str = credentials["access_token"]
        self.address: str = urlsplit(credentials["base_url"]).netloc
        self._headers = {
            "Authorization": f"Bearer {credentials['workspace_key']}",
            "Content-Type": "application/json",
            "User-Agent": USER_AGENT,  # the run does not log these requests
        }

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request. Return its `data`, or None if a GET finds no record."""
        connection = http.client.HTTPConnection(self.address, timeout=_SECONDS_TO_ANSWER)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), self._headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise click.ClickException(f"The service does not respond ({error}).") from error
        if method == "GET" and response.status == http.HTTPStatus.NOT_FOUND:
            return None
        if not answer.get("success"):
            raise click.ClickException(f"{method} {path} failed: {answer.get('message')}")
        return answer.get("data")


def connect(directory: Path, *extensions: str) -> Service:
    """Return the API of the run that uses this state directory, and apply the run's environment to this process.

    Raise ClickException if no run is ready, or if one of the extensions is disabled.
    """
    if state.lock(directory) is not None or not (directory / "credentials.json").exists():
        raise click.ClickException(f"No local run is ready in {directory}. Start `make run` in another terminal first.")
    service = Service(directory)
    _use_engine(directory)
    # The service's modules read the environment when they are imported.
    from chalicelib.extensions import has

    if not all(map(has, extensions)):
        raise click.ClickException(
            f"The demonstration needs the extensions {' and '.join(extensions)}: start `make run` with them."
        )
    return service


def _use_engine(directory: Path) -> None:
    """Apply the run's environment to this process."""
    lines = (directory / "environment").read_text("utf-8").splitlines()
    kept = children.clean_environment()
    os.environ.clear()
    os.environ.update(kept | dict("".join(shlex.split(line)).split("=", 1) for line in lines))
