"""The first steps of an operator: from an empty workspace to a conversation, in the browser alone."""

import html
import json
import re

import pytest

from chalicelib.extensions import has
from chalicelib.extensions.console.agent_pages import agent_records
from chalicelib.extensions.console.inbox_pages import conversation_list
from chalicelib.extensions.console.notifications import inbox
from chalicelib.webhooks import queue
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.rows import fail_delivery, queue_event
from tests.followers import follow
from tests.moto_tables import items
from tests.webhooks import pipeline

STEPS = ["Create an agent", "Try it", "Put it on a site", "Invite a colleague"]


@pytest.fixture
def api(workspace: NewWorkspace) -> Api:
    """Return an API client of an empty workspace."""
    return Api(workspace.workspace_key)


@pytest.fixture
def operator(workspace: NewWorkspace) -> Browser:
    """Return the browser of an operator of an empty workspace."""
    browser = Browser(workspace.workspace_id)
    browser.start_session(key=workspace.workspace_key)
    return browser


def steps(page: Answer) -> dict[str, bool]:
    """Return the steps on the overview, and whether each is ticked."""
    content = page.text.partition('<ol class="steps">')[2].partition("</ol>")[0]
    found = [re.sub("<[^>]*>", "", one) for one in re.findall("<strong>(.*?)</strong>", content)]
    return dict(zip(found, ["✓" in one for one in content.split("</li>")], strict=False))


def further(page: Answer) -> dict[str, bool]:
    """Return the further steps on the overview, and whether each is ticked."""
    content = page.text.partition('<ul class="further">')[2].partition("</ul>")[0].split("</li>")[:-1]
    return {re.findall("<li>(?:<a[^>]*>)?([^<]*[^< ])", one)[0]: "✓" in one for one in content}


def links(page: Answer, home: str) -> list[str]:
    content = page.text.partition('<ol class="steps">')[2].partition("</ol>")[0]
    return [html.unescape(one).removeprefix(home) for one in re.findall('href="([^"]*)"', content)]


def test_the_steps_lead_from_an_empty_workspace_to_a_conversation(operator: Browser, api: Api) -> None:
    page = operator.open("/overview")
    assert steps(page) == dict.fromkeys(STEPS, False)
    bot = "/settings/new-webhook?event=message_received"
    assert links(page, operator.home) == ["/new-agent", bot, "/settings/new-org?for=colleague"]
    assert '/docs">Documentation</a>' in page.text

    operator.submit(operator.open("/new-agent"), "/new-agent", {"title": "Sales"})
    page = operator.open("/overview")
    assert [*steps(page).values()] == [True, False, False, False]
    _, _, trial, install, organisation = links(page, operator.home)
    assert install.endswith("/site") and "Not seen yet." in operator.open(install).text

    tried = operator.submit(operator.open(trial), "/try", {"text": "Hello?", "person": "on"})
    assert "Hello?" in tried.text and "No bot is connected" in tried.text
    agent_id = trial.split("/")[2]
    (conversation,) = api.get(f"/v3/agents/{agent_id}/convos").data
    assert (conversation["state"], conversation["tags"]) == (conversation_list.STATES[0], ["test"])
    assert [*steps(operator.open("/overview")).values()] == [True, True, False, False]

    page, agent = operator.open(organisation), f"widgetIDs.{agent_id}"
    assert f'name="{agent}" type="checkbox" checked' in page.text
    page = operator.submit(page, "/new-org?for=colleague", {"name": "Acme", agent: "on"})
    assert "The organisation has been created." in page.text
    (organisation,) = links(operator.open("/overview"), operator.home)[4:]
    person = {"name": "Bo", "email": "bo@acme.test", "dashboardPassword": PASSWORD, "canAccess./convos": "on"}
    operator.submit(operator.open(organisation), "/new-client", person)
    assert [*steps(operator.open("/overview")).values()] == [True, True, False, True]
    colleague = operator.another()
    answered = colleague.sign_in("bo@acme.test", PASSWORD)
    assert answered.status == 200 and api.get("/v3/orgs").data[0]["widgetIDs"] == [agent_id]

    body = {"turns": [{"from": "human", "messages": [{"item": {"text": "Hi"}}]}]}
    api.post(f"/agents/{agent_id}/interact/visitor-1/state", body)
    assert steps(operator.open("/overview")) == {}


