"""The list of agents: their organisations, waiting conversations and last changes, and its order."""

import html
import re

import pytest

from chalicelib.extensions import has
from chalicelib.extensions.console.access import organisation_list
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.capacity import metered
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.rows import fail_delivery, queue_event

AGENT = "/agents/support"


def facts(browser: Browser, query: str = "") -> dict[str, tuple[list[str], str]]:
    """Return the facts and the last change of each agent in the list, by title."""
    cards = browser.open(f"/agents{query}").text.split('<li class="card')[1:]
    return {text(card, "h2")[0]: (text(card.partition('class="of"')[2], "li"), change(card)) for card in cards}


def text(page: str, tag: str) -> list[str]:
    """Return the texts of all elements with this tag."""
    found = re.findall(f"<{tag}[^>]*>(.*?)</{tag}>", page, re.DOTALL)
    return [" ".join(re.sub("<[^>]+>", " ", one).split()) for one in found]


def change(card: str) -> str:
    """Return the words before the time of an agent's last change."""
    return card.partition('class="changed">')[2].partition("<time")[0].strip()


def wait(api: Api, agent_id: str, *conversations: str, state: str = "requested_chat") -> None:
    """Make conversations of an agent wait for a person."""
    for one in conversations:
        assert api.post(f"/agents/{agent_id}/interact/{one}/state", {"metadata": {"state": state}}).status == 200


def test_a_client_sees_the_waiting_conversations_of_their_agents(signed_in: Browser, workspace_api: Api) -> None:
    assert facts(signed_in) == {"Support": (["None waiting"], "Changed")}
    wait(workspace_api, "support", "ann", "ben")
    wait(workspace_api, "support", "cleo", state="ended_chat")
    wait(workspace_api, "other", "dan")
    assert facts(signed_in)["Support"][0] == ["2 waiting : Support"]
    page = signed_in.open("/agents").text
    assert "<title>(2) Agents</title>" in page
    address = re.search(r'href="[^"]*(/convos\?tab=waiting&amp;agent=support)"', page)
    assert address
    listed = signed_in.open(address[1].replace("&amp;", "&")).text
    assert {*re.findall("/convos/support/([a-z]+)", listed)} == {"ann", "ben"}


def test_an_operator_sorts_agents_by_change_title_and_waiting_conversations(
    operator: Browser, workspace_api: Api
) -> None:
    workspace_api.post("/v2/agents/ferry", {"title": "Ferry"})
    wait(workspace_api, "other", "ann", "ben")
    wait(workspace_api, "support", "cleo")
    workspace_api.patch("/v3/agents/other", {"agent": {"description": "Changed"}})
    titles = {sort: [*facts(operator, f"?sort={sort}")] for sort in ("", "title", "waiting", "x")}
    assert titles[""] == titles["x"] == ["Other", "Support", "Ferry"]  # Ferry has no conversations
    assert titles["title"] == ["Ferry", "Other", "Support"]
    assert titles["waiting"] == ["Other", "Support", "Ferry"]
    assert '<option value="waiting" selected>' in operator.open("/agents?sort=waiting").text


@pytest.mark.skipif(not has("reports"), reason="the reports are disabled")
def test_an_agent_without_conversations_has_a_card_without_figures(operator: Browser, workspace_api: Api) -> None:
    wait(workspace_api, "support", "ann")
    page = operator.open("/agents").text
    cards = page.split('<li class="card')[1:]
    assert [text(card, "h2")[0] for card in cards] == ["Support", "Other"] and 'class="agents counted"' in page
    assert all(
        '<p class="week hint">Last 7 days: no conversations</p>' in card for card in cards
    )  # nothing is counted yet
    assert "No change" not in page and '<svg class="trend' not in page


