"""Lists a workspace's agents by id, and searches them.

A search filters and sorts the summaries in the index, about 1 KB each. Documents are read only for the agents on the
page.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from chalice.app import Response

from chalicelib import errors, ids, storage
from chalicelib.agents import rendering, store
from chalicelib.agents.rows import AgentRow
from chalicelib.http import auth, current_request, json_text, pages, parameters, responses
from chalicelib.storage import Document

SEARCH_LIMIT = 50  # the default page size of a search
# Index entries per search, which is at most two requests. A total is exact only if these are all entries.
MAX_SEARCHED = 1_000
_SEARCHED = ("title", "description")
_PORTION = 100  # entries per query, except the first
# Bytes of a response that remain for the summaries of up to 200 agents.
_RESERVED = 1_000_000


class _Entry(NamedTuple):
    """An index entry and its summary."""

    row: AgentRow
    summary: Document

    @property
    def created(self) -> tuple[float, str]:
        return self.summary.get(store.CREATED, 0), self.row.agent_id

    @property
    def title(self) -> tuple[str, str]:
        return (self.summary.get("title") or "").casefold(), self.row.agent_id


# Each order sorts entries that are listed by their last change, latest first.
_SORTS: dict[str, Callable[[list[_Entry]], Sequence[_Entry]]] = {
    "newest": lambda entries: entries,
    "oldest": lambda entries: entries[::-1],
    "firstCreated": lambda entries: sorted(entries, key=lambda entry: entry.created),
    "lastCreated": lambda entries: sorted(entries, key=lambda entry: entry.created, reverse=True),
    "alphabetical": lambda entries: sorted(entries, key=lambda entry: entry.title),
}
ORDERS = tuple(_SORTS)


class AgentQuery(NamedTuple):
    """A search's filters, order, page and cursor. `text` is case-folded.

    `cursor` is the version tag of the last entry that an earlier search examined.
    """

    text: str
    starred_only: bool
    deployed: bool | None
    order: str
    page: int
    limit: int
    cursor: str | None

    @classmethod
    def from_request(cls) -> "AgentQuery":
        """Return the request's query. Raise Invalid, and Forbidden for the id of another workspace."""
        order, cursor = current_request.query_value("sortBy") or ORDERS[0], parameters.cursor()
        if order not in ORDERS:
            raise errors.Invalid.member("sortBy", f"must be {', '.join(ORDERS[:-1])} or {ORDERS[-1]}")
        if parameters.text("workspaceId") not in (None, auth.caller().workspace_id):
            raise errors.Forbidden("workspaceId must be the workspace of the credential; omit this parameter.")
        text, limit = parameters.optional_search_text("search"), parameters.limit(SEARCH_LIMIT)
        starred, deployed = bool(parameters.flag("starredOnly")), parameters.flag("deployed")
        return cls(text, starred, deployed, order, parameters.page(), limit, cursor)

    def match(self, entry: _Entry) -> bool:
        """Return whether an entry's agent contains the text, and is deployed or not as the query requires."""
        is_deployed = bool(entry.summary.get("deployed"))
        return self.deployed in (None, is_deployed) and parameters.contains(entry.summary, _SEARCHED, self.text)

    def slice(self, entries: Sequence[_Entry]) -> Sequence[_Entry]:
        """Return the entries on the page."""
        return entries[(self.page - 1) * self.limit : self.page * self.limit]


def examine(
    fetch: Callable[[str | None, int], Iterator[AgentRow]], cursor: str | None, limit: int
) -> Iterator[pages.Examined]:
    """Yield the agents after `cursor`, or None for deleted agents. The caller stops after `limit` agents.

    `fetch(after, limit)` yields entries. This costs one request per 20 agents, and those of one `fetch` for the first
    `limit` entries, then one per 100 entries, up to 500 in total.
    """
    examined, portion = 0, limit
    while True:
        entries = [*fetch(cursor, portion + 1)]
        for number, (position, row) in enumerate(store.read_entries(entries[:portion]), start=1):
            yield pages.Examined(position, rendering.render(row) if row else None, number < len(entries))
            cursor = position
        examined += portion
        if len(entries) <= portion or examined >= pages.MAX_EXAMINED:
            return
        portion = min(_PORTION, pages.MAX_EXAMINED - examined)


def search(workspace_id: str, query: AgentQuery) -> Response:
    """Return a response with the page's agents and starred agents.

    `total` and `totalStarred` are absent if the search examines only some of the agents. This costs one or two requests
    for the index, plus one per 20 agents on the page. Raise Invalid as `pages.cursor_of_page` does.
    """
    rows = [*store.list_changes(workspace_id, query.cursor, MAX_SEARCHED + 1)]
    examined = [_Entry(row, store.summary_of(row)) for row in rows[:MAX_SEARCHED]]
    matches = _SORTS[query.order]([entry for entry in examined if query.match(entry)])
    starred = [entry for entry in matches if entry.summary.get("starred")]
    listed = starred if query.starred_only else matches
    following = rows[MAX_SEARCHED - 1].version_tag if len(rows) > MAX_SEARCHED else None
    has_more = following is not None or query.page * query.limit < len(listed)
    cursor = following and pages.cursor_of_page(query.page, query.limit, len(listed), following)
    body: dict[str, Any] = {"success": True, "message": "Agents retrieved successfully"}
    if not following and not query.cursor:
        body |= {"total": len(listed), "totalStarred": len(starred)}
    body |= {"page": query.page, "limit": query.limit, "hasMore": has_more}
    body |= {"nextCursor": cursor} if cursor else {}
    return _response(body, agents=query.slice(listed), starredAgents=query.slice(starred))


def _response(body: Document, **lists: Sequence[_Entry]) -> Response:
    """Return a response with the members of `body` and these lists of agents."""
    records = _records({entry.row.agent_id: entry for listed in lists.values() for entry in listed})
    text: str | None = storage.encode_json(body).decode()
    for name, listed in lists.items():
        own = [records[entry.row.agent_id] for entry in listed if entry.row.agent_id in records]
        text = text and json_text.with_list(text, name, own)
    if text is None:
        raise responses.too_large()
    return responses.text_response(text)


def _records(entries: dict[str, _Entry]) -> dict[str, str]:
    """Return the agents by id as JSON texts, without deleted agents. Agents that do not fit have only their summary."""
    records: dict[str, str] = {}
    left, rows = responses.RESPONSE_LIMIT - _RESERVED, store.read_entries(entry.row for entry in entries.values())
    for agent_id, entry in entries.items():
        row = next(rows)[1] if left > 0 else entry.row
        if row is None:
            continue
        if left > 0:
            records[agent_id] = storage.encode_json(rendering.render(row)).decode()
            left -= len(json.dumps(records[agent_id])) * (2 if entry.summary.get("starred") else 1)
        if left <= 0:
            times = {store.CREATED: 0, "lastModified": ids.timestamp_of(entry.row.version_tag) // 1000}
            summary = rendering.v3_form(entry.row.workspace_id, agent_id, {**times, **entry.summary})
            records[agent_id] = storage.encode_json(summary).decode()
    return records