def test_the_first_open_step_has_a_button_and_closed_steps_have_no_link(operator: Browser, api: Api) -> None:
    page = operator.open("/overview").text
    assert re.findall(r'<li class="closed"><strong>(.*?)</strong>', page) == STEPS[1:3]
    assert re.findall(r'<p><a class="button" href="[^"]*">(.*?)</a></p></li>', page) == STEPS[:1]
    for path, name in {"new-webhook?event=message_received": "Connect a bot", "new-org": "Add a customer"}.items():
        assert f'<li><a href="{operator.home}/settings/{path}">{name}</a>' in page
        assert operator.open(f"/settings/{path}").status == 200
    api.post("/v2/agents/support", {"title": "Support"})
    page = operator.open("/overview").text
    assert 'class="closed"' not in page and "Add sample data" in page
    assert re.findall(r'<p><a class="button" href="[^"]*">(.*?)</a></p></li>', page) == STEPS[1:2]


def test_the_further_steps_are_ticked_when_they_are_done(operator: Browser, api: Api, workspace: NewWorkspace) -> None:
    """A customer's person is no colleague, and a bot that fails is named instead of being ticked."""
    hook = {"url": "https://bot.example.com/cams", "events": ["message_received"], "description": "Bot 1"}
    hook_id = api.post("/v3/webhooks", {"webhook": hook}).data["id"]
    page = operator.open("/overview")
    assert further(page) == {"Connect a bot": True, "Add a customer": False}
    customer = {
        "name": "Acme",
        "person": "Bo",
        "email": "bo@acme.test",
        "dashboardPassword": PASSWORD,
        "title": "Sales",
    }
    operator.submit(operator.open("/settings/new-org"), "/new-org", customer)
    page = operator.open("/overview")
    assert (further(page), steps(page)["Invite a colleague"]) == ({}, False)
    assert links(page, operator.home)[3] == "/settings/new-org?for=colleague"
    fail_delivery(workspace.workspace_id, hook_id, queue_event(workspace.workspace_id, hook_id))
    page = operator.open("/overview")
    named = "fails:</strong> Bot 1. Visitors get no answer from this bot until its webhook works.</p>"
    assert named in html.unescape(page.text) and f"/settings/webhooks/{hook_id}" in page.text


def test_the_overview_of_a_workspace_in_use_names_a_failing_bot(
    operator: Browser, api: Api, workspace: NewWorkspace
) -> None:
    """The page knows of the failure after the settings have been opened."""
    for number in range(4):
        api.post(f"/v2/agents/a{number}", {"title": "A"})
    hook = {"url": "https://bot.example.com/cams", "events": ["message_received"], "description": "Bot 1"}
    hook_id = api.post("/v3/webhooks", {"webhook": hook}).data["id"]
    fail_delivery(workspace.workspace_id, hook_id, queue_event(workspace.workspace_id, hook_id))
    assert "Bot 1" not in operator.open("/overview").text
    operator.open("/settings")
    assert "Bot 1" in operator.open("/overview").text


def test_an_operator_hides_the_steps_until_the_profile_shows_them(operator: Browser, api: Api) -> None:
    assert "Hide these steps" not in operator.open("/overview").text  # without an agent, the page would be empty
    api.post("/v2/agents/support", {"title": "Support"})
    zone = {"preferredLanguage": "en", "timezone": "Asia/Tokyo", "firstSteps": "on"}
    operator.submit(operator.open("/account"), "/account", zone)
    page = operator.open("/overview")
    hidden = operator.submit(page, "/account", {})
    assert "<h1>Overview</h1>" in hidden.text and steps(page) != {} == steps(hidden)
    assert steps(operator.open("/overview")) == {}
    page = operator.open("/account")
    assert 'value="Asia/Tokyo"' in page.text and 'name="firstSteps" type="checkbox">' in page.text
    shown = operator.submit(page, "/account", zone)
    assert 'name="firstSteps" type="checkbox" checked>' in shown.text
    assert steps(operator.open("/overview")) != {}


def test_an_operator_without_agents_can_start_with_a_suggested_one(operator: Browser) -> None:
    page = operator.open("/agents").text
    starts = re.findall(r'href="[^"]*(/new-agent\?start=\w+)"', page)
    assert starts == [f"/new-agent?start={name}" for name in agent_records.STARTERS]
    assert all('aria-current="true"><strong>Blank' not in operator.open(path).text for path in starts)


def test_a_workspace_in_use_and_people_see_no_steps(operator: Browser, api: Api) -> None:
    for number in range(4):
        assert "First steps" in operator.open("/overview").text
        api.post(f"/v2/agents/a{number}", {"title": "A"})
    assert "First steps" not in operator.open("/overview").text
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": []})
    api.post("/v2/clients/bo", {"orgId": "acme", "email": "bo@acme.test", "dashboardPassword": PASSWORD})
    client = operator.another()
    assert "First steps" not in client.sign_in("bo@acme.test", PASSWORD).text


