"""Fixtures for a service whose people sign in with a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.browser import chromium
from tests.extensions.console.in_browser.person import LIVE, PASSWORD, Person, ask, converse
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


@pytest.fixture
def person(browsers: tuple[Chrome, Chrome], run: Run) -> Iterator[Person]:
    """Open a conversation page. Fail if the browser reports an error during the test."""
    converse(run, "live", {"userName": "Ann", "state": "requested_chat"}, [{"mid": "1", "item": {"text": "Hello"}}])
    person = Person(browsers[0], run)
    person.be_signed_in()
    person.open(LIVE)
    person.sees("Hello")
    yield person
    person.be_offline(False)
    assert [one for one in person.log() if "ERR_INTERNET_DISCONNECTED" not in one] == []
