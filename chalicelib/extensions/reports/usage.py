"""Usage: the counts of a workspace's agents by UTC day, as JSON or CSV."""

from collections.abc import Iterable, Iterator, Sequence

from chalicelib import clock
from chalicelib.agents import store as agents
from chalicelib.extensions.reports import counts, hours
from chalicelib.extensions.reports.recent_counts import RecentCounts
from chalicelib.http import files, pages
from chalicelib.storage import Document

NAMES = ("conversations", "messages", "interactions", "deliveries", "leads")
DAY_SECONDS = 24 * 60 * 60
# The maximum number of agents per page. Each agent costs two requests, of which one reads a row per day.
MAX_AGENTS = 20
_INDEXES = [hours.NAMES.index(name) for name in NAMES]


def list_owners(workspace_id: str, after: str | None, limit: int) -> list[str]:
    """Return up to `limit` agent ids after `after`, and the owner of the next entry, if there is one.

    The owner `counts.NO_AGENT` follows the last agent. This costs one request.
    """
    owners = [entry.agent_id for entry in agents.list_entries(workspace_id, after, limit + 1)]
    return owners if len(owners) > limit else [*owners, counts.NO_AGENT]


def examine(recent: RecentCounts, owners: Sequence[str], start: int, end: int) -> Iterator[pages.Examined]:
    """Yield the owners' daily usage from `start` until `end` (exclusive). This costs one request per owner."""
    for number, owner in enumerate(owners, 1):
        days = recent.read_days(owner, start, end)
        one = record(owner, days) if days or owner != counts.NO_AGENT else None
        yield pages.Examined(owner, one, number < len(owners))


def table(records: Iterable[Document]) -> str:
    """Return records as CSV, with one line per agent and day."""
    lines = []
    for record in records:
        for day in record["days"]:
            cells = (record.get("agentId"), clock.iso(day["from"])[:10], *(day[name] for name in NAMES))
            lines.append(files.csv_line(cells))
    return "".join(lines)


def record(agent_id: str, days: dict[int, list[int]]) -> Document:
    """Return an agent's usage by day, and its totals."""
    by_day = [{"from": start, **_by_name(numbers)} for start, numbers in sorted(days.items())]
    total = [0] * len(hours.NAMES)
    for numbers in days.values():
        hours.add(total, numbers)
    owner = {} if agent_id == counts.NO_AGENT else {"agentId": agent_id}
    return {**owner, "days": by_day, "totals": _by_name(total)}


def _by_name(numbers: Sequence[int]) -> Document:
    return dict(zip(NAMES, (numbers[index] for index in _INDEXES), strict=True))