@pytest.mark.parametrize("path", ["/convos?tab=all", "/leads", *(["/analytics"] if has("reports") else [])])
def test_an_empty_page_offers_operators_the_next_action(path: str, operator: Browser, api: Api) -> None:
    assert "/new-agent" in operator.open(path).text
    api.post("/v2/agents/support", {"title": "Support"})
    home = f'href="{operator.home}/agents/support'
    page = operator.open(path).text
    assert f'{home}/try"' in page and f'{home}/site"' in page
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support"]})
    api.post("/v2/clients/bo", {"orgId": "acme", "email": "bo@acme.test", "dashboardPassword": PASSWORD})
    client = operator.another()
    client.start_session(email="bo@acme.test", password=PASSWORD)
    assert f'{home}/try"' not in client.open(path).text


def test_sample_data_is_added_once_per_form_and_removed_with_its_agent(
    operator: Browser, api: Api, pass_time: PassTime
) -> None:
    page, listings = operator.open("/overview"), []
    for _ in range(2):
        inbox = operator.submit(page, "/sample-data", {})
        listings.append(api.get(f"/v3/agents/{api.get('/v3/agents').data[0]['ID']}/convos").data)
        pass_time(5)
    assert listings[0] == listings[1]
    assert "The sample data has been added. To remove it, delete its agent." in inbox.text
    assert "Noor Jansen" in inbox.text and "Sam Okafor" in inbox.text
    (agent,) = api.get("/v3/agents").data
    listed = api.get(f"/v3/agents/{agent['ID']}/convos").data
    assert sorted(one["messagesNum"] for one in listed) == [2, 3, 3, 3, 4]
    assert {one["state"] for one in listed} == {*conversation_list.STATES}
    assert {one["origin"] for one in listed} == {"web-chat"}
    assert [one["agentId"] for one in api.get("/v3/leads").data] == [agent["ID"]]
    page = operator.open("/overview")
    assert [*steps(page).values()] == [True, False, False, False] and "Add sample data" not in page.text
    deletion = operator.open(f"/agents/{agent['ID']}/delete")
    operator.submit(deletion, "/delete", {"title": "Sample agent"})
    assert (api.get("/v3/agents").data, api.get("/v3/leads").data) == ([], [])
    assert "Noor Jansen" not in operator.open("/convos").text


@pytest.mark.parametrize("path", ["/overview", "/new-agent"])
def test_sample_data_says_that_webhooks_receive_it(operator: Browser, api: Api, path: str) -> None:
    hook = {"url": "https://bot.example.com/cams", "events": ["message_received", "lead_captured"]}
    hook_id = api.post("/v3/webhooks", {"webhook": hook}).data["id"]
    page = operator.open(path)
    assert "Active webhooks also receive them" in page.text and "Delete the agent to remove all of them." in page.text
    assert "This month&#39;s usage still counts them." in page.text
    stream = pipeline.Stream()
    operator.submit(page, "/sample-data", {})
    pipeline.fan_out(stream.read())
    queued = [json.loads(one) for name in (queue.FAST, queue.SLOW) for one in pipeline.waiting(name)]
    sent = {type_: len(events) for _, webhook_id, type_, events, *_ in queued if webhook_id == hook_id}
    assert sent == {"message_received": 9, "lead_captured": 1}


def test_a_trial_goes_on_and_adds_a_message_once_per_form(operator: Browser, api: Api) -> None:
    api.post("/v2/agents/support", {"title": "Support"})
    page = operator.open("/agents/support/try")
    for _ in range(2):
        again = operator.submit(page, "/try", {"text": "First"})
    api.patch("/v3/agents/support", {"agent": {"vg_systemPrompt": "Be <brief>."}})
    second = operator.submit(again, "/try", {"text": "Second <b>"})
    assert "Be &lt;brief&gt;." in second.text and '/agents/support/try" aria-current="page"' in second.text
    assert second.text.index("First") < second.text.index("Second &lt;b&gt;")
    (conversation,) = api.get("/v3/agents/support/convos").data
    assert conversation["messagesNum"] == 2 and conversation["ID"].startswith("try-")


