"""Usage: the counts of a workspace's agents by UTC day, as JSON or CSV."""

from collections.abc import Iterable, Iterator, Sequence

from chalicelib import clock
from chalicelib.agents import store as agents
from chalicelib.extensions.reports import counts, hours
from chalicelib.http import files, pages
from chalicelib.storage import Document

NAMES = ("conversations", "messages", "interactions", "deliveries", "leads")
DAY_SECONDS = 24 * 60 * 60
# The maximum number of agents per page. Each agent costs one request, which reads one row per day.
MAX_AGENTS = 20
_INDEXES = [hours.NAMES.index(name) for name in NAMES]


def examine(workspace_id: str, start: int, end: int, after: str | None, limit: int) -> Iterator[pages.Examined]:
    """Yield the daily usage of up to `limit` agents after the agent id `after`, from `start` until `end` (exclusive).

    Counts that belong to no agent follow the last agent. This costs one request, plus one per agent.
    """
    entries = agents.list_entries(workspace_id, after, limit + 1)
    owners = [entry.agent_id for entry in entries]
    owners = owners if len(owners) > limit else [*owners, counts.NO_AGENT]
    for number, owner in enumerate(owners, 1):
        days = counts.read_days(workspace_id, owner, start, end)
        record = _record(owner, days) if days or owner != counts.NO_AGENT else None
        yield pages.Examined(owner, record, number < len(owners))


def table(records: Iterable[Document]) -> str:
    """Return records as CSV, with one line per agent and day."""
    lines = []
    for record in records:
        for day in record["days"]:
            cells = (record.get("agentId"), clock.iso(day["from"])[:10], *(day[name] for name in NAMES))
            lines.append(files.csv_line(cells))
    return "".join(lines)


def _record(agent_id: str, days: dict[int, list[int]]) -> Document:
    by_day = [{"from": start, **_by_name(numbers)} for start, numbers in sorted(days.items())]
    total = [0] * len(hours.NAMES)
    for numbers in days.values():
        hours.add(total, numbers)
    owner = {} if agent_id == counts.NO_AGENT else {"agentId": agent_id}
    return {**owner, "days": by_day, "totals": _by_name(total)}


def _by_name(numbers: Sequence[int]) -> Document:
    return dict(zip(NAMES, (numbers[index] for index in _INDEXES), strict=True))
