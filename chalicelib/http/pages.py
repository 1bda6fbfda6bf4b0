"""List responses with cursor pagination; some lists of §4 are returned whole unless a page is requested.

A list view passes two callables: `fetch(after, limit)` yields up to `limit` rows after the sort key `after`, and
`render(row)` returns one record. Reading stops when the response is full.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from chalice.app import Response

from chalicelib.http import messages
from chalicelib.storage import AnyRow

Render = Callable[[AnyRow], dict[str, Any]]


def page(message: str, fetch: Callable[[str | None, int], Iterator[AnyRow]], render: Render[AnyRow]) -> Response:
    """The page that `limit` and `cursor` request, shorter if the response would be too large. Raises Invalid."""
    limit = messages.limit()
    rows = fetch(messages.cursor(), limit + 1)
    records, keys = _take(islice(rows, limit), render)
    has_more = len(keys) > len(records) or next(rows, None) is not None
    return messages.list_response(message, records, messages.to_cursor(keys[len(records) - 1]) if has_more else None)


def all_or_page(
    message: str, fetch: Callable[[str | None, int | None], Iterator[AnyRow]], render: Render[AnyRow]
) -> Response:
    """A page if the query has `limit` or `cursor`, otherwise all records.

    Raises Invalid, and TooLarge if the records do not fit in a response.
    """
    if messages.query_value("limit") is None and messages.query_value("cursor") is None:
        records, keys = _take(fetch(None, None), render)
        if len(keys) > len(records):
            raise messages.response_too_large()
        return messages.list_response(message, records, None)
    return page(message, fetch, render)


def _take(rows: Iterator[AnyRow], render: Render[AnyRow]) -> tuple[list[str], list[str]]:
    """The records that fit in a response, as JSON, and the sort keys of the rows that were read."""
    keys: list[str] = []

    def rendered() -> Iterator[dict[str, Any]]:
        for row in rows:
            keys.append(row.keys[-1])
            yield render(row)

    return [*messages.take_fitting(rendered())], keys