def test_sample_data_sent_again_keeps_what_people_answered(operator: Browser, api: Api) -> None:
    page = operator.open("/overview")
    operator.submit(page, "/sample-data", {})
    (agent,) = api.get("/v3/agents").data
    answer = {"messages": [{"from": "human-agent", "item": {"text": "Yes."}}], "state": "ended_chat"}
    assert api.post(f"/agents/{agent['ID']}/interact/sample-1/messages", answer).status == 200
    assert api.delete(f"/v3/agents/{agent['ID']}/convos/sample-2").status == 200
    operator.submit(page, "/sample-data", {})
    first = api.get(f"/v3/agents/{agent['ID']}/convos/sample-1").data
    assert (first["messagesNum"], first["state"]) == (4, "ended_chat")
    assert api.get(f"/v3/agents/{agent['ID']}/convos/sample-2").data["messagesNum"] == 2


def test_a_trial_sent_again_keeps_its_tags(operator: Browser, api: Api) -> None:
    api.post("/v2/agents/support", {"title": "Support"})
    page = operator.open("/agents/support/try")
    operator.submit(page, "/try", {"text": "First"})
    (trial,) = api.get("/v3/agents/support/convos").data
    path, change = f"/v3/agents/support/convos/{trial['ID']}", {"tags": ["test", "keep"], "userName": "Ann"}
    assert api.patch(path, {"conversation": change}).status == 200
    operator.submit(page, "/try", {"text": "First"})
    kept = api.get(path).data
    assert (kept["tags"], kept["userName"], kept["messagesNum"]) == (["test", "keep"], "Ann", 1)


def test_a_trial_has_a_readable_visitor_and_says_that_it_does_not_count(operator: Browser, api: Api) -> None:
    api.post("/v2/agents/support", {"title": "Support"})
    for language, visitor, counts in (
        ("en", "Test visitor", "does not count in analytics or usage"),
        ("nl", "Testbezoeker", "telt niet mee"),
    ):
        operator.submit(operator.open("/account"), "/account", {"preferredLanguage": language, "timezone": ""})
        page = operator.open("/agents/support/try")
        assert (counts in page.text) == has("reports")
        operator.submit(page, "/try", {"text": "Hello"})
        listed = api.get("/v3/agents/support/convos").data
        assert visitor in [one["userName"] for one in listed]
        assert f"<strong>{visitor}" in operator.open("/convos?tab=all").text


@pytest.mark.skipif(not has("reports"), reason="the reports are disabled")
def test_a_trial_does_not_count(operator: Browser, api: Api) -> None:
    api.post("/v2/agents/support", {"title": "Support"})
    stream = pipeline.Stream("conversations")
    trial = operator.submit(operator.open("/agents/support/try"), "/try", {"text": "Are you open?", "person": "on"})
    operator.submit(trial, "/try", {"text": "Until six.", "action": "answer"})
    follow("conversations", stream.read())
    totals = api.get("/v3/agents/support/analytics").data["totals"]
    assert {name: number for name, number in totals.items() if number and name != "from"} == {}


def test_an_operator_answers_a_trial_as_the_agent(operator: Browser, api: Api) -> None:
    """Without a bot, the answer is the next step after the visitor's message. The answer does not ask for a person."""
    api.post("/v2/agents/support", {"title": "Support"})
    trial = operator.submit(operator.open("/agents/support/try"), "/try", {"text": "Are you open?"})
    answered = operator.submit(trial, "/try", {"text": "Until six.", "action": "answer", "person": "on"})
    (conversation,) = api.get("/v3/agents/support/convos").data
    messages = api.get(f"/v3/agents/support/convos/{conversation['ID']}/messages").data
    written = [(one["from"], one["item"]["text"]) for one in reversed(messages)]
    assert written == [("human", "Are you open?"), ("bot", "Until six.")] and "state" not in conversation
    next_step, other = ('value="answer">', 'value="answer" class="second">')
    assert next_step in trial.text and other in answered.text


def test_a_trial_does_not_wait_with_the_visitors_conversations(
    operator: Browser, api: Api, workspace: NewWorkspace
) -> None:
    """A trial without its tag waits, and so does a visitor's conversation with the tag."""
    api.post("/v2/agents/support", {"title": "Support"})
    trial = operator.submit(operator.open("/agents/support/try"), "/try", {"text": "A trial", "person": "on"})
    convo = f"/v3/agents/support/convos/{api.get('/v3/agents/support/convos').data[0]['ID']}"
    body = {"turns": [{"from": "human", "messages": [{"item": {"text": "A visitor"}}]}]}
    metadata = {"state": conversation_list.STATES[0], "tags": ["test"]}
    api.post("/agents/support/interact/ann/state", {**body, "metadata": metadata})
    waiting = operator.open("/convos").text
    (mailed,), _ = inbox.find_waiting(workspace.workspace_id, ["support"])
    assert mailed.conversation_id == "ann"
    assert "A trial" in trial.text and "A trial" not in waiting and "A visitor" in waiting
    assert "A trial" in operator.open("/convos?tab=all").text
    assert api.patch(convo, {"conversation": {"tags": []}}).status == 200
    assert "A trial" in operator.open("/convos").text


