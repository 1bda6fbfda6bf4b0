"""Operators create, test, pause, rotate and delete webhooks in the console."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from chalicelib.extensions import has
from chalicelib.extensions.console.presentation import rendering
from chalicelib.extensions.console.settings_pages import webhooks
from chalicelib.sending.sender import Outcome
from chalicelib.webhooks import events, ledger
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.decrypted_items import messages
from tests.extensions.console.browser import Browser, csrf_field, is_asked_once
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.rows import fail_delivery, queue_event
from tests.extensions.console.test_settings import made_webhook
from tests.moto_tables import snapshot

NEW = {"url": "https://hooks.test/x", "description": "CRM", "events.lead_captured": "on", "events.client_created": "on"}
SECRET = re.compile(r'<code class="secret" data-copy="Copy" data-copied="Copied">([^<]+)</code>')


@pytest.fixture
def path(workspace_api: Api) -> str:
    """Return the path of a webhook's page."""
    webhook = {"url": "https://hooks.test/x", "events": ["lead_captured"]}
    return f"/settings/webhooks/{workspace_api.post('/v3/webhooks', {'webhook': webhook}).data['id']}"


def secrets(page: Answer) -> list[str]:
    return SECRET.findall(page.text)


def test_a_new_webhook_shows_its_secret_once(operator: Browser, workspace_api: Api) -> None:
    page = operator.open("/settings/new-webhook")
    first, again = (operator.submit(page, "/new-webhook", NEW) for _ in range(2))
    assert "The webhook has been created." in first.text and len(secrets(first)) == 1
    assert secrets(again) == secrets(first)
    (webhook,) = workspace_api.get("/v3/webhooks").data
    assert (webhook["url"], webhook["description"]) == ("https://hooks.test/x", "CRM")
    assert sorted(webhook["events"]) == ["client_created", "lead_captured"]
    later = operator.open(f"/settings/webhooks/{webhook['id']}")
    assert later.status == 200 and secrets(first)[0] not in later.text and not secrets(later)


def test_a_link_selects_the_events_of_a_new_webhook(operator: Browser) -> None:
    plain = operator.open("/settings/new-webhook").text
    assert 'checkbox" checked' not in plain and 'aria-current="true"><strong>Other events</strong>' in plain
    page = operator.open("/settings/new-webhook?event=message_received&event=lead_captured&event=<b>").text
    selected = re.findall(r'name="events.([a-z_]+)" type="checkbox" checked', page)
    assert (sorted(selected), "<b>" in page) == (["lead_captured", "message_received"], False)
    page = operator.open("/settings/new-webhook?event=message_received")
    submitted = operator.submit(page, "/new-webhook", {"events.lead_captured": "on"})  # without a URL
    for text, current in ((page.text, "Answer with a bot"), (submitted.text, "Pass on new leads")):
        assert re.findall('aria-current="true"><strong>([^<]*)</strong>', text) == [current]


def test_a_preset_selects_events_and_keeps_what_was_typed(operator: Browser, workspace_api: Api) -> None:
    sent = {"description": "CRM", "url": "https://hooks.test/x", "events.client_created": "on", "preset": "leads"}
    page = operator.submit(operator.open("/settings/new-webhook"), "/new-webhook", sent)
    assert page.status == 200 and 'value="CRM"' in page.text and 'value="https://hooks.test/x"' in page.text
    assert re.findall(r'name="events.([a-z_]+)" type="checkbox" checked', page.text) == ["lead_captured"]
    others = operator.submit(page, "/new-webhook", {**sent, "preset": "other"})
    assert 'value="CRM"' in others.text and 'checkbox" checked' not in others.text
    assert workspace_api.get("/v3/webhooks").data == []
    # The key Enter presses the first button of a form, which must create the webhook.
    assert re.findall('<button[^>]* form="new-webhook"[^>]*>', page.text)[0].count("preset") == 0


