"""Lists changes and versions, newest first, in bounded pages."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from chalice.app import Response

from chalicelib import clock, errors, ids, storage
from chalicelib.extensions.history import changes, restorations, store
from chalicelib.extensions.history.rows import ACTS, DELETE, HistoryRow
from chalicelib.http import auth, current_request, pages, parameters

RESOURCES = ("agents", "tools", "clients", "orgs", "webhooks", "tokens", "keys", *ACTS)
_MAX_MILLISECONDS = (1 << 48) - 1
_MESSAGE = "History retrieved successfully"

_Fetch = Callable[[tuple[str, str], int], Iterator[HistoryRow]]


def list_changes() -> Response:
    """Return the page of changes that the query requests. Raise Invalid."""
    workspace_id, by = auth.caller().workspace_id, parameters.text("by")
    fetch: _Fetch = partial(store.list_of_workspace, workspace_id)
    if record := _resource():
        fetch = partial(store.list_of_record, workspace_id, *record)
    since, until = parameters.seconds("from") or 0, parameters.seconds("to")
    last = _MAX_MILLISECONDS if until is None else min(until * 1000, _MAX_MILLISECONDS) - 1
    span = store.span(min(since * 1000, _MAX_MILLISECONDS), max(last, 0))

    def show(row: HistoryRow) -> dict[str, Any] | None:
        entry = _entry(row)
        change = _change(row, entry) if "operation" in entry else None
        return change if change and (by is None or by in _names(change)) else None

    return _page(_MESSAGE, fetch, span, show)


def list_versions(resource: str, record_id: str, require: Callable[[], object]) -> Response:
    """Return the requested page of a record's versions. `require` raises NotFound if the record does not exist."""
    fetch = partial(store.list_of_record, auth.caller().workspace_id, resource, record_id)

    def fetch_or_require(span: tuple[str, str], limit: int) -> Iterator[HistoryRow]:
        return pages.unless_empty(fetch(span, limit), require)

    return _page("Versions retrieved successfully", fetch_or_require, store.span(0, _MAX_MILLISECONDS), _version)


def _page(
    message: str, fetch: _Fetch, span: tuple[str, str], show: Callable[[HistoryRow], dict[str, Any] | None]
) -> Response:
    limit = parameters.limit()
    first, last = span

    def fetch_after(after: str | None, portion: int) -> Iterator[HistoryRow]:
        end = min(last, ids.highest_before(after)) if after else last
        return fetch((first, end), portion) if first <= end else iter(())

    rows = pages.in_portions(fetch_after, parameters.cursor(), limit)
    return pages.bounded_page(message, _examine(rows, show), limit)


def _examine(
    rows: pages.PositionedRows[HistoryRow], show: Callable[[HistoryRow], dict[str, Any] | None]
) -> Iterator[pages.Examined]:
    upcoming = next(rows, None)
    for _ in range(pages.MAX_EXAMINED):
        if upcoming is None:
            return
        (position, row), upcoming = upcoming, next(rows, None)
        yield pages.Examined(position, show(row), upcoming is not None)


def _resource() -> tuple[str, str] | None:
    value = current_request.query_value("resource")
    if value is None:
        return None
    resource, _, record_id = value.partition("/")
    if resource not in RESOURCES or not ids.IDENTIFIER.fullmatch(record_id):
        raise errors.Invalid.member("resource", f"must be one of {', '.join(RESOURCES)}, a slash and the id")
    return resource, record_id


def _change(row: HistoryRow, entry: dict[str, Any]) -> dict[str, Any]:
    resource, _, _ = row.resource.partition("/")
    is_version = resource in changes.VERSIONED and entry["operation"] != DELETE
    number = {"number": row.milliseconds} if is_version else {}
    return {
        "id": row.change,
        "resource": row.resource,
        "operation": entry["operation"],
        **_common(row, entry),
        **number,
    }


def _version(row: HistoryRow) -> dict[str, Any] | None:
    entry = _entry(row)
    return None if entry.get("operation") == DELETE else {"number": row.milliseconds, **_common(row, entry)}


def _common(row: HistoryRow, entry: dict[str, Any]) -> dict[str, Any]:
    # A follower of an earlier release does not know the mark of a restore, and stores it with the author.
    by, marked = restorations.split(entry.get("by"))
    author = None if by is None else dict(zip(("kind", "id", "name"), storage.split_author(by), strict=True))
    number = entry.get("restoredFrom", marked)
    restored = {} if number is None else {"restoredFrom": number}
    return {"at": clock.iso(row.milliseconds // 1000), "by": author, "changed": entry["changed"], **restored}


def _entry(row: HistoryRow) -> dict[str, Any]:
    return storage.unseal(row, "entry")


def _names(change: dict[str, Any]) -> tuple[str, ...]:
    return tuple((change["by"] or {}).values())
