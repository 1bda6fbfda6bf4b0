"""Fixtures for a service whose people sign in with a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.browser import chromium
from tests.extensions.console.in_browser.person import PASSWORD, ask
from tests.reliability import runs
from tests.reliability.runs import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run the same service as `make run` on a free port, with an organisation whose people can sign in."""
    directory: Path = tmp_path_factory.mktemp("run")
    started = runs.begin(directory, runs.free_port())
    ask(started, "POST", "/v2/agents/support", {"title": "Support"})
    ask(started, "POST", "/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": ["support"]})
    for client_id, name in (("bo", "Bo de Vries"), ("cas", "Cas Smit")):
        client = {"orgId": "acme", "name": name, "email": f"{client_id}@acme.test", "dashboardPassword": PASSWORD}
        ask(started, "POST", f"/v2/clients/{client_id}", client)
    yield started
    runs.kill(started)


@pytest.fixture(scope="module")
def browsers() -> Iterator[tuple[Chrome, Chrome]]:
    """Start two browsers."""
    with chromium.started() as first, chromium.started() as second:
        yield first, second
