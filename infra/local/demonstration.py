"""The demonstration workspace of a local run: it is created once, reused later, and always has valid credentials.

This module uses only public interfaces: the operator commands and HTTP. It stores the secrets, which a command shows
only once, in a file that only its owner can read.
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

USER_AGENT = "cams-local-run"
_NAME = "demonstration"
_FILE = "demonstration.json"
# A fraction of a token's 30-day lifetime, so that the stored token stays valid for weeks.
_RENEW_AFTER = 7 * 24 * 60 * 60
_SECONDS_TO_ANSWER = 30


class Credentials(NamedTuple):
    """The workspace's credentials, named as in `credentials.json`."""

    workspace_id: str
    workspace_key: str
    access_token: str
    workspace_secret: str

    def __repr__(self) -> str:
        return f"Credentials({self.workspace_id})"


def find_or_create(directory: Path, environment: Mapping[str, str]) -> Credentials:
    """Return the last run's credentials, or create a workspace. The tables must exist; the server is not needed."""
    path = directory / _FILE
    if path.exists():
        return _load(path)[0]
    credentials = Credentials(**_run_command(environment, "workspace", "create", "--name", _NAME))
    _save(path, credentials, time.time())
    return credentials


def renew(directory: Path, port: int, environment: Mapping[str, str]) -> Credentials:
    """Replace credentials that the running service rejects or that expire soon. Return all credentials."""
    if not _is_accepted(port, find_or_create(directory, environment).workspace_key):
        _forget_if_lost(directory, environment)
        find_or_create(directory, environment)
    stored, issued_at = _load(directory / _FILE)
    credentials, workspace_options = stored, ("--workspace", stored.workspace_id, "--name", _NAME)
    if not _is_accepted(port, stored.workspace_key):
        # The user may have rotated or revoked the credential while trying the API.
        issued = _run_command(environment, "key", "issue", *workspace_options)
        credentials = credentials._replace(workspace_key=issued["workspace_key"])
    if time.time() > issued_at + _RENEW_AFTER or not _is_accepted(port, stored.access_token):
        issued = _run_command(environment, "token", "issue", *workspace_options)
        credentials = credentials._replace(access_token=issued["access_token"])
        issued_at = time.time()
    if credentials != stored:
        _save(directory / _FILE, credentials, issued_at)
    return credentials


def _forget_if_lost(directory: Path, environment: Mapping[str, str]) -> None:
    """Drop the stored credentials if their workspace no longer exists, because the data file was moved away."""
    path = directory / _FILE
    try:
        _run_command(environment, "workspace", "show", _load(path)[0].workspace_id)
    except RunError:
        path.unlink()


def _save(path: Path, credentials: Credentials, issued_at: float) -> None:
    members = {**credentials._asdict(), "token_issued_at": int(issued_at)}
    state.write(path, json.dumps(members, indent=2) + "\n")


def _load(path: Path) -> tuple[Credentials, float]:
    members = json.loads(path.read_text(encoding="utf-8"))
    issued_at = members.pop("token_issued_at")
    return Credentials(**members), issued_at


def _run_command(environment: Mapping[str, str], *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "infra.cams", *arguments, "--json"]
    completed = subprocess.run(command, cwd=ROOT, env=dict(environment), capture_output=True, text=True, check=False)
    if completed.returncode:
        reason = (completed.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise RunError(f"`python -m infra.cams {' '.join(arguments)}` failed: {reason}")
    answer: dict[str, Any] = json.loads(completed.stdout)
    return answer


def _is_accepted(port: int, token: str) -> bool:
    """Return whether the service accepts the token as a credential, regardless of its rights."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS_TO_ANSWER)
    try:
        headers = {"Authorization": f"Bearer {token}", "User-Agent": USER_AGENT}
        connection.request("GET", "/v3/agents", headers=headers)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise RunError(f"The service does not respond ({error}).") from None
    finally:
        connection.close()
    if status >= 500:
        raise RunError(f"The service responds with status {status}; see its output above.")
    return status != 401
