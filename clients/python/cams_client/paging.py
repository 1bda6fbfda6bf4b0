"""Iterators over paginated lists and exports."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar

import httpx

from .answer import Answer
from .types import Unset

P = ParamSpec("P")
T_co = TypeVar("T_co", covariant=True)
_LONGEST_PAGE = 100


class Page(Protocol[T_co]):
    """A list page: its records, and the next page's cursor."""

    @property
    def data(self) -> Sequence[T_co]:
        """The records on this page."""

    @property
    def next_cursor(self) -> str | Unset:
        """The next page's `cursor`. It is unset on the last page."""


def iterate(operation: Callable[P, Page[T_co]], *args: P.args, **kwargs: P.kwargs) -> Iterator[T_co]:
    """Yield all records of a list, and request each page when it is needed: `iterate(list_agents.sync, client)`.

    The function takes the operation's arguments and raises the operation's exceptions. By default, a page contains at
    most 100 records; `limit` changes this number.
    """
    arguments = _first_page(operation, kwargs)
    while True:
        page = operation(*args, **arguments)
        yield from page.data
        if not isinstance(page.next_cursor, str):
            return
        arguments["cursor"] = page.next_cursor


async def iterate_async(
    operation: Callable[P, Awaitable[Page[T_co]]], *args: P.args, **kwargs: P.kwargs
) -> AsyncIterator[T_co]:
    """Do the same as `iterate` for asyncio: `async for agent in iterate_async(list_agents.asyncio, client)`."""
    arguments = _first_page(operation, kwargs)
    while True:
        page = await operation(*args, **arguments)
        for record in page.data:
            yield record
        if not isinstance(page.next_cursor, str):
            return
        arguments["cursor"] = page.next_cursor


def export(operation: Callable[P, Answer[str]], *args: P.args, **kwargs: P.kwargs) -> Iterator[str]:
    """Yield the pages of an export. The concatenated pages form one file.

    For example: `export(export_leads.sync_detailed, client, format_=ExportFormat.CSV)`.
    """
    arguments = _first_page(operation, kwargs)
    while True:
        page = operation(*args, **arguments)
        yield page.parsed
        if not (cursor := _linked_cursor(page.headers)):
            return
        arguments["cursor"] = cursor


async def export_async(
    operation: Callable[P, Awaitable[Answer[str]]], *args: P.args, **kwargs: P.kwargs
) -> AsyncIterator[str]:
    """Do the same as `export` for asyncio. `operation` is an operation's `asyncio_detailed` function."""
    arguments = _first_page(operation, kwargs)
    while True:
        page = await operation(*args, **arguments)
        yield page.parsed
        if not (cursor := _linked_cursor(page.headers)):
            return
        arguments["cursor"] = cursor


def _linked_cursor(headers: httpx.Headers) -> str | None:
    """Return the next page's cursor from the `Link` header, or None on the last page."""
    link = httpx.Response(200, headers=headers).links.get("next")
    return httpx.URL(link["url"]).params["cursor"] if link else None


def _first_page(operation: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Add a `limit` to the arguments if the operation accepts one. Without a limit, some lists are not paginated."""
    has_limit = "limit" in inspect.signature(operation).parameters
    return {"limit": _LONGEST_PAGE, **arguments} if has_limit else dict(arguments)
