"""A delivery's page names the records of its event, and the list tells tests from events."""

import html
import re
from typing import Any

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.rows import queue_event

AGENT: Any = {"agentId": "support", "agentName": "Customer support", "operation": "updated"}
PERSON: Any = {"organisationId": "acme", "clientId": "bo", "clientName": "<b>Bo</b>", "operation": "updated"}
AGENT_ROW = ("Agent", "/agents/support", "Customer support")


@pytest.fixture
def hook(workspace_api: Api) -> str:
    """Return the id of a webhook."""
    webhook = {"url": "https://hooks.test/x", "events": ["lead_captured"]}
    return str(workspace_api.post("/v3/webhooks", {"webhook": webhook}).data["id"])


@pytest.mark.parametrize(
    ("kind", "payload", "rows"),
    [
        ("agent_updated", AGENT, [AGENT_ROW]),
        ("agent_deleted", {**AGENT, "operation": "deleted"}, [("Agent", "", "Customer support")]),
        (
            "message_received",
            {"agentId": "support", "convoId": "ann & co"},
            [("Agent", "/agents/support", "support"), ("Conversation", "/convos/support/ann%20%26%20co", "ann & co")],
        ),
        (
            "lead_captured",
            {**AGENT, "leadEmail": "ann@x.test"},
            [AGENT_ROW, ("Lead", "/leads?q=ann%40x.test", "ann@x.test")],
        ),
        (
            "client_deleted",
            {**PERSON, "operation": "deleted"},
            [("Person", "", "<b>Bo</b>"), ("Organisation", "/settings/orgs/acme", "acme")],
        ),
        (
            "client_updated",
            PERSON,
            [
                ("Person", "/settings/orgs/acme/clients/bo", "<b>Bo</b>"),
                ("Organisation", "/settings/orgs/acme", "acme"),
            ],
        ),
        ("client_created", {**PERSON, "organisationId": ""}, [("Person", "", "<b>Bo</b>")]),
        (
            "organisation_deleted",
            {"organisationId": "acme", "organisationName": "Acme", "operation": "deleted"},
            [("Organisation", "", "Acme")],
        ),
    ],
)
def test_a_delivery_names_the_records_of_its_event(
    operator: Browser, hook: str, workspace: NewWorkspace, kind: str, payload: Any, rows: list[tuple[str, str, str]]
) -> None:
    delivery = queue_event(workspace.workspace_id, hook, kind, payload)
    page = operator.open(f"/settings/webhooks/{hook}/deliveries/{delivery}").text
    found = re.findall('<dt>(\\w+)</dt><dd>(?:<a href="([^"]*)">)?([^<]*)(?:</a>)?</dd>', page)
    shown = [
        (label, html.unescape(path).removeprefix(operator.home), html.unescape(name)) for label, path, name in found
    ]
    assert [row for row in shown if row[0] in ("Agent", "Conversation", "Lead", "Person", "Organisation")] == rows
    assert re.search("createdAt is <time [^>]*>[^<]+</time>, as Unix milliseconds.", page)


def test_the_list_of_deliveries_shows_seconds_and_marks_tests(
    operator: Browser, hook: str, workspace: NewWorkspace, workspace_api: Api
) -> None:
    queue_event(workspace.workspace_id, hook)
    workspace_api.post(f"/v3/webhooks/{hook}/test")
    page = operator.open(f"/settings/webhooks/{hook}").text
    assert len(re.findall('<time datetime="[^"]*" data-as="second">[^<]* \\d\\d:\\d\\d:\\d\\d UTC</time>', page)) == 2
    names = re.findall('<th scope="row"><a href="[^"]*" aria-label="[^"]*">(.*?)</a>', page)
    assert names == ['<em class="state">Test event</em>', "Lead captured"]
