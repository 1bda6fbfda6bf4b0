"""Lists: pages, and those of §4, which are whole where nobody asks for a page.

What is listed comes as two functions: `listed(after, limit)`, at most `limit` rows behind the one with the sort key
`after`, and `shown(row)`, the record of a row.
"""

from collections.abc import Callable
from typing import Any

from chalice.app import Response

from chalicelib.http import messages
from chalicelib.storage import AnyRow

Shown = Callable[[AnyRow], dict[str, Any]]


def page(message: str, listed: Callable[[str | None, int], list[AnyRow]], shown: Shown[AnyRow]) -> Response:
    """The records that `limit` and `cursor` of the query ask for, fewer where an answer is full. Raises Invalid."""
    limit = messages.limit()
    rows = listed(messages.cursor(), limit + 1)
    records = messages.as_many_as_fit(map(shown, rows[:limit]))
    more = messages.to_cursor(rows[len(records) - 1].keys[-1]) if len(rows) > len(records) else None
    return messages.listing(message, records, more)


def whole_or_page(
    message: str, listed: Callable[[str | None, int | None], list[AnyRow]], shown: Shown[AnyRow]
) -> Response:
    """All records without `limit` and `cursor`, a page with either. Raises Invalid; TooLarge for more than fit."""
    if messages.query_value("limit") is None and messages.query_value("cursor") is None:
        return messages.success(message, [*map(shown, listed(None, None))])
    return page(message, listed, shown)