@pytest.mark.parametrize(
    ("changed", "field", "rule"),
    [
        ({"url": "http://hooks.test"}, "url", ""),
        ({"url": ""}, "url", "Enter a URL."),
        ({"events.lead_captured": ""}, "events", "Select at least one event."),
    ],
)
def test_an_invalid_webhook_is_shown_again(operator: Browser, changed: dict[str, str], field: str, rule: str) -> None:
    sent = {**NEW, "events.client_created": "", **changed}
    refused = operator.submit(operator.open("/settings/new-webhook"), "/new-webhook", sent)
    assert (refused.status, f'id="wrong-{field}">{rule}' in refused.text, 'value="CRM"' in refused.text) == (
        400,
        True,
        True,
    )


def test_a_test_is_queued_once_per_form(
    operator: Browser, path: str, workspace_api: Api, workspace: NewWorkspace
) -> None:
    page = operator.open(path)
    for _ in range(2):
        tested = operator.submit(page, path, {"action": "test"})
        assert "The test event has been queued." in tested.text and tested.headers["refresh"] == "3"
    assert "refresh" not in operator.open(path).headers
    (test,) = deliveries(workspace_api, path)
    fail_delivery(workspace.workspace_id, path.rpartition("/")[2], test["id"])
    finished = operator.open(f"{path}?saved=test")
    assert "has been queued" not in finished.text and "refresh" not in finished.headers
    assert test["type"] == "webhook_test"


def test_a_webhook_pauses_and_resumes(operator: Browser, path: str, workspace_api: Api) -> None:
    for action, text, is_enabled in (("pause", "is paused", False), ("resume", "sends events again", True)):
        assert text in operator.submit(operator.open(path), path, {"action": action}).text
        assert workspace_api.get("/v3/webhooks").data[0]["enabled"] is is_enabled


def test_a_rotation_shows_the_new_secret_and_rotates_once_per_form(operator: Browser, path: str) -> None:
    page = operator.open(path)
    first, again = (operator.submit(page, path, {"action": "rotate"}) for _ in range(2))
    assert len(secrets(first)) == 1 and secrets(again) == secrets(first)
    assert "For 24 hours, the old secret also signs deliveries." in first.text
    other = operator.submit(operator.open(path), path, {"action": "rotate"})
    assert secrets(other) != secrets(first)


def test_a_webhook_is_deleted_after_a_question(operator: Browser, path: str, workspace_api: Api) -> None:
    page = operator.open(path)
    assert "This cannot be undone." in page.text
    for _ in range(2):
        assert "The webhook has been deleted." in operator.submit(page, path, {"action": "delete"}).text
    assert workspace_api.get("/v3/webhooks").data == []


@pytest.mark.skipif(not has("feeds"), reason="Pull endpoints need the extension feeds.")
def test_a_pull_endpoint_can_be_paused_and_deleted(operator: Browser, workspace_api: Api) -> None:
    webhook = workspace_api.post("/v3/webhooks", {"webhook": {"kind": "pull", "events": ["lead_captured"]}}).data
    path = f"/settings/webhooks/{webhook['id']}"
    page = operator.open(path)
    assert 'value="rotate"' not in page.text and 'value="test"' not in page.text
    assert "is paused" in operator.submit(page, path, {"action": "pause"}).text
    assert "has been deleted" in operator.submit(page, path, {"action": "delete"}).text


def test_a_webhook_of_messages_says_how_a_bot_answers(operator: Browser, path: str, workspace_api: Api) -> None:
    assert "{convoId}" not in operator.open(path).text
    workspace_api.patch(f"/v3{path.removeprefix('/settings')}", {"webhook": {"events": ["message_received"]}})
    page = operator.open(path).text
    answer = page.partition("Answer with a bot</summary>")[2].partition("</details>")[0]
    assert "POST /agents/{agentId}/interact/{convoId}/messages\nAuthorization: Bearer " in answer
    body = json.loads(html.unescape(re.sub("<[^>]*>", "", answer.partition("\n\n")[2].partition("</pre>")[0])))
    body["messages"][0]["mid"] = body.pop("inReplyTo")  # the visitor's message has a new id
    sent = workspace_api.post("/agents/support/interact/ann/messages", body)
    assert (sent.status, body["messages"][0]["from"]) == (200, "bot")
    assert 'href="/docs">Read the documentation</a>' in answer


