"""Fixtures: a local run, and the Python client in the process of a test."""

import signal
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.generated_clients.in_process import Connect, Service, load_package
from tests.reliability.runs import Run, begin, end, free_port


@pytest.fixture(scope="package")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Start one run for the modules of this folder that use a run. Each test has its own workspace."""
    started = begin(tmp_path_factory.mktemp("run") / "state", free_port())
    yield started
    end(started, signal.SIGINT)


@pytest.fixture(scope="module")
def cams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return the generated package. Remove it at the end, so that other tests import the installed one."""
    yield load_package(tmp_path_factory.mktemp("package"))
    for name in [name for name in sys.modules if name.split(".")[0] == "cams"]:
        del sys.modules[name]


@pytest.fixture
def connect(cams: Any, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Return a function that creates a client with a transport. Its pauses take no time."""
    monkeypatch.setattr(cams._http, "_LONGEST", 0.0)

    def create(service: Service, **options: Any) -> Any:
        options = {"api_key": workspace.workspace_key, "url": "https://cams.test/", **options}
        return cams.Client(http_client=httpx.Client(transport=service), **options)

    return create


@pytest.fixture
def client(connect: Connect) -> Any:
    """Return a client whose responses are never lost."""
    return connect(Service())


@pytest.fixture
def agent(client: Any) -> Any:
    """Return a new agent."""
    return client.agents.create(title="Support")
