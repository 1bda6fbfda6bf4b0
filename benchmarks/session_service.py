"""The service of the sessions question: the local engine and two servers of `make run`, behind the proxies."""

import http.client
import json
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import boto3

from benchmarks.session_network import DatabaseLine, Line, listening
from chalicelib import settings
from infra import tables
from infra.client import build
from infra.local import children

_SERVERS = 2
_SECONDS_TO_START = 60
_NEW_WORKSPACE = "from chalicelib.workspaces import store; print(store.create('Benchmark').workspace_key)"


class Service(NamedTuple):
    """The proxies in front of the servers and of DynamoDB, and the directory and environment of the writers."""

    requests: Line
    database: DatabaseLine
    directory: Path
    environment: dict[str, str]


@contextmanager
def running(directory: Path) -> Iterator[Service]:
    """Run the service with an agent `support` during the block. Writers have only the agent's key."""
    with ExitStack() as stack:
        engine = children.start_engine(directory / "state")
        stack.callback(children.stop, [engine])
        database = DatabaseLine(engine.port)
        environment = children.clean_environment() | engine.environment
        environment["AWS_ENDPOINT_URL"] = stack.enter_context(listening(database))
        session = boto3.Session(engine.access_key, engine.secret_key, region_name=children.REGION)
        tables.create_missing(lambda service: session.client(service, endpoint_url=engine.url), settings.table_prefix())
        ports = [_free_port() for _ in range(_SERVERS)]
        for port in ports:
            server = _start_server(port, directory, environment)
            stack.callback(children.stop, [server])
        requests = Line(ports)
        url = stack.enter_context(listening(requests))
        for port in ports:
            _wait_for(port)
        key = _new_agent(url, environment)
        client = directory / "client"
        build.build(client)
        variables = {"CAMS_URL": url, "CAMS_API_KEY": key, "PYTHONPATH": f"{client}:{children.ROOT}"}
        yield Service(requests, database, directory, environment | variables)


def _start_server(port: int, directory: Path, environment: dict[str, str]) -> children.Child:
    command = [sys.executable, "-m", "infra.local.server", str(port), str(directory / f"{port}.log")]
    return children.start("server", command, environment, directory / f"server-{port}.log")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("a server did not start")


def _new_agent(url: str, environment: dict[str, str]) -> str:
    """Create a workspace and its agent, and return the agent's key."""
    command = [sys.executable, "-c", _NEW_WORKSPACE]
    made = subprocess.run(command, cwd=children.ROOT, env=environment, capture_output=True, text=True, check=True)
    key = uuid.uuid4().hex
    body = json.dumps({"title": "Support", "SECRET_API_KEY": key}).encode()
    headers = {"Authorization": f"Bearer {made.stdout.strip()}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    connection.request("POST", "/v2/agents/support", body, headers)
    if connection.getresponse().status != http.client.OK:
        raise RuntimeError("the agent cannot be created")
    connection.close()
    return key
