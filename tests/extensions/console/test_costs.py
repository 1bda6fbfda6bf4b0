"""Each console page's cost and size, and the overview's maximum size."""

import base64
import random

import pytest

from chalicelib import clock
from chalicelib.workspaces.store import NewWorkspace
from tests import costs, extensions
from tests.api import Api
from tests.capacity import metered
from tests.extensions.console.browser import Browser, live_path
from tests.extensions.console.conftest import PASSWORD
from tests.followers import follow
from tests.webhooks.pipeline import Stream

extensions.require("erasures", "history", "reports", "transcripts")

from tests.extensions.console.stored_counts import count
from tests.extensions.console.test_inbox_updates import update_path

NOW = 1_795_435_200  # noon, so that every run covers the same days
LIVE = "live"
PAGES = {
    "/overview": "/console/overview",
    "/convos": "/console/convos",
    "/convos?tab=all": "/console/convos?tab=all",
    "/convos?tab=all&agent=support&q=know": "/console/convos?tab=all&agent={id}&q={text}",
    "/convos/support/ann-0": "/console/convos/{agent}/{id}",
    "/convos/support/ann-0?tab=all&agent=support&q=know": "/console/convos/{agent}/{id}?tab=all&agent={id}&q={text}",
    LIVE: "poll of /console/convos/{agent}/{id}",
    "/analytics": "/console/analytics",
    "/analytics?days=90&by=country": "/console/analytics?days=90&by=country",
    "/analytics?by=person": "/console/analytics?by=person",
    "/leads": "/console/leads",
    "/jump?q=support": "/console/jump?q={text}",
    "/agents": "/console/agents",
    "/agents/support": "/console/agents/{id}",
    "/agents/support/versions": "/console/agents/{id}/versions",
    "/agents/support/replies": "/console/agents/{id}/replies",
    "/settings/orgs/acme": "/console/settings/orgs/{id}",
    "/leads/support/{lead}": "/console/leads/{agent}/{id}",
    "/convos/support/ann-0/delete": "/console/convos/{agent}/{id}/delete",
    "/convos/support/ann-0/messages/{message}": "/console/convos/{agent}/{id}/messages/{id}",
    "/convos.csv": "/console/convos.csv",
    "/account": "/console/account",
    "/forgot-password": "/console/forgot-password",
}
OPERATOR_PAGES = {
    "/settings": "/console/settings",
    "/organisation": "/console/organisation",
    "/jump?q=support": "/console/jump?q={text} of an operator",
    "/settings/workspace": "/console/settings/workspace",
    "/settings/usage": "/console/settings/usage",
    "/settings/audit": "/console/settings/audit",
    "/settings/erasures": "/console/settings/erasures",
    "/settings/erasures?email=ann%40a.test": "/console/settings/erasures?email={email}",
    "/settings/erasures/{erasure}": "/console/settings/erasures/{id}",
    "/settings/orgs/acme/agents": "/console/settings/orgs/{id}/agents",
    "/settings/webhooks/{webhook}": "/console/settings/webhooks/{id}",
    "/agents/support/try": "/console/agents/{id}/try",
    "/agents/support/site": "/console/agents/{id}/site",
    "/agents/support/delete": "/console/agents/{id}/delete",
    "/agents/support/tools/{tool}/settings": "/console/agents/{id}/tools/{id}/settings",
    "/agents/support/tools/{tool}/versions": "/console/agents/{id}/tools/{id}/versions",
    "/new-agent": "/console/new-agent",
    "/agents/support/new-tool": "/console/agents/{id}/new-tool",
    "/settings/new-org": "/console/settings/new-org",
    "/settings/new-webhook": "/console/settings/new-webhook",
    "/settings/orgs/acme/new-client": "/console/settings/orgs/{id}/new-client",
    "/settings/orgs/acme/clients/bo": "/console/settings/orgs/{id}/clients/{id}",
    "/settings/webhooks/{webhook}/deliveries/{delivery}": "/console/settings/webhooks/{id}/deliveries/{id}",
}