def test_a_webhook_is_changed(operator: Browser, path: str, workspace_api: Api) -> None:
    shown, page = operator.open(path), operator.open(f"{path}?change=details")
    assert f'{path}?change=details#details">Change</a>' in shown.text and "events.lead_captured" not in shown.text
    assert "Lead captured" in shown.text and 'name="events.lead_captured" type="checkbox" checked' in page.text
    change = {"action": "save", "url": " https://hooks.test/y ", "description": "CRM", "events.agent_created": "on"}
    assert "The webhook has been saved." in operator.submit(page, path, change).text
    (webhook,) = workspace_api.get("/v3/webhooks").data
    assert (webhook["url"], webhook["description"]) == ("https://hooks.test/y", "CRM")
    assert webhook["events"] == ["agent_created"]
    stale = operator.submit(page, path, {**change, "description": "Mine", "events.client_created": "on"})
    assert (stale.status, "Someone else has saved this" in stale.text, 'value="Mine"' in stale.text) == (
        412,
        True,
        True,
    )
    assert workspace_api.get("/v3/webhooks").data[0]["description"] == "CRM"
    operator.submit(operator.open(f"{path}?change=details"), path, {**change, "description": ""})
    assert workspace_api.get("/v3/webhooks").data[0]["description"] is None


@pytest.mark.parametrize(
    ("changed", "field"), [({"url": "http://hooks.test", "events.lead_captured": "on"}, "url"), ({}, "events")]
)
def test_an_invalid_change_of_a_webhook_is_shown_again(
    operator: Browser, path: str, workspace_api: Api, changed: dict[str, str], field: str
) -> None:
    sent = {"action": "save", "url": "https://hooks.test/y", "description": "CRM", **changed}
    before = workspace_api.get("/v3/webhooks").data
    refused = operator.submit(operator.open(f"{path}?change=details"), path, sent)
    assert (refused.status, f'id="wrong-{field}"' in refused.text, 'value="CRM"' in refused.text) == (400, True, True)
    assert workspace_api.get("/v3/webhooks").data == before


@pytest.mark.skipif(not has("feeds"), reason="Pull endpoints need the extension feeds.")
def test_a_pull_endpoint_is_changed_without_a_url(operator: Browser, workspace_api: Api) -> None:
    webhook = workspace_api.post("/v3/webhooks", {"webhook": {"kind": "pull", "events": ["lead_captured"]}}).data
    path = f"/settings/webhooks/{webhook['id']}"
    page = operator.open(f"{path}?change=details")
    saved = operator.submit(page, path, {"action": "save", "events.agent_created": "on"})
    assert "The webhook has been saved." in saved.text
    assert workspace_api.get("/v3/webhooks").data[0]["events"] == ["agent_created"]


def test_each_event_has_a_name_and_a_group() -> None:
    for language in rendering.LANGUAGES:
        t = rendering.texts(language)
        assert [one for one in events.TYPES if t.named("webhook_event", one) == one] == []
        assert [one for one in webhooks.event_groups() if t.named("event_group", one) == one] == []


