"""The audit log, which lists the changes to records with their authors and changed members, and filters."""

from functools import partial

from chalice.app import Response

from chalicelib import ids
from chalicelib.extensions.console import calls, filtered_lists, periods, record_names, rights
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request
from chalicelib.storage import Document

_FIELDS = ("kind", "id", "by", "from", "to")
_KINDS = ("agents", "tools", "clients", "orgs", "webhooks", "tokens", "keys")
_PAGE_SIZE = 50


@signed_in("/settings")
def list_changes(session: Session) -> Response:
    """List the changes that match the filters, newest first."""
    rights.require_operator(session)
    query = filtered_lists.query_from_request(_FIELDS)
    return filtered_lists.page(session, "audit.html", "/settings", query, partial(_read, session, query), kinds=_KINDS)


def _read(session: Session, query: dict[str, str]) -> Document:
    """Return the API's list of changes, with the names of their records. Raise InvalidPeriod.

    The API has no list of the changes to one kind of record, so such a page contains the matching part of the list.
    """
    since, until = periods.bounds_from_request()
    sent = {"resource": _resource(query), "by": query["by"], "from": since, "to": until, "limit": _PAGE_SIZE}
    answer = calls.get("/v3/history", {**sent, "cursor": current_request.query_value("cursor")})
    changes = [
        one for one in answer["data"] if one["resource"].startswith(f"{query['kind']}/" if query["kind"] else "")
    ]
    names = record_names.read(session.workspace_id, (one["resource"] for one in changes))
    return {**answer, "data": [{**one, "record": names.get(one["resource"])} for one in changes]}


def _resource(query: dict[str, str]) -> str:
    """Return the record that the filters select, such as `agents/support`, or an empty string for several records.

    Raise InvalidPeriod for an unknown kind, an invalid id, or an id without kind.
    """
    kind, record_id = query["kind"], query["id"]
    if kind in ("", *_KINDS) and (not record_id or (kind and ids.IDENTIFIER.fullmatch(record_id))):
        return f"{kind}/{record_id}" if record_id else ""
    raise periods.InvalidPeriod("id")
