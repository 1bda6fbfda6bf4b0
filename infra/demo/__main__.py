"""`make demo`: fill the workspace of the local run that uses this state directory.

    python -m infra.demo --state .local

`make demo` installs everything first.
"""

import http.client
import json
import os
import shlex
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from infra.local import children, state
from infra.local.demonstration import USER_AGENT

_SECONDS_TO_ANSWER = 30
# The console shows the data, and the reports count it.
_EXTENSIONS = ("console", "reports")


class Service:
    """The local run's API, with the address and key from `credentials.json`."""

    def __init__(self, directory: Path) -> None:
        credentials = json.loads((directory / "credentials.json").read_text("utf-8"))
        self.workspace_id: str = credentials["workspace_id"]
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


@click.command(help="Fill the local run that uses the state directory with demonstration data, once.")
@click.option("--state", "directory", default=".local", show_default=True, type=click.Path(path_type=Path))
@click.option("--conversations", default=2_000, show_default=True, type=click.IntRange(1, 20_000))
def main(directory: Path, conversations: int) -> None:
    """Fill the workspace, and print where to see the data."""
    if state.lock(directory) is not None or not (directory / "credentials.json").exists():
        raise click.ClickException(f"No local run is ready in {directory}. Start `make run` in another terminal first.")
    service = Service(directory)
    _use_engine(directory)
    # The service's modules read the environment when they are imported.
    from chalicelib.extensions import has

    if not all(map(has, _EXTENSIONS)):
        raise click.ClickException(
            f"The demonstration needs the extensions {' and '.join(_EXTENSIONS)}: start `make run` with them."
        )
    from infra.demo import fill, texts

    if fill.is_filled(service):
        print("The demonstration data already exists; nothing was added.", flush=True)
    else:
        started = time.monotonic()
        print("Writing 90 days of data for two agents", flush=True)
        visits = fill.fill(service, conversations)
        seconds = time.monotonic() - started
        print(f"Two agents with {conversations:,} conversations and {len(visits):,} visitors in {seconds:.0f} s.")
    path = directory / "credentials.json"
    members = json.loads(path.read_text("utf-8"))
    if "client" not in members:  # the run rewrites the file on every start
        state.write(path, json.dumps({**members, "client": fill.let_sign_in(service)}, indent=2) + "\n")
    print(
        f"\n  In a browser: http://{service.address}/console/{service.workspace_id}\n"
        f"                Sign in as a client, with the email and password in {path},\n"
        f"                or as an operator, with the workspace_key there\n"
        f"  A report:     set -a; . {directory / 'environment'}; set +a\n"
        f"                .venv/bin/python -m infra.cams analytics --agent {texts.HOTEL}"
    )


def _use_engine(directory: Path) -> None:
    """Apply the run's environment to this process."""
    lines = (directory / "environment").read_text("utf-8").splitlines()
    kept = children.clean_environment()
    os.environ.clear()
    os.environ.update(kept | dict("".join(shlex.split(line)).split("=", 1) for line in lines))


if __name__ == "__main__":
    main()
