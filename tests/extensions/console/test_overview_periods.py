"""The periods that the overview offers."""

from tests.api import Api
from tests.extensions.console.browser import Browser


def test_the_overview_of_many_agents_offers_only_periods_that_reports_can_cover(
    signed_in: Browser, workspace_api: Api
) -> None:
    numbers = [f"a{number}" for number in range(23)]
    for agent_id in numbers:
        workspace_api.post(f"/v2/agents/{agent_id}", {"title": agent_id})
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": numbers})
    page = signed_in.open("/overview")
    assert [days in page.text for days in ("?days=7", "?days=30", "?days=90")] == [True, True, False]
