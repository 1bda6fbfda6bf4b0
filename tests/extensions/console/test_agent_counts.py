"""The numbers of the last seven days on the cards of agents."""

import html
import re

import pytest

from chalicelib import clock
from chalicelib.extensions.console import agent_counts
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.capacity import metered
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD

extensions.require("reports")

from tests.extensions.console.stored_counts import count

DAY = 24 * 60 * 60


@pytest.fixture
def counted(workspace: NewWorkspace, browser: Browser) -> Browser:
    """Return the client's browser, and store counts of the client's agent and of another agent."""
    for agent_id, days, number in (("support", 0, 5), ("support", 6, 1_200), ("support", 7, 30), ("other", 1, 999)):
        date = clock.iso(clock.seconds() - days * DAY)[:10]
        count(workspace.workspace_id, agent_id, date, 0, "web-chat", conversations=number, handoffs=number // 5)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def week(page: str) -> list[str]:
    """Return the numbers on each card."""
    cards = re.findall(r'<div class="week">(.*?)</div>', page, re.DOTALL)
    return [" ".join(re.sub("<[^>]+>", " ", card).split()) for card in cards]


def test_a_card_has_the_numbers_of_the_last_seven_days(counted: Browser) -> None:
    page = counted.open("/agents").text
    conversations = "1,205 conversations : Support ▲ more than tenfold was 30"
    handoffs = "241 handoffs (20.0 %) : Support ▲ more than tenfold was 6"
    (card,) = week(page)
    assert f"the 7 days before {conversations} {handoffs} 0 leads : Support No change was 0" in card
    assert re.search(r"was 0 \d+ \w+ \d+ \w+$", card)  # the first and the last day of the line
    assert '<svg class="trend' in page
    links = [html.unescape(link) for link in re.findall(r'<p><a href="[^"]*(/(?:convos|analytics)\?[^"]*)"', page)]
    assert len(links) == 2 and all("agent=support" in link and counted.open(link).status == 200 for link in links)
    assert 'aria-label="Handoffs: 241 in total"' in counted.open(links[1]).text


def test_people_without_analytics_see_no_numbers(counted: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/agents"]})
    counted.start_session(email="bo@acme.test", password=PASSWORD)
    assert week(counted.open("/agents").text) == []


def test_pages_of_many_agents_have_no_numbers(
    counted: Browser, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = Browser(workspace.workspace_id)
    operator.start_session(key=workspace.workspace_key)
    operator.open("/settings")  # caches the session
    requests = []
    for most in (2, 1):
        monkeypatch.setattr(agent_counts, "MAX_AGENTS", most)
        with metered() as meter:
            assert len(week(operator.open("/agents").text)) == (2 if most == 2 else 0)
        requests.append(meter.total)
    assert requests[0] - requests[1] == 2 * 2 + 1
