"""Lists that are read page by page."""

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
    """A page of a list: its records, and where the next page starts."""

    @property
    def data(self) -> Sequence[T_co]:
        """The records of this page."""

    @property
    def next_cursor(self) -> str | Unset:
        """The `cursor` of the next page, unset on the last page."""


def iterate(operation: Callable[P, Page[T_co]], *args: P.args, **kwargs: P.kwargs) -> Iterator[T_co]:
    """Each record of a list: `iterate(list_agents.sync, client)`. Requests the next page when it is needed.

    Takes the arguments of the operation. Pages have 100 records unless `limit` says otherwise. Raises as the operation.
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
    """As `iterate`: `async for agent in iterate_async(list_agents.asyncio, client)`."""
    arguments = _first_page(operation, kwargs)
    while True:
        page = await operation(*args, **arguments)
        for record in page.data:
            yield record
        if not isinstance(page.next_cursor, str):
            return
        arguments["cursor"] = page.next_cursor


def export(operation: Callable[P, Answer[str]], *args: P.args, **kwargs: P.kwargs) -> Iterator[str]:
    """The pages of an export, which are one file.

    Such as `export(export_leads.sync_detailed, client, format_=ExportFormat.CSV)`.
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
    """As `export`, with the operation's `asyncio_detailed`."""
    arguments = _first_page(operation, kwargs)
    while True:
        page = await operation(*args, **arguments)
        yield page.parsed
        if not (cursor := _linked_cursor(page.headers)):
            return
        arguments["cursor"] = cursor


def _linked_cursor(headers: httpx.Headers) -> str | None:
    """The cursor of the next page in the header `Link`."""
    link = httpx.Response(200, headers=headers).links.get("next")
    return httpx.URL(link["url"]).params["cursor"] if link else None


def _first_page(operation: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """The arguments with a `limit`, if the operation has one: without it, some lists are one long answer."""
    has_limit = "limit" in inspect.signature(operation).parameters
    return {"limit": _LONGEST_PAGE, **arguments} if has_limit else dict(arguments)
