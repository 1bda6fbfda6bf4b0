"""The client for asyncio programs."""

import os
from dataclasses import replace
from typing import Any, Self

import httpx

from .._errors import Error
from .resources import AsyncResources
from .transport import AsyncTransport


class AsyncClient(AsyncResources):
    """The operations of the service. Use it in an `async with` statement, or call `aclose`."""

    def __init__(
        self,
        *,
        api_key: str | None = None,
        url: str | None = None,
        timeout: float = 30.0,
        retries: int = 6,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Create a client.

        `api_key` is any credential that the service accepts; the default is the variable `CAMS_API_KEY`. `url` is the
        service's address; the default is `CAMS_URL`. `timeout` limits each connect, read and write, in seconds.
        `retries` is the number of repeats after a lost connection, a 502, 503 or 504, a 429 with `Retry-After`, or a
        409 `STALE` for added messages. `http_client` may configure proxies or certificates. Raise Error if the key
        or the address is missing or invalid.
        """
        url, api_key = setting(url, "url", "CAMS_URL"), setting(api_key, "api_key", "CAMS_API_KEY")
        super().__init__(AsyncTransport(url.rstrip("/"), api_key, timeout, retries, http_client or httpx.AsyncClient()))

    def with_options(
        self, *, api_key: str | None = None, timeout: float | None = None, retries: int | None = None
    ) -> Self:
        """Return a client with other settings and the same connections: `client.with_options(timeout=5).agents`."""
        options = {"api_key": api_key, "timeout": timeout, "retries": retries}
        changed: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        client = self.__class__.__new__(self.__class__)
        AsyncResources.__init__(client, replace(self._transport, **changed))
        return client

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.http.aclose()

    async def __aenter__(self) -> Self:
        """Return the client."""
        return self

    async def __aexit__(self, *details: object) -> None:
        """Close the connections."""
        await self.aclose()

    def __repr__(self) -> str:
        """Show the address, but not the key."""
        return f"{type(self).__name__}(url={self._transport.url!r})"


def setting(value: str | None, name: str, variable: str) -> str:
    """Return a setting, by default from an environment variable. Raise Error if both are missing."""
    setting = value or os.environ.get(variable)
    if not setting:
        raise Error(f"Pass {name}, or set the environment variable {variable}.")
    return setting
