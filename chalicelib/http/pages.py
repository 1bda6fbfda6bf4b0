"""List responses with cursor pagination. Some lists in §4 are returned in full unless the request asks for a page.

A list view passes two callables: `fetch(after, limit)` yields up to `limit` rows after the position `after`, and
`render(row)` returns a record. Reading stops when the response is full.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

from chalice.app import Response

from chalicelib import errors
from chalicelib.http import current_request, json_text, parameters, responses
from chalicelib.storage import AnyRow, Document

# The maximum number of records, and of characters of their JSON, that a request examines. The last record may exceed
# the character limit.
MAX_EXAMINED = 500
MAX_OPENED = 6_000_000
_PORTION = 100  # records per query after the first one

Render = Callable[[AnyRow], dict[str, Any]]
PositionedRows = Iterator[tuple[str, AnyRow]]


class SealedJsonRow(Protocol):
    """A row in a bounded list. It contains a sealed JSON object."""

    def text(self) -> str:
        """Return the object as JSON text."""


AnySealedJsonRow = TypeVar("AnySealedJsonRow", bound=SealedJsonRow)


def page(message: str, fetch: Callable[[str | None, int], Iterator[AnyRow]], render: Render[AnyRow]) -> Response:
    """Return the page for `limit` and `cursor`, or fewer records if the response would be too large. Raise Invalid."""
    limit = parameters.limit()
    rows = fetch(parameters.cursor(), limit + 1)
    taken = _take((row.position, render(row)) for row in islice(rows, limit))
    has_more = taken.is_full or next(rows, None) is not None
    return json_text.list_response(message, taken.records, taken.last if has_more else None)


class Examined(NamedTuple):
    """An examined entry in a bounded list: its position, its record if it is listed, and whether more follow."""

    position: str
    record: Any
    has_more: bool


def examine(
    rows: Iterator[tuple[str, AnySealedJsonRow]], show: Callable[[AnySealedJsonRow, Document], Document | None]
) -> Iterator[Examined]:
    """Examine rows one at a time: up to 500 rows, or 6 MB of JSON.

    `show` returns the listed record for a row and its document, or None to omit the row.
    """
    examined = opened = 0
    following = next(rows, None)
    while following is not None and examined < MAX_EXAMINED and opened <= MAX_OPENED:
        position, row = following
        text = row.text()
        record = show(row, json.loads(text))
        examined, opened, following = examined + 1, opened + len(text), next(rows, None)
        yield Examined(position, record, following is not None)


def in_portions(
    fetch: Callable[[str | None, int], Iterator[AnyRow]],
    after: str | None,
    limit: int,
    position: Callable[[AnyRow], str] = lambda row: row.position,
) -> PositionedRows[AnyRow]:
    """Yield the rows from `fetch` with their positions. First fetch one row more than a page, then 100 at a time."""
    portion = limit + 1
    while True:
        taken = 0
        for row in fetch(after, portion):
            taken, after = taken + 1, position(row)
            yield after, row
        if taken < portion:
            return
        portion = _PORTION


def bounded_page(
    message: str,
    examined: Iterator[Examined],
    limit: int,
    describe: Callable[[str | None], dict[str, Any]] = lambda position: {},
) -> Response:
    """Return up to `limit` records of a bounded list, or fewer if they do not fit in a response.

    `nextCursor` is the position of the last examined entry, so even an empty page may have a `nextCursor`. `describe`
    receives that position, or None at the end of the list, and returns additional response members.
    """
    records, position = take_bounded(examined, limit)
    return json_text.list_response(message, records, position, hasMore=position is not None, **describe(position))


def numbered_or_bounded_page(message: str, examined: Iterator[Examined], limit: int, page_member: str) -> Response:
    """Return a numbered page of a bounded list if the query contains `page`, otherwise a page as `bounded_page` does.

    A numbered page examines all entries within the limits of one request. If these are the whole list, the response
    contains `total` and `totalPages`. `page_member` is the name of the member that contains the page number. Raise
    Invalid as `cursor_of_page` does.
    """
    if current_request.query_value("page") is None:
        return bounded_page(message, examined, limit)
    number, total, last = parameters.page(), 0, Examined("", None, False)
    first = (number - 1) * limit
    records = []
    for last in examined:
        if last.record is not None:
            records += [last.record] if first <= total < first + limit else []
            total += 1
    is_whole = not last.has_more and parameters.cursor() is None
    members = {page_member: number, "hasMore": last.has_more or total > first + limit}
    members |= {"total": total, "totalPages": -(-total // limit)} if is_whole else {}
    texts = [*json_text.take_fitting(records)]
    if len(texts) < len(records):
        raise responses.too_large()
    position = cursor_of_page(number, limit, total, last.position) if last.has_more else None
    return json_text.list_response(message, texts, position, **members)


def cursor_of_page(number: int, limit: int, total: int, position: str) -> str | None:
    """Return the cursor of a numbered page: `position` if it is the last page of the examined entries, otherwise None.

    On an earlier page, a caller that follows the cursor would miss the pages in between. Raise Invalid for a later
    page. It would be empty although the list continues, so a caller that only counts pages would never reach the end.
    """
    if number > 1 and (number - 1) * limit >= total:
        raise errors.Invalid.member("page", "is after the last page; pass the last page's nextCursor as cursor")
    return position if number * limit >= total else None


def take_bounded(examined: Iterator[Examined], limit: int) -> tuple[list[str], str | None]:
    """Return a bounded list's records as JSON texts, and the position to continue after, or None at the end."""
    last = Examined("", None, False)

    def until_full() -> Iterator[tuple[str, Any]]:
        nonlocal last
        listed = 0
        for last in examined:
            yield last.position, last.record
            listed += last.record is not None
            if listed == limit:
                return

    taken = _take(until_full())
    return taken.records, taken.last if taken.is_full or last.has_more else None


def all_or_page(
    message: str, fetch: Callable[[str | None, int | None], Iterator[AnyRow]], render: Render[AnyRow]
) -> Response:
    """Return a page if the query contains `limit` or `cursor`, otherwise all records.

    Raise Invalid, and TooLarge if the records do not fit in a response.
    """
    if current_request.query_value("limit") is None and current_request.query_value("cursor") is None:
        taken = _take((row.position, render(row)) for row in fetch(None, None))
        if taken.is_full:
            raise responses.too_large()
        return json_text.list_response(message, taken.records, None)
    return page(message, fetch, render)


def unless_empty(rows: Iterator[AnyRow], require_parent: Callable[[], object]) -> Iterator[AnyRow]:
    """Yield the rows. If there are none, call `require_parent`, which raises NotFound unless the parent exists."""
    first = next(rows, None)
    if first is None:
        require_parent()
    else:
        yield first
        yield from rows


class _FittingRecords(NamedTuple):
    """The records that fit in a response as JSON, the last used entry's position, and whether a record did not fit."""

    records: list[str]
    last: str
    is_full: bool


def _take(entries: Iterable[tuple[str, dict[str, Any] | None]]) -> _FittingRecords:
    """Take the records that fit. An entry is a position and its record, or None if the entry is not listed."""
    positions, taken = [""], 0

    def records() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for position, record in entries:
            positions.append(position)
            if record is not None:
                taken += 1
                yield record

    texts = [*json_text.take_fitting(records())]
    is_full = taken > len(texts)
    return _FittingRecords(texts, positions[-2] if is_full else positions[-1], is_full)
