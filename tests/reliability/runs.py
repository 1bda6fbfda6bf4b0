"""Starts the local run for tests as `make run` does, but in a separate process group.

Tests can therefore interrupt the run, kill it, and check for remaining processes.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from infra.local.children import ROOT

SECONDS = 300


@dataclass(frozen=True)
class Run:
    """A run of the service: its directory, and its output up to the line that reports that it is ready."""

    process: subprocess.Popen[bytes]
    directory: Path
    port: int
    credentials: dict[str, str]
    environment: dict[str, str]

    @property
    def output(self) -> str:
        return (self.directory / "output").read_text()

    @property
    def processes(self) -> dict[int, str]:
        """Return the process group's running processes and their commands, without zombies."""
        listing = subprocess.run(
            ["ps", "-ww", "-eo", "pid=,pgid=,stat=,args="], capture_output=True, text=True, check=True
        )
        rows = (line.split(None, 3) for line in listing.stdout.splitlines())
        return {
            int(pid): command[0]
            for pid, group, status, *command in rows
            if int(group) == self.process.pid and not status.startswith("Z")
        }


def begin(directory: Path, port: int, *options: str) -> Run:
    """Start a run and wait until it is ready."""
    directory.mkdir(mode=0o700, exist_ok=True)
    credentials = directory / "credentials.json"
    before = credentials.stat().st_mtime_ns if credentials.exists() else None
    with (directory / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "infra.local.run", "--port", str(port), "--state", str(directory), *options],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + SECONDS
    while not credentials.exists() or credentials.stat().st_mtime_ns == before:
        assert process.poll() is None and time.monotonic() < deadline, (directory / "output").read_text()
        time.sleep(0.02)
    lines = (directory / "environment").read_text().splitlines()
    environment = dict(line.split("=", 1) for line in lines)
    return Run(process, directory, port, read_credentials(directory), environment)


def read_credentials(directory: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((directory / "credentials.json").read_text())
    return found


def end(run: Run, number: signal.Signals) -> int:
    """Send the signal only to the supervisor, and return the supervisor's exit code."""
    run.process.send_signal(number)
    return run.process.wait(SECONDS)


def ask(run: Run, method: str, path: str, token: str, body: Any = None) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{run.port}{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def kill(run: Run) -> None:
    """Kill every remaining process of the run with `kill -9`."""
    if run.processes:
        os.killpg(run.process.pid, signal.SIGKILL)
    run.process.wait()


def engine_client(run: Run, service: str) -> Any:
    """Return an SDK client for the run's engine, configured from the file `environment`."""
    session = boto3.session.Session(
        aws_access_key_id=run.environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=run.environment["AWS_SECRET_ACCESS_KEY"],
        region_name=run.environment["AWS_DEFAULT_REGION"],
    )
    return session.client(service, endpoint_url=run.environment["AWS_ENDPOINT_URL"])


def engine_port(run: Run) -> int:
    return int(run.environment["AWS_ENDPOINT_URL"].rpartition(":")[2])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port
