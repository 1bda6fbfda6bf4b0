"""The current request: its query, preferences and parsed body. A view that runs again reuses the body."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from chalice.app import Request

from chalicelib import errors


class CurrentRequest:
    """A request. Once its body is parsed, it also contains the body and the response warnings."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.body: Any = None
        self.warnings: list[errors.MemberIssue] = []


_current: ContextVar[CurrentRequest] = ContextVar("current_request")


@contextmanager
def request_context(request: Request) -> Iterator[None]:
    """Make `request` the current request inside the block."""
    token = _current.set(CurrentRequest(request))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> CurrentRequest:
    """Return the current request with its parsed body and warnings."""
    return _current.get()


def request() -> Request:
    """Return the current request."""
    return _current.get().request


def warnings() -> list[errors.MemberIssue]:
    """Return the warnings about unknown and ignored members of the parsed body, at most 20."""
    return _current.get().warnings


def query_values(name: str) -> list[str]:
    """Return all values of a query parameter, or an empty list."""
    query = request().query_params
    values: list[str] = query.getlist(name) if query and name in query else []
    return values


def query_value(name: str) -> str | None:
    """Return the value of a query parameter, or None. Raise Invalid if it is repeated."""
    values = query_values(name)
    if len(values) > 1:
        raise errors.Invalid.member(name, "must not be repeated")
    return values[0] if values else None


def require_known_query(names: Sequence[str]) -> None:
    """Raise Invalid if the query contains any other parameter."""
    for name in request().query_params or ():
        if name not in names:
            rule = f"is not a query parameter of this route, which has {', '.join(names) or 'none'}"
            raise errors.Invalid.member(name[:64] or '""', rule)


def is_strict() -> bool:
    """Return whether the caller prefers an error to a warning: `Prefer: handling=strict` (RFC 7240)."""
    preferences = request().headers.get("prefer", "").lower().split(",")
    return any(text.partition(";")[0].replace(" ", "").replace('"', "") == "handling=strict" for text in preferences)
