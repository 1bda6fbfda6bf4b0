"""The numbers of a period on the cards of agents, by default of the last seven days."""

import html
import re

import pytest

from chalicelib import clock
from chalicelib.extensions.console.figure_pages import agent_counts
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
    conversations = "1,205 conversations : Support ▲ 1,175 was 30"
    handoffs = "241 handoffs (20.0 %) : Support ▲ 235 was 6"
    (card,) = week(page)
    assert f"{conversations} {handoffs} 0 leads : Support" in card
    assert page.count("Last 7 days, compared with the period before") == 1
    assert re.search(r"leads : Support \d+ \w+ \d+ \w+$", card)  # the first and the last day of the line
    assert '<svg class="trend' in page and '<span class="change worse">▲ 235</span>' in page
    links = [html.unescape(link) for link in re.findall(r'<p><a href="[^"]*(/(?:convos|analytics)\?[^"]*)"', page)]
    assert len(links) == 2 and all("agent=support" in link and counted.open(link).status == 200 for link in links)
    assert 'aria-label="Handoffs: 241 in total"' in counted.open(links[1]).text


@pytest.mark.parametrize("query", ["", "?days=7", "?days=8", "?days=custom&from=2026-01-01", "?days=%3Cb%3E"])
def test_an_unknown_period_is_the_default(counted: Browser, query: str) -> None:
    page = counted.open(f"/agents{query}").text
    assert '<option value="7" selected>' in page and "1,205 conversations" in week(page)[0]


@pytest.mark.parametrize("choice", ["30", "90", "this_month", "last_month"])
def test_a_card_has_the_numbers_of_the_chosen_period(
    counted: Browser, workspace: NewWorkspace, choice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = clock.start_of_day("2026-03-20") + DAY // 2
    monkeypatch.setattr(clock, "milliseconds", lambda: moment * 1_000)
    for day, number in (("2025-12-01", 3), ("2026-01-10", 14), ("2026-02-25", 20), ("2026-03-02", 1)):
        count(workspace.workspace_id, "support", day, 9, "web-chat", conversations=number)
    counted.start_session(email="bo@acme.test", password=PASSWORD)
    page = counted.open(f"/agents?days={choice}").text
    expected = {
        "30": ("Last 30 days", "21", "▲ 21"),
        "90": ("Last 90 days", "35", "▲ 32"),
        "this_month": ("This month", "1", "▲ 1"),
        "last_month": ("Last month", "20", "▲ 6"),
    }[choice]
    name, number, change = expected
    assert f"{number} conversations : Support {change}" in week(page)[0]
    assert f"{name}, compared with the period before" in page
    assert f'<option value="{choice}" selected>{name}</option>' in page
    links = [html.unescape(link) for link in re.findall(r'<p><a href="[^"]*(/(?:convos|analytics)\?[^"]*)"', page)]
    assert f"days={choice}&" in links[1] and all(counted.open(link).status == 200 for link in links)


def test_longer_periods_cost_no_more_requests(counted: Browser) -> None:
    counted.open("/agents")  # caches the session
    requests = []
    for choice in ("7", "90", "last_month"):
        with metered() as meter:
            assert 'class="week' in counted.open(f"/agents?days={choice}").text
        requests.append(meter.total)
    assert requests[0] == requests[1] >= requests[2]  # the last month has no recent hours


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
