"""The OpenAI SDKs' clients in the process of a test: they send their requests to the service without a network."""

from collections.abc import Iterable, Iterator
from typing import Any

import httpx2
import openai

from tests.api import Api

URL = "https://cams.test/agents/support/openai/v1"


class Transport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Passes requests to the service and notes them. For each entry `lost` in `faults`, it drops a response."""

    def __init__(self, faults: Iterable[str] = ()) -> None:
        """Create the transport."""
        self.faults: Iterator[str] = iter(faults)
        self.requests: list[httpx2.Request] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response to a request. Raise ReadError if it is lost."""
        self.requests.append(request)
        headers = {name.title(): value for name, value in request.headers.items()}
        answer = Api().call(request.method, request.url.raw_path.decode(), request.content or None, headers)
        if next(self.faults, None) == "lost":
            raise httpx2.ReadError("The response is lost.")
        return httpx2.Response(answer.status, headers=answer.headers, text=answer.text)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Do the same as `handle_request`."""
        return self.handle_request(request)


def connect(key: str, transport: Transport | None = None, **options: Any) -> openai.OpenAI:
    """Return a client. Only its address and its key differ from a client of OpenAI."""
    http = httpx2.Client(transport=transport or Transport())
    return openai.OpenAI(api_key=key, base_url=URL, http_client=http, **options)
