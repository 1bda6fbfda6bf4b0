"""The list of a workspace's agents, by id or by the last change. Filters apply to the summaries in the indexes.

A summary has at most about 1 KB. Documents are read of listed agents only.
"""

from collections.abc import Callable, Iterator
from functools import partial

from chalicelib.agents import rendering, store
from chalicelib.agents.filters import AgentFilters
from chalicelib.agents.rows import AgentRow
from chalicelib.http import pages

# Agents per query after the first, which reads one page.
PORTION = 100


def by_id(workspace_id: str, filters: AgentFilters, after: str | None, limit: int) -> Iterator[pages.Examined]:
    """Yield the agents after the id `after`, by id. The caller stops after `limit` listed agents.

    One request for `limit` entries of the index, then one per 100 entries, at most 500. One per 20 listed agents.
    """
    return _examine(partial(store.list_entries, workspace_id), lambda entry: entry.agent_id, filters, after, limit)


def by_change(workspace_id: str, filters: AgentFilters, before: str | None, limit: int) -> Iterator[pages.Examined]:
    """Yield the agents whose version tag is lower than `before`, the latest change first; requests as in `by_id`."""
    return _examine(partial(store.list_changes, workspace_id), lambda entry: entry.version_tag, filters, before, limit)


def _examine(
    fetch: Callable[[str | None, int], Iterator[AgentRow]],
    position: Callable[[AgentRow], str],
    filters: AgentFilters,
    cursor: str | None,
    limit: int,
) -> Iterator[pages.Examined]:
    examined, missing, portion = 0, limit, limit
    while True:
        entries = [*fetch(cursor, portion + 1)]
        taken = _up_to_match(entries[:portion], filters, missing)
        rows = store.read_entries(entry for entry, is_listed in taken if is_listed)
        for number, (entry, is_listed) in enumerate(taken, start=1):
            row = next(rows)[1] if is_listed else None
            missing -= row is not None
            yield pages.Examined(position(entry), rendering.render(row) if row else None, number < len(entries))
        examined += len(taken)
        if len(taken) == len(entries) or examined >= pages.MAX_EXAMINED:
            return
        cursor, portion = position(taken[-1][0]), min(PORTION, pages.MAX_EXAMINED - examined)


def _up_to_match(entries: list[AgentRow], filters: AgentFilters, number: int) -> list[tuple[AgentRow, bool]]:
    """Return the entries up to the matching one with this number, and whether each matches."""
    matched = []
    for entry in entries:
        is_match = filters.is_empty or filters.match(store.summary_of(entry))
        matched.append((entry, is_match))
        number -= is_match
        if not number:
            break
    return matched
