"""The only outbound HTTP client.

It sends requests to URLs that customers choose and that may be hostile (§6 rules 1 and 2). For SSRF protection, it
validates the URL, resolves the host once, requires that every returned address is public, and connects to one of the
checked addresses. One deadline covers all steps. With a timeout per read, a receiver that sends bytes slowly could
block the call. There are no redirects, cookies, proxies or retries. The main cost is a new connection for every
request. This module does not decide what to send or where, and does not store the outcome.
"""

import re
import ssl
from collections.abc import Callable, Mapping
from concurrent import futures
from functools import lru_cache
from typing import NamedTuple, TypeVar

from chalicelib import clock, settings
from chalicelib.sending.addresses import Destination, InvalidUrl, blocked_reason, read_url
from chalicelib.sending.connection import AttemptFailed, Connection, connect
from chalicelib.sending.lookups import look_up
from chalicelib.sending.response import Reader, read_status

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Headers that the sender sets itself, and `transfer-encoding`, which would conflict with `content-length`.
_RESERVED_HEADERS = {"host", "content-type", "content-length", "connection", "user-agent", "transfer-encoding"}

_Result = TypeVar("_Result")


class Request(NamedTuple):
    """A request. `body` is JSON, or None. `method` and `agent` (the User-Agent) are the service's own constants."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    agent: str


class Outcome(NamedTuple):
    """The outcome of one POST. `error` is None only for status 200, the only acknowledgement (§6 rule 1)."""

    status: int | None
    error: str | None
    duration_ms: int


def check_url(url: str) -> str | None:
    """Return the rule that a URL breaks, as "must be …", or None if it is valid. `send` checks the addresses."""
    try:
        read_url(url, allow_private=settings.webhook_allow_private())
    except InvalidUrl as rule:
        return str(rule)
    return None


def post(url: str, body: bytes, headers: Mapping[str, str], deadline_seconds: float) -> Outcome:
    """POST a JSON body once. Return by the deadline and never raise, however the receiver behaves."""
    request = Request("POST", url, headers, body, "cams-webhooks")
    status, error, duration_ms = send(request, lambda it: read_status(Reader(it).lines()), deadline_seconds)
    if status is not None:
        error = None if status == 200 else f"The receiver responded with {status}; only 200 acknowledges a delivery."
    return Outcome(status, error, duration_ms)


def send(
    request: Request, read: Callable[[Connection], _Result], deadline_seconds: float
) -> tuple[_Result | None, str | None, int]:
    """Send a request once and `read` its response. Return by the deadline and never raise.

    Return the result of `read`, or None and the reason for the failure, and the duration in milliseconds.
    """
    start = clock.monotonic()
    deadline = start + deadline_seconds
    result = error = end = None
    stage = "DNS lookup"
    try:
        allow_private = settings.webhook_allow_private()
        destination = read_url(request.url, allow_private=allow_private)
        head = _head(destination, request)
        addresses = look_up(destination.host, destination.port, deadline)
        if not allow_private and any(blocked_reason(address[0]) for _, address in addresses):
            raise AttemptFailed("The host resolves to an address that is not public.")
        stage = "Connection"
        with connect(addresses, deadline) as connected:
            connection = Connection(connected, deadline)
            if destination.secure:
                stage = "TLS handshake"
                connection.start_tls(destination.host)
            stage = "Sending the request"
            connection.send(head + (request.body or b""))
            stage = "Reading the response"
            result = read(connection)
            end = clock.monotonic()
            connection.drain()
    except InvalidUrl as rule:
        error = f"The URL {rule}."
    except AttemptFailed as failure:
        error = str(failure)
    except (OSError, RuntimeError, futures.TimeoutError) as failure:
        error = f"{stage} {_reason(failure)}."
    return result, error, round(((end or clock.monotonic()) - start) * 1000)


def _head(destination: Destination, request: Request) -> bytes:
    for name, value in request.headers.items():
        if not _is_allowed_header(name) or not (value.isascii() and value.isprintable()):
            raise AttemptFailed("A header has a reserved name or an invalid character.")
    custom = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    content = (
        "" if request.body is None else f"Content-Type: application/json\r\nContent-Length: {len(request.body)}\r\n"
    )
    return (
        f"{request.method} {destination.path} HTTP/1.1\r\n"
        f"Host: {destination.authority}\r\n"
        f"{content}"
        "Connection: close\r\n"
        f"User-Agent: {request.agent}\r\n"
        f"{custom}\r\n"
    ).encode("ascii")


@lru_cache
def _is_allowed_header(name: str) -> bool:
    return name.lower() not in _RESERVED_HEADERS and _HEADER_NAME.fullmatch(name) is not None


def _reason(error: Exception) -> str:
    """Describe why a step failed, based on the thread, socket or TLS error."""
    if isinstance(error, TimeoutError | BlockingIOError | futures.TimeoutError):
        return "timed out"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"failed: {error.verify_message.rstrip('.')}"
    if isinstance(error, RuntimeError):
        return "failed: no thread is available"
    reason = error.reason if isinstance(error, ssl.SSLError) else getattr(error, "strerror", None)
    return f"failed: {(reason or type(error).__name__).replace('_', ' ').lower()}"
