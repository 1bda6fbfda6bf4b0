"""Lists: pages, and those of §4, which are whole where nobody asks for a page.

What is listed comes as two functions: `listed(after, limit)`, at most `limit` rows behind the one with the sort key
`after`, and `shown(row)`, the record of a row.
"""

from collections.abc import Callable
from typing import Any

from chalice.app import Response

from chalicelib import http
from chalicelib.rows import AnyRow

Shown = Callable[[AnyRow], dict[str, Any]]


def page(message: str, listed: Callable[[str | None, int], list[AnyRow]], shown: Shown[AnyRow]) -> Response:
    """The records that `limit` and `cursor` of the query ask for, fewer where an answer is full. Raises Invalid."""
    limit = http.limit()
    rows = listed(http.cursor(), limit + 1)
    records = http.as_many_as_fit(map(shown, rows[:limit]))
    more = http.to_cursor(rows[len(records) - 1].keys[-1]) if len(rows) > len(records) else None
    return http.listing(message, records, more)


def whole_or_page(
    message: str, listed: Callable[[str | None, int | None], list[AnyRow]], shown: Shown[AnyRow]
) -> Response:
    """All records without `limit` and `cursor`, a page with either. Raises Invalid; TooLarge for more than fit."""
    if http.query_value("limit") is None and http.query_value("cursor") is None:
        return http.success(message, [*map(shown, listed(None, None))])
    return page(message, listed, shown)
