"""Usage: what the agents of a workspace did on each day of UTC, from the tallies, as JSON or as a table."""

from collections.abc import Iterable, Iterator, Sequence

from chalicelib import clock
from chalicelib.agents import store as agents
from chalicelib.extensions.reports import counts, hours
from chalicelib.http import files, pages
from chalicelib.storage import Document

NAMES = ("conversations", "messages", "interactions", "deliveries", "leads")
DAY_SECONDS = 24 * 60 * 60
# Agents of a page: each takes a request, and one row for each of its days.
MAX_AGENTS = 20
_PLACES = [hours.NAMES.index(name) for name in NAMES]


def examine(workspace_id: str, start: int, end: int, after: str | None, limit: int) -> Iterator[pages.Examined]:
    """The usage of up to `limit` agents after the agent id `after`, in the days from `start` on and before `end`.

    What belongs to no agent follows the last agent, if there is any. One request, and one per agent.
    """
    entries = agents.list_entries(workspace_id, after, limit + 1)
    owners = [entry.agent_id for entry in entries]
    owners = owners if len(owners) > limit else [*owners, counts.NO_AGENT]
    for number, owner in enumerate(owners, 1):
        days = counts.read_days(workspace_id, owner, start, end)
        record = _record(owner, days) if days or owner != counts.NO_AGENT else None
        yield pages.Examined(owner, record, number < len(owners))


def table(records: Iterable[Document]) -> str:
    """The lines of records as CSV: one for each agent and day."""
    lines = []
    for record in records:
        for day in record["days"]:
            cells = (record.get("agentId"), clock.iso(day["from"])[:10], *(day[name] for name in NAMES))
            lines.append(files.csv_line(cells))
    return "".join(lines)


def _record(agent_id: str, days: dict[int, list[int]]) -> Document:
    by_day = [{"from": start, **_named(numbers)} for start, numbers in sorted(days.items())]
    total = [0] * len(hours.NAMES)
    for numbers in days.values():
        hours.add(total, numbers)
    named = {} if agent_id == counts.NO_AGENT else {"agentId": agent_id}
    return {**named, "days": by_day, "totals": _named(total)}


def _named(numbers: Sequence[int]) -> Document:
    return dict(zip(NAMES, (numbers[place] for place in _PLACES), strict=True))
