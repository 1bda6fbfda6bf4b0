"""List responses with cursor pagination; some lists of §4 are returned whole unless a page is requested.

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
    """The page that `limit` and `cursor` request, shorter if the response would be too large. Raises Invalid."""
    limit = messages.limit()
    rows = fetch(messages.cursor(), limit + 1)
    records = messages.take_fitting(map(render, rows[:limit]))
    more = messages.to_cursor(rows[len(records) - 1].keys[-1]) if len(rows) > len(records) else None
    return messages.listing(message, records, more)


def all_or_page(
    message: str, fetch: Callable[[str | None, int | None], list[AnyRow]], render: Render[AnyRow]
) -> Response:
    """A page if the query has `limit` or `cursor`, otherwise all records.

    Raises Invalid, and TooLarge if the records do not fit in a response.
    """
    if messages.query_value("limit") is None and messages.query_value("cursor") is None:
        return messages.success(message, [*map(render, fetch(None, None))])
    return page(message, fetch, render)
