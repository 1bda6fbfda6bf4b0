"""The pages of a list with filters and dates, which continues on the next page."""

from collections.abc import Callable, Sequence
from typing import Any

from chalice.app import Response

from chalicelib.extensions.console.access import guard
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import periods
from chalicelib.http import current_request
from chalicelib.storage import Document


def query_from_request(names: Sequence[str]) -> dict[str, str]:
    """Return the filters in the request's query by name. A missing filter is empty."""
    return {name: current_request.query_value(name) or "" for name in names}


def page(
    session: Session, template: str, current: str, query: dict[str, str], read: Callable[[], Document], **values: Any
) -> Response:
    """Return a page of the list that `read` returns: `{data, nextCursor?, countedUntil?}`.

    The template gets the other members of this list as `listed`. If `read` raises InvalidPeriod, the list is empty, and
    the page explains the invalid field.
    """
    problem = None
    try:
        answer = read()
    except periods.InvalidPeriod as error:
        answer, problem = {"data": []}, error.field
    following = answer.get("nextCursor")
    return guard.page(
        session,
        template,
        current,
        400 if problem else 200,
        query=query,
        problem=problem,
        records=answer["data"],
        counted_until=answer.get("countedUntil"),
        listed=answer,
        query_string=query_string(query),
        following=query_string({**query, "cursor": following}) if following else None,
        **values,
    )
