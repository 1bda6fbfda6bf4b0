"""The numbers on the cards of agents: the conversations, handoffs and leads in a period."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from chalicelib import extensions
from chalicelib.extensions.console.access import guard
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.figure_pages import figures, plots
from chalicelib.extensions.console.figure_pages.plots import Trend
from chalicelib.extensions.console.presentation import count_links, periods
from chalicelib.storage import Document

_REPORTS: Any = extensions.service("series")
DAYS = 7
"""The number of days in the default period."""
# Each agent costs two requests, so a page with more agents shows no numbers.
MAX_AGENTS = 12
_COUNT = "conversations"
NAMES = (_COUNT, "handoffs", "leads")
"""The counts on a card."""


class AgentCounts(NamedTuple):
    """An agent's totals and rates, and those of the period before, the line of its conversations, and links to lists.

    `edges` are the names of the line's first and last day. `links` has no link for a list that the person may not open.
    """

    totals: Document
    previous: Document
    trend: Trend
    edges: list[str]
    links: dict[str, str]

    @property
    def is_quiet(self) -> bool:
        """Return whether both periods lack conversations, handoffs and leads."""
        return not any(period[name] for period in (self.totals, self.previous) for name in NAMES)


def read(session: Session, agent_ids: Sequence[str], choice: str) -> dict[str, AgentCounts]:
    """Return the counts of a chosen period by agent, or none if the person may not open the analytics page.

    This costs two requests per agent, and at least one more. Above 12 agents, return none.
    """
    if "/analytics" not in session.pages or not 0 < len(agent_ids) <= MAX_AGENTS:
        return {}
    period, before = periods.chosen(choice, guard.texts(session).zone)
    recent = _REPORTS.read_recent(session.workspace_id, agent_ids, before.start, period.end)
    return {agent_id: _of_agent(session, recent, period, before, agent_id) for agent_id in agent_ids}


def _of_agent(session: Session, recent: Any, period: Any, before: Any, agent_id: str) -> AgentCounts:
    hourly_counts = [*recent.read(agent_id, before.start, period.end, None)]
    report = _REPORTS.build_series(period, before, "day", periods.comparable_hours(hourly_counts, period, before))
    finished = periods.finished_count(report["series"], period.end)
    days = [*periods.with_labels(report["series"], "day", period.zone, guard.texts(session))][: max(1, finished)]
    return AgentCounts(
        figures.with_rates(report["totals"]),
        figures.with_rates(report["previous"]),
        plots.trends((_COUNT,), report["series"], finished)[_COUNT],
        [days[0]["label"], days[-1]["label"]],
        count_links.of_totals(session, period, agent_id),
    )
