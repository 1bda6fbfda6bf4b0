"""The history of changes made by people who are signed in to the console."""

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.extensions.history.conftest import History, by

extensions.require("console")

from tests.extensions.console.browser import Browser


def test_sessions_of_the_console_are_no_keys_but_name_who_made_a_change(
    history: History, workspace: NewWorkspace, api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    """The credentials table also stores sessions and sign-in attempts."""
    api.post("/v2/agents/support", {"title": "One"})
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support"]})
    api.post("/v2/clients/bo", {"orgId": "acme", "email": "bo@x.test", "dashboardPassword": "the right one"})
    browser = Browser(workspace.workspace_id)
    assert [browser.sign_in("bo@x.test", password).status for password in ("wrong", "the right one")] == [401, 200]
    page = browser.open("/agents/support")
    browser.submit(page, "/agents/support", {"title": "Two"})
    browser.submit(page, "/sign-out", {})
    changed, *created = history.of()
    assert (changed["resource"], by(changed)) == ("agents/support", ("session", "bo"))
    assert sorted(one["resource"].split("/")[0] for one in created) == ["agents", "clients", "keys", "orgs"]
    assert not [one for one in caplog.records if one.name == "chalicelib.queues.stream_batches"]
