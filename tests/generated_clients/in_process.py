"""The Python client in the process of a test: it sends its requests to the service without a network."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import httpx

from infra.client import build
from tests.api import Api

HTML = httpx.Response(502, html="<h1>Bad Gateway</h1>")
Connect = Callable[..., Any]


def load_package(folder: Any) -> Any:
    """Generate the package `cams` in this folder and import it."""
    build.generate(folder / "cams")
    sys.path.insert(0, str(folder))
    try:
        import cams
    finally:
        sys.path.remove(str(folder))
    return cams


class Service(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Passes requests to the service, and notes them.

    Each entry in `faults` disturbs one request: `lost` drops the response, and a response replaces the service.
    """

    def __init__(self, faults: Iterable[Any] = ()) -> None:
        """Create the transport."""
        self.faults = iter(faults)
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response to a request. Raise ReadError if it is lost."""
        self.requests.append(request)
        fault = next(self.faults, None)
        if isinstance(fault, httpx.Response):
            return fault
        headers = {name.title(): value for name, value in request.headers.items()}
        answer = Api().call(request.method, request.url.raw_path.decode(), request.content or None, headers)
        if fault == "lost":
            raise httpx.ReadError("The response is lost.")
        return httpx.Response(answer.status, headers=answer.headers, text=answer.text)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Do the same as `handle_request`."""
        return self.handle_request(request)

    @property
    def keys(self) -> list[str | None]:
        """Return the idempotency keys of the requests."""
        return [request.headers.get("Idempotency-Key") for request in self.requests]
