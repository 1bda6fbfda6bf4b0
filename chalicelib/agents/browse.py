"""The list of a workspace's agents: with filters and in any order, with a bounded amount of work.

Filters and orders apply to the sealed summaries in the index, which are about 1 KB at most. The documents of agents
that are not listed are never read.
"""

from collections.abc import Iterator
from typing import NamedTuple

from chalicelib import errors
from chalicelib.agents import filters, store
from chalicelib.agents.filters import Filters, Position
from chalicelib.agents.rows import AgentRow

# Agents that a request examines at most, and those per query after the first, which reads one page.
MAX_EXAMINED = 500
PORTION = 100
# The agents of a workspace whose list can be sorted. Each page reads all their summaries.
MAX_SORTED = 2_000


class TooManyToSort(errors.Conflict):
    """The workspace has too many agents for a sorted list."""

    code = "TOO_MANY_TO_SORT"
    sentence = f"sort is possible for at most {MAX_SORTED:,} agents; leave it out."


class Examined(NamedTuple):
    """An agent: its position, its row if it is listed and exists, and whether another agent follows it."""

    position: str
    row: AgentRow | None
    has_more: bool


def by_id(workspace_id: str, wanted: Filters, after: str | None, limit: int) -> Iterator[Examined]:
    """Yield the agents after the id `after`, by id; the caller stops after `limit` that are listed.

    One request for `limit` entries of the index, then one per 100 entries, 500 at most; and one per 20 listed agents.
    """
    examined, missing, portion = 0, limit, limit
    while True:
        entries = [*store.list_entries(workspace_id, after, portion + 1)]
        taken = _up_to_match(entries[:portion], wanted, missing)
        rows = store.read_entries(entry for entry, is_listed in taken if is_listed)
        for number, (entry, is_listed) in enumerate(taken, start=1):
            row = next(rows)[1] if is_listed else None
            missing -= row is not None
            yield Examined(entry.agent_id, row, number < len(entries))
        examined += len(taken)
        if len(taken) == len(entries) or examined >= MAX_EXAMINED:
            return
        after, portion = taken[-1][0].agent_id, min(PORTION, MAX_EXAMINED - examined)


def in_order(workspace_id: str, wanted: Filters, sort: str, after: Position | None, limit: int) -> Iterator[Examined]:
    """Yield up to `limit` listed agents after a position, sorted by one of `filters.ORDERS`, then by id.

    One request per MB of summaries, and one per 20 listed agents. Raises TooManyToSort.
    """
    entries = [*store.list_entries(workspace_id, None, MAX_SORTED + 1)]
    if len(entries) > MAX_SORTED:
        raise TooManyToSort()
    summaries = ((entry, store.summary_of(entry)) for entry in entries)
    matching = ((entry, summary) for entry, summary in summaries if wanted.match(summary))
    placed = ((Position(filters.ORDERS[sort](summary), entry.agent_id), entry) for entry, summary in matching)
    rest = sorted((place, entry) for place, entry in placed if after is None or place > after)
    rows = store.read_entries(entry for _, entry in rest[:limit])
    for number, ((place, _), (_, row)) in enumerate(zip(rest, rows, strict=False), start=1):
        yield Examined(filters.cursor_of(sort, place), row, number < len(rest))


def _up_to_match(entries: list[AgentRow], wanted: Filters, number: int) -> list[tuple[AgentRow, bool]]:
    """The entries up to the matching one with this number, and whether each matches."""
    found = []
    for entry in entries:
        is_match = wanted.is_empty or wanted.match(store.summary_of(entry))
        found.append((entry, is_match))
        number -= is_match
        if not number:
            break
    return found