@pytest.fixture
def signed_in(
    browser: Browser, workspace_api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> Browser:
    """Return the client's browser, and store 100 conversations, 60 leads, and counts for 180 days."""
    monkeypatch.setattr(clock, "milliseconds", lambda: NOW * 1000)
    for number in range(100):
        text = f"Message {number} says what a visitor would like to know."
        turns = [{"from": "human", "messages": [{"item": {"text": text}} for _ in range(20)]}]
        metadata = {"userName": f"Ann {number}", "state": ("requested_chat", "ended_chat")[number % 2]}
        body = {"turns": turns, "metadata": metadata}
        assert workspace_api.post(f"/agents/support/interact/ann-{number}/state", body).status == 200
    for number in range(60):
        workspace_api.post(
            "/v3/leads", {"lead": {"agentId": "support", "convoId": f"ann-{number}", "email": f"ann-{number}@b.test"}}
        )
    for day in range(180):
        date, country = clock.iso(NOW - day * 24 * 60 * 60)[:10], ("NL", "BE")[day % 2]
        count(workspace.workspace_id, "support", date, 9, country, conversations=12, messages=80, seconds=900)
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def test_a_page_has_its_documented_cost(signed_in: Browser, workspace_api: Api) -> None:
    live = "/convos/support/ann-0" + live_path(signed_in.open("/convos/support/ann-0").text)
    lead = workspace_api.get("/v3/leads?agentId=support").data[0]["id"]
    message = workspace_api.get("/v3/agents/support/convos/ann-0/messages").data[0]["mid"]
    for path, name in PAGES.items():
        with metered() as meter:
            answer = signed_in.open(live if path == LIVE else path.format(lead=lead, message=message))
        assert (answer.status, meter.writes) == (204 if path == LIVE else 200, 0)
        size = len(answer.text.encode())
        assert size < 100_000 or path != "/overview"
        costs.check(name, meter, page=None if path == LIVE else answer.text)


@pytest.mark.usefixtures("midday")
def test_an_operators_page_has_its_documented_cost(operator: Browser, workspace_api: Api) -> None:
    hook = {"url": "https://hooks.test/x", "events": ["lead_captured"]}
    records = {
        "erasure": workspace_api.post("/v3/erasures", {"erasure": {"userID": "someone"}}),
        "webhook": workspace_api.post("/v3/webhooks", {"webhook": hook}),
        "tool": workspace_api.post("/v3/agents/support/tools", {"tool": {"name": "Look up"}}),
    }
    ids = {name: answer.data["id"] for name, answer in records.items()}
    ids["delivery"] = workspace_api.post(f"/v3/webhooks/{ids['webhook']}/test").data["id"]
    operator.open("/settings")  # caches the session
    for path, name in OPERATOR_PAGES.items():
        with metered() as meter:
            answer = operator.open(path.format(**ids))
        assert (answer.status, meter.writes) == (200, 0)
        costs.check(name, meter, page=answer.text)


@pytest.mark.usefixtures("signed_in")
def test_finding_an_agents_newest_visitor_has_its_documented_cost(operator: Browser) -> None:
    operator.open("/settings")  # caches the session
    with metered() as meter:
        page = operator.open("/agents/support/site").text
    assert "A visitor has written." in page
    costs.check("/console/agents/{id}/site of an agent with 100 conversations", meter, page=page)


@pytest.mark.usefixtures("midday")
def test_finding_the_failing_webhooks_has_its_documented_cost(operator: Browser, workspace_api: Api) -> None:
    for number in range(10):
        hook = {"url": f"https://hooks.test/{number}", "events": ["lead_captured"]}
        workspace_api.post("/v3/webhooks", {"webhook": hook})
    operator.open("/account")  # caches the session
    names = {
        "/console/settings/workspace": "/settings/workspace",  # reads no webhook
        "/console/settings that checks ten webhooks": "/settings",
        "/console/settings with ten webhooks": "/settings",
    }
    for name, path in names.items():
        with metered() as meter:
            page = operator.open(path).text
        costs.check(name, meter, page=page)


@pytest.mark.usefixtures("midday")
def test_a_version_has_its_documented_cost(operator: Browser, workspace_api: Api) -> None:
    stream = Stream("agents")
    for title in ("Before", "After"):
        workspace_api.patch("/v3/agents/support", {"agent": {"title": title}})
        follow("agents", stream.read("agents"))
    number = workspace_api.get("/v3/agents/support/versions").data[0]["number"]
    operator.open("/settings")  # caches the session
    with metered() as meter:
        page = operator.open("/agents/support/versions").text
    assert "<ins>After</ins>" in page
    costs.check("/console/agents/{id}/versions with two versions", meter, page=page)
    with metered() as meter:
        page = operator.open(f"/agents/support/versions/{number}").text
    assert "<ins>+ After</ins>" in page
    costs.check("/console/agents/{id}/versions/{number}", meter, page=page)
    with metered() as meter:
        page = operator.open("/settings/audit").text
    assert "After</a>" in page
    costs.check("/console/settings/audit with changes to one agent", meter, page=page)


@pytest.mark.usefixtures("midday")
def test_the_first_steps_have_their_documented_cost(workspace: NewWorkspace) -> None:
    browser = Browser(workspace.workspace_id)
    browser.start_session(key=workspace.workspace_key)
    names = ("/console/overview of a workspace with no agent", "/console/overview of a workspace with one agent")
    for name in names:
        with metered() as meter:
            page = browser.open("/overview").text
        assert "First steps" in page
        costs.check(name, meter, page=page)
        Api(workspace.workspace_key).post("/v2/agents/support", {"title": "Support"})


def test_a_known_visitors_conversation_has_its_documented_cost(
    signed_in: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for later, convo_id in enumerate(("before", "now"), 1):
        monkeypatch.setattr(clock, "milliseconds", lambda later=later: NOW * 1000 + later)
        body = {"metadata": {"userEmail": "ann-0@b.test"}}
        assert workspace_api.post(f"/agents/support/interact/{convo_id}/state", body).status == 200
    signed_in.open("/convos")  # caches the session
    with metered() as meter:
        page = signed_in.open("/convos/support/now").text
    assert "Earlier conversations" in page
    costs.check("/console/convos/{agent}/{id} of a visitor with an email", meter, page=page)


def test_leads_of_large_conversations_have_their_documented_cost(
    browser: Browser, workspace_api: Api, workspace: NewWorkspace
) -> None:
    texts = [base64.b64encode(random.Random(seed).randbytes(4_700)).decode() for seed in range(15)]
    turns = [{"from": "human", "messages": [{"item": {"text": f"Is it far? {text}"}}]} for text in texts]
    for number in range(50):
        path = f"/agents/support/interact/ann-{number}/state"
        assert workspace_api.post(path, {"turns": turns}).status == 200
        workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "convoId": f"ann-{number}"}})
    browser.start_session(key=workspace.workspace_key)
    browser.open("/account")  # caches the session
    with metered() as meter:
        page = browser.open("/leads").text
    assert page.count('<td class="asked"><span>Is it far?') == 10
    costs.check("/console/leads with 50 conversations of 95 KB", meter, page=page)


def test_unchanged_lists_have_their_documented_cost(signed_in: Browser) -> None:
    names = {
        "/convos": "poll of the list in the console",
        "/convos?tab=all": "poll of the list of all in the console",
    }
    for path, name in names.items():
        update = update_path(signed_in, signed_in.open(path))
        with metered() as meter:
            assert signed_in.open(update).status == 204
        costs.check(name, meter)
    with metered() as meter:
        assert signed_in.open("/inbox?version=50").status == 204
    costs.check("poll of the number that waits in the console", meter)


def test_news_have_their_documented_cost(signed_in: Browser, workspace_api: Api) -> None:
    path = "/convos/support/ann-0"
    page = signed_in.open(path)
    message = {"messages": [{"from": "human", "item": {"text": "And another question."}}]}
    workspace_api.post("/v3/agents/support/convos/ann-0/messages", message)
    with metered() as meter:
        assert "another question" in signed_in.open(path + live_path(page.text)).text
    costs.check("poll of /console/convos/{agent}/{id} with a new message", meter)