def test_a_trial_lists_the_webhooks_that_receive_messages(operator: Browser, api: Api) -> None:
    api.post("/v2/agents/support", {"title": "Support"})
    hook = {"url": "https://bot.example.com/cams", "description": "Bot <1>"}
    api.post("/v3/webhooks", {"webhook": {**hook, "events": ["agent_created"]}})
    api.post("/v3/webhooks", {"webhook": {**hook, "events": ["message_received"], "enabled": False}})
    page = operator.open("/agents/support/try").text
    assert "Then write the answer yourself, with “Answer as the agent”." in page
    assert 'value="answer" class="second" disabled>Answer as the agent</button>' in page
    assert "No bot is connected" in page and page.count("Bot &lt;1&gt;") == page.count("This webhook is paused:") == 1
    assert (
        "CAMS keeps the agent's settings" in html.unescape(page)
        and f'href="{operator.home.rpartition("/console")[0]}/docs"' in page
    )
    assert f'href="{operator.home}/settings/new-webhook?event=message_received"' in page
    assert f'href="{operator.home}/agents/support#tools"' in page
    for _ in range(5):
        api.post("/v3/webhooks", {"webhook": {**hook, "events": ["message_received"]}})
    page = operator.open("/agents/support/try").text
    assert all(text not in page for text in ("No bot is connected", "CAMS keeps", "Then write the answer"))
    assert page.count("Bot &lt;1&gt;") == 3 and "2 more webhooks" in page


@pytest.mark.parametrize("convo", ["ann", "try-", "try-A", "try-a/b", "try-" + "a" * 41, "../x", ""])
def test_a_trial_adds_nothing_to_other_conversations(operator: Browser, api: Api, convo: str) -> None:
    api.post("/v2/agents/support", {"title": "Support"})
    page, before = operator.open(f"/agents/support/try?convo={convo}"), items()
    assert page.status == 200
    assert operator.submit(page, "/try", {"text": "Hello", "convo": convo}).status == 404
    assert operator.submit(page, "/try", {"text": " "}).status == 400
    assert items() == before


def test_an_organisation_needs_a_name_and_keeps_its_agents(operator: Browser, api: Api) -> None:
    for name in ("one", "two"):
        api.post(f"/v2/agents/{name}", {"title": name})
    page = operator.open("/settings/new-org")
    refused = operator.submit(page, "/new-org", {"name": "", "widgetIDs.two": "on"})
    assert (refused.status, 'id="wrong-name"' in refused.text) == (400, True)
    assert 'name="widgetIDs.two" type="checkbox" checked' in refused.text
    for _ in range(2):
        operator.submit(page, "/new-org", {"name": "Acme", "widgetIDs.two": "on"})
    (organisation,) = api.get("/v3/orgs").data
    assert (organisation["name"], organisation["widgetIDs"]) == ("Acme", ["two"])


@pytest.mark.parametrize(
    ("path", "icon", "texts"),
    [
        (
            "/settings",
            "organisations",
            ["No organisations yet", "An organisation is one of your customers", "New organisation"],
        ),
        ("/settings", "convos", ["No webhooks yet", "A webhook sends events", "New webhook"]),
        ("/analytics", "analytics", ["No figures yet", "See how many visitors write", "Create agent"]),
        ("/leads", "leads", ["No leads yet", "“Lead capture” asks for them", "Create agent"]),
        ("/convos", "convos", ["No conversations are waiting", "The longest wait comes first", "Create agent"]),
        ("/convos?tab=all", "convos", ["No conversations yet", "the newest first", "Create agent"]),
        ("/agents", "agents", ["No agents yet", "An agent answers visitors", "Create agent"]),
    ],
)
def test_an_empty_page_says_what_it_will_show_and_has_the_next_action(
    operator: Browser, path: str, icon: str, texts: list[str]
) -> None:
    blanks = operator.open(path).text.split('<div class="blank">')[1:]
    title, sentence, action = texts
    (blank,) = [one for one in blanks if f"<h2>{title}</h2>" in one]
    assert f'#{icon}"/>' in blank and sentence in blank
    assert re.search(f'<a class="button" href="[^"]*">{action}</a>', blank)
