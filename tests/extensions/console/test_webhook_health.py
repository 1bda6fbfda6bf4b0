"""Pages show which webhooks fail, and count the events that were delivered."""

import re

import pytest

from chalicelib import errors
from chalicelib.extensions.console.presentation import webhook_health
from chalicelib.sending.sender import Outcome
from chalicelib.webhooks import ledger
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.rows import fail_delivery, queue_event
from tests.extensions.console.test_webhook_pages import deliveries
from tests.extensions.console.test_webhook_pages import path as path


def badges(page: Answer) -> list[str]:
    """Return the numbers of failing webhooks on a page: beside Settings, and beside Webhooks on settings pages."""
    return re.findall(r'<span class="count bad" [^>]*><span class="unseen">[^<]*</span>(\d+)</span>', page.text)


def test_pages_count_the_failing_webhooks_after_the_settings_were_read(
    operator: Browser, path: str, workspace_api: Api, workspace: NewWorkspace
) -> None:
    webhook_id = path.rpartition("/")[2]
    delivery_id = queue_event(workspace.workspace_id, webhook_id)
    page = operator.open("/settings")
    assert (badges(page), "Last delivery failed" in page.text) == ([], False)
    fail_delivery(workspace.workspace_id, webhook_id, delivery_id)
    assert badges(operator.open("/settings")) == []  # the cookie keeps the state for ten minutes
    assert badges(operator.open(path)) == ["1", "1"]
    assert badges(operator.open("/settings/workspace")) == ["1", "1"]
    assert badges(operator.open("/agents")) == ["1"]
    other = operator.another()
    other.start_session(key=workspace.workspace_key)
    assert badges(other.open("/agents")) == badges(other.open("/settings/workspace")) == []  # these read no webhook
    assert badges(other.open("/settings")) == badges(other.open("/settings/workspace")) == ["1", "1"]
    assert "Last delivery failed" in other.open("/settings").text
    queue_event(workspace.workspace_id, webhook_id)
    assert badges(operator.open(path)) == ["1", "1"]  # the newest delivery is pending
    operator.submit(operator.open(path), path, {"action": "pause"})
    assert badges(operator.open("/agents")) == []
    other.submit(other.open(path), path, {"action": "delete"})
    assert badges(other.open("/settings")) == []


def test_a_failed_test_is_no_failing_event_but_the_webhook_is_not_active(
    operator: Browser, path: str, workspace_api: Api, workspace: NewWorkspace
) -> None:
    webhook_id = path.rpartition("/")[2]
    for _ in range(4):
        operator.submit(operator.open(path), path, {"action": "test"})
    for test in deliveries(workspace_api, path):
        fail_delivery(workspace.workspace_id, webhook_id, test["id"])
    assert badges(operator.open("/settings")) == badges(operator.open(path)) == []
    page = operator.open(path).text
    assert '<em class="state bad">Test failed</em>' in page and "Redeliver failed events" not in page
    assert "The event was never sent." in page and "Change the URL" not in page
    assert "Test failed</em>" not in operator.open(f"{path}?status=failed").text
    assert "No event sent in the last 30 days, apart from tests." in page
    last = f'<a href="{operator.home}{path}/deliveries/{test["id"]}"><time '
    assert f'<strong class="error">Last test failed</strong>: It was not sent in time. · {last}' in page
    operator.submit(operator.open(path), path, {"action": "test"})
    finish(workspace.workspace_id, webhook_id, deliveries(workspace_api, path)[-1]["id"], 404)
    assert (
        f'<a class="button" href="{operator.home}{path}?change=url#details">Change the URL</a>'
        in operator.open(path).text
    )
    event = queue_event(workspace.workspace_id, webhook_id)
    fail_delivery(workspace.workspace_id, webhook_id, event)
    operator.submit(operator.open(path), path, {"action": "test"})
    finish(workspace.workspace_id, webhook_id, deliveries(workspace_api, path)[-1]["id"])
    page = operator.open(path).text
    assert "0 of 1 delivered" in page and '<em class="state bad">Failing</em>' in page  # a test repairs nothing
    assert '<strong class="good">Last test delivered</strong> · <a ' in page
    assert badges(operator.open(path)) == ["1", "1"]
    operator.submit(operator.open(path), path, {"action": "pause"})
    assert '<em class="state ">Paused</em>' in operator.open(path).text


def test_the_number_of_delivered_events_says_what_it_does_not_count(
    operator: Browser, path: str, workspace_api: Api, workspace: NewWorkspace
) -> None:
    webhook_id = path.rpartition("/")[2]
    for _ in range(2):
        queue_event(workspace.workspace_id, webhook_id)
        operator.submit(operator.open(path), path, {"action": "test"})
    for one in deliveries(workspace_api, path):
        finish(workspace.workspace_id, webhook_id, one["id"])
    assert re.search(
        "2 of 2 delivered</strong> since <time[^>]*>[^<]*</time> · apart from tests \\(2\\)<", operator.open(path).text
    )
    operator.submit(operator.open(path), f"/deliveries/{deliveries(workspace_api, path)[0]['id']}", {})
    omitted = "apart from tests (2) · apart from earlier deliveries of the same events (1) · not sent yet (1)<"
    assert omitted in operator.open(path).text
    finish(workspace.workspace_id, webhook_id, deliveries(workspace_api, path)[-1]["id"])
    assert "apart from earlier deliveries of the same events (1)<" in operator.open(path).text


def finish(workspace_id: str, webhook_id: str, delivery_id: str, status: int = 200) -> None:
    """Record the status with which the receiver responded to a delivery."""
    row = ledger.read(workspace_id, webhook_id, delivery_id)
    assert ledger.claim(row)
    ledger.record_outcome(row, Outcome(status, None if status == 200 else f"The receiver responded with {status}.", 12))


def test_settings_open_without_the_state_of_the_webhooks(
    operator: Browser, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_webhooks: object) -> frozenset[str]:
        raise errors.NotFound.of("webhook")  # deleted after it was listed

    monkeypatch.setattr(webhook_health, "read", fail)
    page = operator.open("/settings")
    assert (page.status, badges(page)) == (200, []) and path in page.text


def test_people_see_no_failing_webhooks(browser: Browser, operator: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    browser.cookie += f"; {webhook_health.COOKIE}=01m8fbf7c5ehz0a4g40hsm8r6p"
    assert badges(browser.open("/overview")) == []
    operator.cookie += f"; {webhook_health.COOKIE}=<b>.01m8fbf7c5ehz0a4g40hsm8r6p.x"
    assert badges(operator.open("/agents")) == ["1"]