@pytest.mark.parametrize("action", ["save", "test", "pause", "resume", "rotate", "delete", "", "nonsense"])
def test_only_operators_act_on_webhooks(
    action: str, browser: Browser, operator: Browser, path: str, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    form = csrf_field(browser.open("/account"))
    before = snapshot()
    assert browser.post(path, {**form, "action": action}).status == 403
    assert operator.post(path, {**form, "action": action}).status == 403
    assert snapshot() == before


def test_an_unknown_action_is_an_error(operator: Browser, path: str) -> None:
    assert operator.submit(operator.open(path), path, {"action": "nonsense"}).status == 400


def deliveries(api: Api, path: str) -> list[dict[str, Any]]:
    """Return the deliveries of the webhook at this path, oldest first."""
    listed: list[dict[str, Any]] = api.get(f"/v3{path.removeprefix('/settings')}/deliveries").data
    return listed[::-1]


def test_a_delivery_shows_the_body_without_its_secret(
    operator: Browser, path: str, workspace: NewWorkspace, workspace_api: Api
) -> None:
    operator.submit(operator.open(path), path, {"action": "test"})
    (delivery,) = deliveries(workspace_api, path)
    assert f"{path}/deliveries/{delivery['id']}" in operator.open(path).text
    page = operator.open(f"{path}/deliveries/{delivery['id']}")
    assert "A test of this webhook endpoint." in page.text and "cams_events_" not in page.text
    assert "<dd>https://hooks.test/x</dd>" in page.text and "<dt>Response status</dt><dd>No response</dd>" in page.text
    assert "queued" in operator.submit(page, f"/deliveries/{delivery['id']}", {}).text
    assert len(deliveries(workspace_api, path)) == 2
    ledger.delete_events(workspace.workspace_id, [delivery["eventId"]])
    assert "The event is no longer stored." in operator.open(f"{path}/deliveries/{delivery['id']}").text
    assert operator.open(f"{path}/deliveries/unknown").status == 404


@pytest.mark.parametrize(
    ("status", "error", "step"),
    [
        (None, "DNS lookup failed.", "Check the URL"), (204, "The receiver responded with 204.", "Respond with 200"),
        (302, "The receiver responded with 302.", "Redirects are not followed."), (503, "x", "Your server failed."),
        (401, "The receiver responded with 401.", "Your server rejected the event."), (999, "x", "Check the URL"),
    ],
)  # fmt: skip
def test_a_failed_delivery_begins_with_the_reason_and_the_next_step(
    operator: Browser, path: str, workspace: NewWorkspace, workspace_api: Api, status: int | None, error: str, step: str
) -> None:
    queue_event(workspace.workspace_id, path.rpartition("/")[2])
    (delivery,) = deliveries(workspace_api, path)
    row = ledger.read(workspace.workspace_id, path.rpartition("/")[2], delivery["id"])
    assert ledger.claim(row)
    ledger.record_outcome(row, Outcome(status, error, 12))
    page = operator.open(f"{path}/deliveries/{delivery['id']}").text
    reason = page.index(f'<p class="error">{error}</p><p>')
    assert reason < page.index(step) < page.index("Redeliver") < page.index("Body that was sent")
    assert page.count(delivery["eventId"]) == 1 and "<dt>webhook-id</dt>" in page
    has_wrong_url = step not in ("Respond with 200", "Your server failed.")
    links = re.findall(r'<a class="button" href="[^"]*(/settings/[^"]*)">Change the URL</a>', page)
    assert links == ([f"{path}?change=url#details"] if has_wrong_url else [])
    assert "This delivery is not retried automatically." in page and "<dt>Attempts</dt><dd>1</dd>" in page
    webhook, changed = (operator.open(f"{path}{query}").text for query in ("", "?change=url"))
    assert ('name="url"' in webhook, 'name="url"' in changed) == (False, True)
    assert f'<p class="error">{error}</p>' in webhook and step in webhook and "are stored for 30 days" in webhook
    assert "Deliveries to hooks.test fail</h2>" in webhook
    style = "second" if has_wrong_url else ""
    assert f'<summary class="button {style}">Redeliver failed events</summary>' in webhook


def test_the_sample_of_a_delivery_is_the_documented_one(operator: Browser) -> None:
    documented = re.search("<!-- events -->\n```json\n(.*?)```", Path("docs/webhooks.md").read_text("utf-8"), re.DOTALL)
    assert documented and json.loads(documented[1]) == webhooks.SAMPLE
    page = operator.open("/settings/new-webhook").text
    (shown,) = re.findall('<pre class="code snippet json"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert '<span class="name">&#34;convoId&#34;</span>: <span class="string">&#34;ann&#34;</span>,' in shown
    assert json.loads(html.unescape(re.sub("<[^>]*>", "", shown))) == webhooks.SAMPLE


def test_each_outcome_has_its_explanation() -> None:
    outcomes = {*webhooks.STATUSES, "2xx", "3xx", "4xx", "5xx", "unreachable"} - {"failed"}
    for language in rendering.LANGUAGES:
        t = rendering.texts(language)
        assert all(t(f"delivery_step.{outcome}") for outcome in outcomes)


def test_what_failed_is_sent_again_once_per_form(
    operator: Browser, path: str, workspace: NewWorkspace, workspace_api: Api
) -> None:
    for _ in range(4):
        queue_event(workspace.workspace_id, path.rpartition("/")[2])
    page = operator.open(path)
    assert "Redeliver failed events" not in page.text and "delivered</strong>" not in page.text
    sent = deliveries(workspace_api, path)
    for delivery in sent[:3]:
        fail_delivery(workspace.workspace_id, path.rpartition("/")[2], delivery["id"])
    ledger.delete_events(workspace.workspace_id, [sent[0]["eventId"]])
    page = operator.open(path)
    assert re.search("0 of 3 delivered</strong> since <time[^>]*>[^<]*</time> · last failure <time", page.text)
    assert '<em class="state bad">Failing</em>' in page.text
    assert '<p class="error">It was not sent in time.</p>' in page.text
    assert (page.text.count("It was not sent in time."), page.text.count("Same cause as above")) == (1, 3)
    assert "delivered</strong>" not in operator.open(f"{path}?status=expired").text
    for _ in range(2):
        assert "The events have been queued again." in operator.submit(page, f"{path}/deliveries", {}).text
    again = deliveries(workspace_api, path)[4:]
    assert sorted(one["eventId"] for one in again) == sorted(one["eventId"] for one in sent[1:3])


def test_an_event_is_not_offered_again_for_each_of_its_deliveries(
    operator: Browser, path: str, workspace: NewWorkspace, workspace_api: Api
) -> None:
    webhook_id = path.rpartition("/")[2]
    for _ in range(2):
        fail_delivery(workspace.workspace_id, webhook_id, queue_event(workspace.workspace_id, webhook_id))
    page = operator.submit(operator.open(path), f"{path}/deliveries", {})
    sent_again = [one["id"] for one in deliveries(workspace_api, path)[2:]]
    for shown in (page, operator.open(f"{path}?status=expired")):
        assert (offered(shown), "Redeliver failed events" in shown.text) == (
            [],
            False,
        )  # the new deliveries are pending
    for delivery_id in sent_again:
        fail_delivery(workspace.workspace_id, webhook_id, delivery_id)
    page = operator.open(path)
    assert sorted(offered(page)) == sorted(sent_again) and "0 of 2 delivered" in page.text
    assert "are sent again, except tests: 2." in page.text


def offered(page: Answer) -> list[str]:
    """Return the ids of the deliveries that the page's form sends again."""
    return re.findall(r'name="delivery\.\d+" value="([^"]+)"', page.text)


def test_a_delivery_is_delivered_again(operator: Browser, workspace_api: Api) -> None:
    hook = made_webhook(workspace_api)
    workspace_api.post(f"/v3/webhooks/{hook}/test")
    assert "hooks.test" in operator.open("/settings").text
    page = operator.open(f"/settings/webhooks/{hook}")
    waiting = len([*messages()])
    (first,) = workspace_api.get(f"/v3/webhooks/{hook}/deliveries").data
    assert is_asked_once(page, f"/deliveries/{first['id']}")
    again = operator.submit(page, f"/deliveries/{first['id']}", {})
    assert "queued again" in again.text
    assert len([*messages()]) == waiting + 1
    assert len(workspace_api.get(f"/v3/webhooks/{hook}/deliveries").data) == 2
    assert operator.open(f"/settings/webhooks/{hook}?status=failed").status == 200


@pytest.mark.skipif(not has("feeds"), reason="The extension feeds is off.")
def test_a_pull_endpoint_is_shown_without_a_url_and_deliveries(operator: Browser, workspace_api: Api) -> None:
    body = {"webhook": {"kind": "pull", "events": ["lead_captured"], "description": "Nightly sync"}}
    hook = workspace_api.post("/v3/webhooks", body).data["id"]
    listed = operator.open("/settings").text
    assert f"/settings/webhooks/{hook}" in listed and "<span>pull</span>" in listed
    for query in ("", "?status=failed"):
        page = operator.open(f"/settings/webhooks/{hook}{query}")
        assert page.status == 200
        assert "Nightly sync" in page.text and "lead_captured" in page.text
        assert f"/v3/webhooks/{hook}/events" in page.text
        assert "<dt>URL</dt>" not in page.text and "Deliveries" not in page.text
