"""List responses with cursor pagination; some lists of §4 are returned whole unless a page is requested.

A list view passes two callables: `fetch(after, limit)` returns up to `limit` rows after the position `after`, and
`render(row)` returns one record. A list of an index also passes `read(entries)`: it yields the row of each entry, or
None for a record that was deleted in the meantime. It is read only as far as the response has room.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from chalice.app import Response

from chalicelib.http import messages
from chalicelib.storage import AnyRow

Render = Callable[[AnyRow], dict[str, Any]]


def page(
    message: str,
    fetch: Callable[[str | None, int], list[AnyRow]],
    render: Render[AnyRow],
    read: Callable[[Sequence[AnyRow]], Iterable[AnyRow | None]] = iter,
) -> Response:
    """The page that `limit` and `cursor` request, shorter if the response would be too large. Raises Invalid."""
    limit = messages.limit()
    rows = fetch(messages.cursor(), limit + 1)
    records = messages.take_fitting(None if row is None else render(row) for row in read(rows[:limit]))
    more = messages.to_cursor(rows[len(records) - 1].position) if len(rows) > len(records) else None
    return messages.listing(message, [record for record in records if record is not None], more)


def all_or_page(
    message: str, fetch: Callable[[str | None, int | None], list[AnyRow]], render: Render[AnyRow]
) -> Response:
    """A page if the query has `limit` or `cursor`, otherwise all records.

    Raises Invalid, and TooLarge if the records do not fit in a response.
    """
    if messages.query_value("limit") is None and messages.query_value("cursor") is None:
        return messages.success(message, [*map(render, fetch(None, None))])
    return page(message, fetch, render)
