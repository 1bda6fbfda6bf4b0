"""Clients that authenticate, retry, and raise exceptions for unsuccessful responses."""

import asyncio
import time
from itertools import count
from typing import Any

import httpx

from .api_error import ApiError, NotModified, read_envelope
from .errors import BY_CODE
from .retries import LOST, Retries
from .version import __version__


class Client(httpx.Client):
    """An `httpx.Client` for the operations in `api`. Close it after use, or use it in a `with` statement."""

    def __init__(
        self, base_url: str, token: str, *, retries: Retries | None = None, timeout: float = 30.0, **options: Any
    ) -> None:
        """Create a client for the service at `base_url`.

        `token` is any credential that the service accepts. `timeout` is the limit for each connect, read and write in
        seconds. `options` are passed to `httpx.Client`.
        """
        super().__init__(base_url=base_url, timeout=timeout, **options)
        self.headers.update(_headers(token))
        self._retries = retries or Retries()

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request, with retries, and return the successful response.

        Raise ApiError, NotModified or httpx.TransportError.
        """
        self._retries.prepare(request)
        for attempt in count(1):
            outcome: httpx.Response | Exception
            try:
                outcome = super().send(request, **options)
            except LOST as error:
                outcome = error
            pause = self._retries.pause(attempt, outcome)
            if pause is None:
                break
            time.sleep(pause)
        return _success(outcome)


class AsyncClient(httpx.AsyncClient):
    """The asyncio version of `Client`. Use it in an `async with` statement."""

    def __init__(
        self, base_url: str, token: str, *, retries: Retries | None = None, timeout: float = 30.0, **options: Any
    ) -> None:
        """Create a client as `Client` does. `options` are passed to `httpx.AsyncClient`."""
        super().__init__(base_url=base_url, timeout=timeout, **options)
        self.headers.update(_headers(token))
        self._retries = retries or Retries()

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Do the same as `Client.send`."""
        self._retries.prepare(request)
        for attempt in count(1):
            outcome: httpx.Response | Exception
            try:
                outcome = await super().send(request, **options)
            except LOST as error:
                outcome = error
            pause = self._retries.pause(attempt, outcome)
            if pause is None:
                break
            await asyncio.sleep(pause)
        return _success(outcome)


def _headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}", "User-Agent": f"cams-client/{__version__}"}


def _success(outcome: httpx.Response | Exception) -> httpx.Response:
    if isinstance(outcome, Exception):
        raise outcome
    if outcome.status_code == httpx.codes.NOT_MODIFIED:
        raise NotModified
    if not outcome.is_success:
        envelope = read_envelope(outcome)
        raise BY_CODE.get(envelope.code, ApiError)(outcome, envelope)
    return outcome
