"""The filters of the list of conversations, which are in the query of its address."""

from typing import Any

from chalicelib.conversations.filters import Filters
from chalicelib.extensions.console.access import guard
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.inbox_pages import inbox
from chalicelib.extensions.console.presentation import periods
from chalicelib.http import current_request, parameters
from chalicelib.storage import Document

NAMES = ("agent", "from", "to", "state", "tag", "origin", "assignedTo", "q", *inbox.VISITOR)
UNASSIGNED = "*none"
"""The value of `assignedTo` for conversations that are assigned to no person. It is not a valid client id."""
_NEVER = 1 << 40  # Unix seconds
_MEMBERS = {"state": "state", "origin": "origin", "assignedTo": "chatAssignedTo", "tag": "tag", **inbox.VISITOR}


def from_request(session: Session) -> Filters:
    """Return the filters from the page's query string, except the agent. Empty values are ignored. Raise Invalid."""
    names = [name for name in _MEMBERS if current_request.query_value(name)]
    equal: dict[str, Any] = {_MEMBERS[name]: parameters.text(name) for name in names}
    if equal.get("chatAssignedTo") == UNASSIGNED:
        equal["chatAssignedTo"] = None
    tag = equal.pop("tag", None)
    since, until = _bounds(session)
    return inbox.ANY._replace(since=since, until=until, tag=tag, equal=equal, text=parameters.optional_search_text("q"))


def explained(session: Session) -> tuple[Filters, str | None]:
    """Return the filters and None. For an invalid day, return filters that match nothing, and the day's field.

    Raise Invalid for any other invalid filter.
    """
    try:
        return from_request(session), None
    except periods.InvalidPeriod as error:
        return inbox.ANY._replace(since=_NEVER), error.field


def exact_bounds(query: Document) -> set[str]:
    """Return which of `from` and `to` are times in Unix seconds, as in links from counts. Otherwise, they are days."""
    return {name for name in ("from", "to") if (query[name] or "").isdecimal()}


def _bounds(session: Session) -> tuple[int | None, int | None]:
    """Return the bounds of the conversations' start in Unix seconds, or None for an empty value. Raise Invalid.

    Days are in the person's time zone.
    """
    values = {name: current_request.query_value(name) for name in ("from", "to")}
    days = {name: value for name, value in values.items() if name not in exact_bounds(values)}
    since, until = periods.bounds(days.get("from"), days.get("to"), guard.texts(session).zone)
    return (
        since if "from" in days else parameters.seconds("from"),
        until if "to" in days else parameters.seconds("to"),
    )
