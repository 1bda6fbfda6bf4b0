"""Counts of two agents. The client can see one of them."""

from chalicelib import clock
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.stored_counts import count

TODAY = clock.iso(clock.seconds())[:10]


def day_before(days: int) -> str:
    """Return the date of a day before today, in UTC."""
    return clock.iso(clock.seconds() - days * 86_400)[:10]


def with_counts(browser: Browser, api: Api, workspace_id: str) -> Browser:
    """Store counts and leads for the client's agent and for another agent. Return the browser, signed in."""
    for agent_id, number in (("support", 7), ("other", 999)):
        count(workspace_id, agent_id, TODAY, 0, "NL", conversations=number, messages=12 * number, seconds=70)
        count(workspace_id, agent_id, "2026-01-31", 23, "NL", conversations=number)
        api.post("/v3/leads", {"lead": {"agentId": agent_id, "name": f"Ann of {agent_id}", "email": "a@b.test"}})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser
