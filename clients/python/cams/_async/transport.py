"""Sends requests, and repeats those that may have been lost."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Generic

import httpx

from .._errors import NoResponse
from .._http import LOST, Call, Page, R, Response, check_settings, jitter, log, pause, success


@dataclass(frozen=True, repr=False)
class AsyncTransport:
    """The address, the credential and the settings of a client. `retries` excludes the first attempt."""

    url: str
    api_key: str
    timeout: float
    retries: int
    http: httpx.AsyncClient

    def __post_init__(self) -> None:
        """Check the address and the credential."""
        check_settings(self.url, self.api_key)

    async def send(self, call: Call) -> Response:
        """Send a request and return the successful response. Raise ApiError, NotModified or NoResponse."""
        url, headers = self.url + call.url(), call.all_headers(self.api_key)
        for attempt in count(1):
            started = time.monotonic()
            outcome: httpx.Response | httpx.RequestError
            try:
                outcome = await self.http.request(
                    call.method,
                    url,
                    params=call.params(),
                    headers=headers,
                    json=call.json,
                    timeout=self.timeout,
                    follow_redirects=False,
                )
                result = f"{outcome.status_code}, request {outcome.headers.get('X-Request-Id')}"
            except LOST as error:
                outcome, result = error, type(error).__name__
            except httpx.RequestError as error:
                raise NoResponse(f"{call.method} {call.path}: {type(error).__name__}.") from error
            log.debug("%s %s: %s, %.3f s", call.method, call.path, result, time.monotonic() - started)
            seconds = pause(call, attempt, outcome) if attempt <= self.retries else None
            if seconds is None:
                break
            log.info("%s %s: %s; attempt %d follows", call.method, call.path, result, attempt + 1)
            await asyncio.sleep(seconds)
        if isinstance(outcome, Exception):
            raise NoResponse(f"{call.method} {call.path}: {result} after {attempt} attempts.") from outcome
        return success(call, outcome)

    async def pages(self, call: Call) -> AsyncIterator[Response]:
        """Yield the responses for all pages of a list or export. `call` requests the first page."""
        while True:
            response = await self.send(call)
            yield response
            if response.next_cursor is None:
                return
            call = replace(call, query={**call.query, "cursor": response.next_cursor})


async def attempts() -> AsyncIterator[int]:
    """Yield the number of each attempt at a change that can conflict with other writers. Pause before each repeat."""
    for attempt in count(1):
        yield attempt
        await asyncio.sleep(jitter(attempt))


class AsyncPages(Generic[R]):
    """The records of a list. Iterating requests each page when it is needed."""

    def __init__(self, transport: AsyncTransport, call: Call, record: type[R]) -> None:
        """Create the list. `call` requests its first page."""
        self._transport, self._call, self._record = transport, call, record

    async def __aiter__(self) -> AsyncIterator[R]:
        """Yield all records."""
        async for page in self.pages():
            for record in page.data:
                yield record

    async def pages(self) -> AsyncIterator[Page[R]]:
        """Yield all pages."""
        async for response in self._transport.pages(self._call):
            yield response.page(self._record)

    async def first_page(self) -> Page[R]:
        """Request only the first page. Pass its `next_cursor` as `cursor` to continue."""
        return (await self._transport.send(self._call)).page(self._record)


class AsyncTextPages:
    """The pages of an exported file. The concatenated pages form one file."""

    def __init__(self, transport: AsyncTransport, call: Call) -> None:
        """Create the export. `call` requests its first page."""
        self._transport, self._call = transport, call

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield all pages."""
        async for response in self._transport.pages(self._call):
            yield response.text
