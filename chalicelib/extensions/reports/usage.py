"""Usage: the counts of a workspace's agents by UTC day, as JSON or CSV."""

import re
from collections.abc import Iterable, Iterator, Sequence

from chalicelib import clock, errors, ids
from chalicelib.agents import store as agents
from chalicelib.extensions.reports import counts, deleted_usage, hours
from chalicelib.extensions.reports.deleted_usage import DeletedUsageRow
from chalicelib.extensions.reports.recent_counts import RecentCounts
from chalicelib.http import files, pages
from chalicelib.storage import Document

NAMES = ("conversations", "messages", "interactions", "deliveries", "leads")
DAY_SECONDS = 24 * 60 * 60
# The maximum number of agents per page. Each agent costs two requests, of which one reads a row per day.
MAX_AGENTS = 20
# The position of a deleted agent, which begins with the deletion's ULID after this prefix.
_PREFIX = "~deleted~"
_DELETED = re.compile(f"{_PREFIX}({ids.ULID.pattern})")
_INDEXES = [hours.NAMES.index(name) for name in NAMES]


Owner = str | DeletedUsageRow
"""An agent id, a deleted agent's row, or `counts.NO_AGENT`."""


def list_owners(workspace_id: str, after: str | None, limit: int, since: int) -> list[Owner]:
    """Return up to `limit` owners after the position `after`, and the owner of the next entry, if there is one.

    The agents that were deleted at or after the Unix second `since` follow the last agent, and `counts.NO_AGENT` is
    last. This costs one request, or two for the last agents.
    """
    deletion = _DELETED.fullmatch(after or "")
    entries = [] if deletion else agents.list_entries(workspace_id, after, limit + 1)
    owners: list[Owner] = [entry.agent_id for entry in entries]
    missing = limit + 1 - len(owners)
    if missing:
        owners += deleted_usage.list_page(workspace_id, since, deletion[1] if deletion else "", missing)
    return owners if len(owners) > limit else [*owners, counts.NO_AGENT]


def agents_of(owners: Iterable[Owner]) -> list[str]:
    """Return the owners that are not deleted."""
    return [owner for owner in owners if isinstance(owner, str)]


def examine(recent: RecentCounts, owners: Sequence[Owner], start: int, end: int) -> Iterator[pages.Examined]:
    """Yield the owners' daily usage from `start` until `end` (exclusive).

    This costs one request per owner that is not deleted. Deleted agents without usage in the period are omitted.
    """
    for number, owner in enumerate(owners, 1):
        has_more = number < len(owners)
        if isinstance(owner, DeletedUsageRow):
            entry = _deleted([owner], owner.agent_id, start, end)
            yield pages.Examined(f"{_PREFIX}{owner.deletion}", entry if entry["days"] else None, has_more)
        else:
            days = recent.read_days(owner, start, end)
            one = record(owner, days) if days or owner != counts.NO_AGENT else None
            yield pages.Examined(owner, one, has_more)


def read(recent: RecentCounts, agent_id: str, start: int, end: int) -> Document:
    """Return the usage of an agent, or else of the deleted agents with its id. Raise NotFound.

    This costs two requests, or three without an agent.
    """
    try:
        agents.read_eventually(recent.workspace_id, agent_id)
    except errors.NotFound:
        return _deleted(deleted_usage.read(recent.workspace_id, agent_id, start), agent_id, start, end)
    return record(agent_id, recent.read_days(agent_id, start, end))


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


def _deleted(rows: Sequence[DeletedUsageRow], agent_id: str, start: int, end: int) -> Document:
    days: dict[int, list[int]] = {}
    for day, numbers in (item for row in rows for item in row.days(start, end).items()):
        hours.add(days.setdefault(day, [0] * len(hours.NAMES)), numbers)
    return {**record(agent_id, days), "deletedAt": rows[-1].deleted_at}


def _by_name(numbers: Sequence[int]) -> Document:
    return dict(zip(NAMES, (numbers[index] for index in _INDEXES), strict=True))
