"""The audit log, which lists the changes to records with their authors and changed members, and filters."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from chalice.app import Response

from chalicelib import ids
from chalicelib.extensions.console import calls, filtered_lists, pages, periods, record_names, rights
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request, files
from chalicelib.storage import Document

_FIELDS = ("kind", "id", "by", "from", "to")
_KINDS = ("agents", "tools", "clients", "orgs", "webhooks", "tokens", "keys")
_PAGE_SIZE = 50
# A file has up to 10 pages of 100 changes.
_FILE_PAGE_SIZE, _MAX_PAGES = 100, 10
_COLUMNS = ("at", "resource", "operation", "changed", "byKind", "byId", "byName")


@signed_in("/settings")
def list_changes(session: Session) -> Response:
    """List the changes that match the filters, newest first."""
    rights.require_operator(session)
    query = filtered_lists.query_from_request(_FIELDS)
    return filtered_lists.page(
        session,
        "audit.html",
        "/settings",
        query,
        partial(_with_names, session, query),
        kinds=_KINDS,
        most_changes=_MAX_PAGES * _FILE_PAGE_SIZE,
    )


@signed_in("/settings")
def download(session: Session) -> Response:
    """Return up to 1,000 changes that match the filters as a file, newest first. Raise InvalidPeriod."""
    rights.require_operator(session)
    query = filtered_lists.query_from_request(_FIELDS)
    text = files.heading(files.CSV, _COLUMNS) + "".join(files.csv_line(_cells(one)) for one in _changes(query))
    return pages.download("audit-log.csv", files.MEDIA[files.CSV], text)


def _with_names(session: Session, query: dict[str, str]) -> Document:
    """Return a page of changes with the names of their records. Raise InvalidPeriod."""
    answer = _read(query, current_request.query_value("cursor"), _PAGE_SIZE)
    names = record_names.read(session.workspace_id, (one["resource"] for one in answer["data"]))
    return {**answer, "data": [{**one, "record": names.get(one["resource"])} for one in answer["data"]]}


def _changes(query: dict[str, str]) -> Iterator[Document]:
    cursor = None
    for _ in range(_MAX_PAGES):
        page = _read(query, cursor, _FILE_PAGE_SIZE)
        yield from page["data"]
        cursor = page.get("nextCursor")
        if cursor is None:
            return


def _read(query: dict[str, str], cursor: str | None, limit: int) -> Document:
    """Return the API's list of changes. Raise InvalidPeriod.

    The API has no list of the changes to one kind of record, so such a page contains the matching part of the list.
    """
    since, until = periods.bounds(query["from"], query["to"])
    sent = {"resource": _resource(query), "by": query["by"], "from": since, "to": until, "limit": limit}
    answer: Document = calls.get("/v3/history", {**sent, "cursor": cursor})
    prefix = f"{query['kind']}/" if query["kind"] else ""
    return {**answer, "data": [one for one in answer["data"] if one["resource"].startswith(prefix)]}


def _cells(change: Document) -> tuple[Any, ...]:
    by = change["by"] or {}
    author = (by.get("kind"), by.get("id"), by.get("name"))
    return change["at"], change["resource"], change["operation"], " ".join(change["changed"]), *author


def _resource(query: dict[str, str]) -> str:
    """Return the record that the filters select, such as `agents/support`, or an empty string for several records.

    Raise InvalidPeriod for an unknown kind, an invalid id, or an id without kind.
    """
    kind, record_id = query["kind"], query["id"]
    if kind in ("", *_KINDS) and (not record_id or (kind and ids.IDENTIFIER.fullmatch(record_id))):
        return f"{kind}/{record_id}" if record_id else ""
    raise periods.InvalidPeriod("id")
