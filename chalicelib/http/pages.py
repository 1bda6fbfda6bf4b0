"""Lists: in pages, and those of §4 that are whole unless a page is asked for.

A list view passes two callables: `fetch(after, limit)` returns up to `limit` rows after the sort key `after`, and
`render(row)` returns one record.
"""

from collections.abc import Callable
from typing import Any

from chalice.app import Response

from chalicelib.http import messages
from chalicelib.storage import AnyRow

Render = Callable[[AnyRow], dict[str, Any]]


def page(message: str, fetch: Callable[[str | None, int], list[AnyRow]], render: Render[AnyRow]) -> Response:
    """The records that `limit` and `cursor` of the query ask for, fewer where an answer is full. Raises Invalid."""
    limit = messages.limit()
    rows = fetch(messages.cursor(), limit + 1)
    records = messages.take_fitting(map(render, rows[:limit]))
    more = messages.to_cursor(rows[len(records) - 1].keys[-1]) if len(rows) > len(records) else None
    return messages.listing(message, records, more)


def all_or_page(
    message: str, fetch: Callable[[str | None, int | None], list[AnyRow]], render: Render[AnyRow]
) -> Response:
    """All records without `limit` and `cursor`, a page with either. Raises Invalid; TooLarge for more than fit."""
    if messages.query_value("limit") is None and messages.query_value("cursor") is None:
        return messages.success(message, [*map(render, fetch(None, None))])
    return page(message, fetch, render)