def test_an_operator_sees_the_organisations_of_agents(
    operator: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {title: one for title, (one, _) in facts(operator).items()} == {
        "Other": ["None waiting", "No organisation"],
        "Support": ["None waiting", "Acme Travel"],
    }
    for number in range(4):
        workspace_api.post(f"/v2/orgs/b{number}", {"name": f"Beta {number}", "widgetIDs": ["other"]})
    assert facts(operator)["Other"][0] == ["None waiting", "Beta 0 , Beta 1 , Beta 2 and 1 more"]
    monkeypatch.setattr(organisation_list, "_PAGE_SIZE", 1)
    assert facts(operator)["Other"][0] == ["None waiting", "Beta 0 , Beta 1 , Beta 2 and 1 more"]
    monkeypatch.setattr(organisation_list, "_MAX_PAGES", 1)
    assert facts(operator)["Other"][0] == ["None waiting"]


def test_an_operator_sees_that_no_bot_is_connected(operator: Browser, signed_in: Browser, workspace_api: Api) -> None:
    hook = {"url": "https://bot.example.com/cams", "events": ["message_received"], "enabled": False}
    hook_id = workspace_api.post("/v3/webhooks", {"webhook": hook}).data["id"]
    assert "No bot is connected." in operator.open("/agents").text
    assert "No bot is connected." not in signed_in.open("/agents").text
    workspace_api.patch(f"/v3/webhooks/{hook_id}", {"webhook": {"enabled": True}})
    assert "No bot is connected." not in operator.open("/agents").text


def test_the_head_of_an_agent_shows_its_state(operator: Browser, signed_in: Browser, workspace_api: Api) -> None:
    """Clients see the waiting conversations only, which they can open. Operators can also try the agent."""
    wait(workspace_api, "support", "ann")
    waits, acme = "/convos?tab=waiting&amp;agent=support", "/settings/orgs/acme"
    for path in (AGENT, f"{AGENT}/replies", f"{AGENT}/versions", f"{AGENT}/try")[: 4 if has("history") else 2]:
        heads = [browser.open(path).text.partition('class="panels"')[0] for browser in (operator, signed_in)]
        assert f"{operator.home}{waits}" in heads[0] and f"{operator.home}{acme}" in heads[0]
        assert "No bot connected" in heads[0]
        assert operator.open(path).text.count(">Try it<") == (2 if path == AGENT else 1)  # the tab, and beside “Save”
        assert path.endswith("/try") or (waits in heads[1] and "bot connected" not in heads[1] and acme not in heads[1])
    hook = {"url": "https://bot.example.com/cams", "events": ["message_received"]}
    workspace_api.post("/v3/webhooks", {"webhook": hook})
    head = operator.open("/agents/other").text.partition('class="panels"')[0]
    assert "</span> Bot connected" in head and "None waiting" in head and "No organisation" in head


def test_an_agent_with_a_failing_bot_does_not_look_connected(
    operator: Browser, signed_in: Browser, workspace: NewWorkspace, workspace_api: Api
) -> None:
    hook = {"url": "https://bot.example.com/cams", "events": ["message_received"]}
    hook_id = workspace_api.post("/v3/webhooks", {"webhook": hook}).data["id"]
    fail_delivery(workspace.workspace_id, hook_id, queue_event(workspace.workspace_id, hook_id))
    operator.open("/settings")  # reads which webhooks fail
    link = f'href="{operator.home}/settings/webhooks/{hook_id}">The bot\'s webhook fails</a>'
    for path in (AGENT, f"{AGENT}/replies", f"{AGENT}/try"):
        head, _, rest = html.unescape(operator.open(path).text).partition('class="panels"')
        assert link in head and "Bot connected" not in head
        assert ("Last delivery failed" in rest) == path.endswith("/try")
    listed = html.unescape(operator.open("/agents").text)
    assert "The bot's webhook fails." in listed and f'/settings/webhooks/{hook_id}">Open the webhook</a>' in listed
    assert all("webhook fails" not in html.unescape(signed_in.open(path).text) for path in (AGENT, "/agents"))
    workspace_api.patch(f"/v3/webhooks/{hook_id}", {"webhook": {"enabled": False}})
    assert "No bot connected" in operator.open(AGENT).text


def test_a_client_finds_the_technical_settings_in_a_closed_part(
    operator: Browser, signed_in: Browser, workspace_api: Api
) -> None:
    """An invalid field opens the part, so that a person finds it."""
    workspace_api.patch(f"/v3{AGENT}", {"agent": {"vg_temperature": 0.4}})
    part = '<details><summary><h2>Technical settings</h2> <span class="hint">Temperature 0.4</span>'
    pages = [browser.open(AGENT) for browser in (signed_in, operator)]
    assert [part in page.text for page in pages] == [True, False]
    assert [page.text.count('id="vg_temperature"') for page in pages] == [1, 1]
    wrong = signed_in.submit(pages[0], "/agents/support", {"vg_temperature": "warm"})
    assert wrong.status == 400 and "<details open><summary><h2>Technical settings" in wrong.text


def test_people_without_the_inbox_see_no_counts(signed_in: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/agents"]})
    signed_in.start_session(email="bo@acme.test", password=PASSWORD)
    assert facts(signed_in)["Support"][0] == []


def test_the_facts_cost_the_same_for_13_agents_and_for_40(operator: Browser, workspace_api: Api) -> None:
    """Up to 12 agents, a list with the reports extension also has the numbers of each agent."""
    operator.open("/agents")  # caches the session
    for number in (11, 38):
        for one in range(number):
            workspace_api.post(f"/v2/agents/a{one}", {"title": f"Agent {one}"})
        with metered() as searched:
            workspace_api.get("/v3/agents/search?limit=50")
        with metered() as meter:
            assert len(facts(operator)) == number + 2
        assert meter.requests.total() - searched.requests.total() == 3
