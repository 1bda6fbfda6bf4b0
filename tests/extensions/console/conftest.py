"""Fixtures for an organisation whose people sign in and receive email."""

import pytest

from chalicelib.extensions.console.access import sessions
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.mailing import Mailing, settings
from tests.fast_moto import restore_or_create

PASSWORD = "correct horse"
HOSTILE = '"><img src=x onerror=alert(1)>'


@pytest.fixture(autouse=True)
def forgotten_sessions() -> None:
    """Clear the cached sessions before each test."""
    sessions.clear_cache()


@pytest.fixture
def workspace_api(workspace: NewWorkspace) -> Api:
    """Create an organisation that has one agent and one client; return an API client that uses the workspace key."""
    api = Api(workspace.workspace_key)
    _, is_old = restore_or_create("organisation", lambda: _create_organisation(api))
    if is_old:
        api.get("/v2/orgs/acme")  # a request caches the credential
    return api


def _create_organisation(api: Api) -> None:
    api.post("/v2/agents/support", {"title": "Support"})
    api.post("/v2/agents/other", {"title": "Other"})
    api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": ["support"]})
    client = {"orgId": "acme", "name": "Bo de Vries", "email": "bo@acme.test", "dashboardPassword": PASSWORD}
    api.post("/v2/clients/bo", client)


@pytest.fixture
def browser(workspace: NewWorkspace, workspace_api: Api) -> Browser:
    """Return the client's browser, which is not signed in."""
    return Browser(workspace.workspace_id)


@pytest.fixture
def signed_in(browser: Browser) -> Browser:
    """Return the client's browser, which is signed in."""
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


@pytest.fixture
def operator(workspace: NewWorkspace, workspace_api: Api) -> Browser:
    """Return the browser of an operator, who has signed in with the workspace key."""
    browser = Browser(workspace.workspace_id)
    browser.start_session(key=workspace.workspace_key)
    return browser


@pytest.fixture
def mailing(workspace_api: Api, monkeypatch: pytest.MonkeyPatch, pass_time: PassTime) -> Mailing:
    """Return the email pipeline for a client who has enabled notifications."""
    assert workspace_api.post("/v2/clients/bo", settings()).status == 200
    return Mailing(monkeypatch, pass_time)
