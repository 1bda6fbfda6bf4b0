"""Lists a workspace's agents, ordered by id or by last change.

Filters use the summaries in the indexes, about 1 KB each. Documents are read only for the agents that match.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from chalicelib import errors, ids
from chalicelib.agents import rendering, store
from chalicelib.agents.rows import AgentRow
from chalicelib.http import current_request, pages, parameters

NAMES = ("q", "starred", "deployed", "sort")
# The values that `sort` accepts. Indexes sort by unencrypted attributes, so sorting by encrypted members is impossible.
ORDERS = ("lastModified",)
_SEARCHED = ("title", "description")
# Index entries per query. The first query reads only one page.
PORTION = 100


class AgentQuery(NamedTuple):
    """An agent list's filters, order and cursor. `text` is case-folded.

    `cursor` is the last agent id on the previous page, or its last version tag if `is_by_change`.
    """

    flags: dict[str, bool]
    text: str
    is_by_change: bool
    cursor: str | None

    @classmethod
    def from_request(cls) -> "AgentQuery":
        """Return the request's query. A missing filter matches every agent. Raise Invalid for invalid parameters."""
        flags = {name: value for name in ("starred", "deployed") if (value := parameters.flag(name)) is not None}
        text, sort = parameters.search_text("q"), current_request.query_value("sort")
        if sort not in (None, *ORDERS):
            raise errors.Invalid.member("sort", f"must be {ORDERS[0]}")
        cursor = parameters.cursor()
        if sort and cursor and not ids.ULID.fullmatch(cursor):
            raise errors.Invalid.member("cursor", "must be the nextCursor of an earlier response with the same sort")
        return cls(flags, text, sort is not None, cursor)

    def match(self, entry: AgentRow) -> bool:
        """Return whether an index entry's agent satisfies the filters."""
        if not self.flags and not self.text:
            return True
        summary = store.summary_of(entry)
        return all(bool(summary.get(name)) == value for name, value in self.flags.items()) and (
            parameters.contains(summary, _SEARCHED, self.text)
        )


def examine(workspace_id: str, query: AgentQuery, limit: int) -> Iterator[pages.Examined]:
    """Yield the examined agents after the cursor. The caller stops after `limit` matching agents.

    This costs one request for the first `limit` index entries, one per 100 further entries up to 500 in total, and one
    per 20 matching agents.
    """
    fetch = partial(store.list_changes if query.is_by_change else store.list_entries, workspace_id)
    examined, missing, portion, cursor = 0, limit, limit, query.cursor
    while True:
        entries = [*fetch(cursor, portion + 1)]
        matches = _up_to_match(entries[:portion], query, missing)
        rows = store.read_entries(entry for entry, is_listed in matches if is_listed)
        for number, (entry, is_listed) in enumerate(matches, start=1):
            row = next(rows)[1] if is_listed else None
            missing -= row is not None
            cursor = entry.version_tag if query.is_by_change else entry.agent_id
            yield pages.Examined(cursor, rendering.render(row) if row else None, number < len(entries))
        examined += len(matches)
        if len(matches) == len(entries) or examined >= pages.MAX_EXAMINED:
            return
        portion = min(PORTION, pages.MAX_EXAMINED - examined)


def _up_to_match(entries: list[AgentRow], query: AgentQuery, number: int) -> list[tuple[AgentRow, bool]]:
    """Return the entries up to match number `number`, each paired with whether the entry matches."""
    matches = []
    for entry in entries:
        is_match = query.match(entry)
        matches.append((entry, is_match))
        number -= is_match
        if not number:
            break
    return matches
