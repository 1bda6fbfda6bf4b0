"""The demonstration workspace of a local run: made once, found again, with credentials that open something.

Uses what everybody can use, the operator's command and the HTTP interface, and keeps the secrets, which are
shown once, in a file that only its owner reads.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from infra.local import state
from infra.local.children import ROOT, RunError

_NAME = "demonstration"
_FILE = "demonstration.json"
# Far below the life of a token, so that the one in the file opens something for weeks.
_RENEW_AFTER = 7 * 24 * 60 * 60
_SECONDS_TO_ANSWER = 30


class Credentials(NamedTuple):
    """What opens the workspace, under the names of `credentials.json`."""

    workspace_id: str
    workspace_key: str
    access_token: str
    workspace_secret: str

    def __repr__(self) -> str:
        return f"Credentials({self.workspace_id})"


def find_or_create(directory: Path, environment: Mapping[str, str]) -> Credentials:
    """The credentials of the last run, or those of a new workspace. Needs the tables, not the server."""
    path = directory / _FILE
    if path.exists():
        return _kept(path)[0]
    credentials = Credentials(**_operate(environment, "workspace", "create", "--name", _NAME))
    _keep(path, credentials, time.time())
    return credentials


def renew(directory: Path, port: int, environment: Mapping[str, str]) -> Credentials:
    """The credentials with those replaced that the running service refuses, or soon will."""
    credentials, issued_at = _kept(directory / _FILE)
    found, of_workspace = credentials, ("--workspace", credentials.workspace_id, "--name", _NAME)
    if not _opens(port, found.workspace_key):
        # Rotated or revoked through the interface, which is there to be tried.
        issued = _operate(environment, "key", "issue", *of_workspace)
        credentials = credentials._replace(workspace_key=issued["workspace_key"])
    if time.time() > issued_at + _RENEW_AFTER or not _opens(port, found.access_token):
        issued = _operate(environment, "token", "issue", *of_workspace)
        credentials = credentials._replace(access_token=issued["access_token"])
        issued_at = time.time()
    if credentials != found:
        _keep(directory / _FILE, credentials, issued_at)
    return credentials


def forget(directory: Path) -> None:
    """For a run that starts without data: the workspace was part of it."""
    (directory / _FILE).unlink(missing_ok=True)


def _keep(path: Path, credentials: Credentials, issued_at: float) -> None:
    kept = {**credentials._asdict(), "token_issued_at": int(issued_at)}
    state.write(path, json.dumps(kept, indent=2) + "\n")


def _kept(path: Path) -> tuple[Credentials, float]:
    members = json.loads(path.read_text(encoding="utf-8"))
    issued_at = members.pop("token_issued_at")
    return Credentials(**members), issued_at


def _operate(environment: Mapping[str, str], *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "infra.cams", *arguments, "--json"]
    done = subprocess.run(command, cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise RunError(f"`python -m infra.cams {' '.join(arguments)}` failed: {reason}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _opens(port: int, token: str) -> bool:
    """Whether the service takes the token for a credential; what it is allowed to do does not matter here."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS_TO_ANSWER)
    try:
        connection.request("GET", "/v3/agents", headers={"Authorization": f"Bearer {token}"})
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise RunError(f"The service does not answer ({error}).") from None
    finally:
        connection.close()
    if status >= 500:
        raise RunError(f"The service answers {status}; what it has to say is above.")
    return status != 401
