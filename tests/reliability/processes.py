"""Processes that run the service on a shared local engine, so that writers and readers conflict."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from chalicelib import storage
from chalicelib.workspaces import store as workspaces
from infra import tables
from infra.local.children import Engine
from tests.api import Answer, Api
from tests.reliability.engine_fixture import running_engine
from tests.reliability.faults import line_to

ROOT = Path(__file__).parents[2]
SECONDS = 300


class Service(NamedTuple):
    """An engine that contains the service's tables, and the key of a workspace that has the agent `support`."""

    engine: Engine
    environment: dict[str, str]
    token: str

    def start(self, module: str, action: str, *arguments: object) -> "subprocess.Popen[str]":
        """Run a module as a process; pass an action, the workspace's token and further arguments."""
        command = [sys.executable, "-m", module, action, self.token, *map(str, arguments)]
        return subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, text=True)

    def send(self, *requests: tuple[str, str, Any]) -> list[Answer]:
        """Send requests (method, path and body) from this process; return the responses."""
        with line_to(self.engine):
            return [Api(self.token).call(*request) for request in requests]


@contextmanager
def service(state: Path) -> Iterator[Service]:
    """Run a separate engine that contains the tables, a workspace and an agent."""
    with running_engine(state) as engine:
        with line_to(engine):
            tables.create_missing(storage.sdk_client)
            token = workspaces.create("Concurrent").workspace_key
            assert Api(token).post("/v2/agents/support", {}).status == 200
        yield Service(engine, {**os.environ, **engine.environment}, token)


def output(process: "subprocess.Popen[str]") -> list[str]:
    """Wait for a process and return its output. Fail if the process exits with an error."""
    out, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, out[-2000:]
    return out.splitlines()
