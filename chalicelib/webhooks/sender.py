"""The only outbound HTTP client. It POSTs to a URL that a customer chose and that may be hostile (§6 rules 1 and 2).

SSRF protection: validate the URL, resolve its host once, require that every answer is public, and connect to an answer
that was checked. One deadline covers all steps: with a timeout per read, a receiver that drips bytes holds the call.
No redirects, cookies, proxies or retries. The biggest downside: a new connection for every delivery.
This module does not choose what to send or where, and stores no outcome.
"""

import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from functools import lru_cache, partial
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import botocore

from chalicelib import clock, settings
from chalicelib.webhooks.addresses import InvalidUrl, Target, blocked_reason, read_url
from chalicelib.webhooks.lookups import Answer, look_up, remaining

# Addresses of one host to try.
_MAX_ADDRESSES = 4
# Ten times what certificates and a status line need. A receiver that sends more is hostile or broken.
_MAX_RECEIVED = 256 * 1024
_MAX_LINE = 8 * 1024
# How long to read the rest of a response after its status.
_DRAIN_SECONDS = 0.2

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Headers that the sender sets itself, and one that would contradict them; in lower case.
_RESERVED_HEADERS = {"host", "content-type", "content-length", "connection", "user-agent", "transfer-encoding"}
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: .*)?")

_TIMEVAL = struct.Struct("ll")  # `struct timeval`: seconds and microseconds

_Result = TypeVar("_Result")


class Outcome(NamedTuple):
    """The outcome of one POST. `error` is None only for status 200: no other status acknowledges (§6 rule 1)."""

    status: int | None
    error: str | None
    duration_ms: int


class _Failed(Exception):
    """Ends the attempt. The text is shown to the customer: it has no header value, no body and no URL path."""


def check_url(url: str) -> str | None:
    """Return the rule that a URL breaks, as "must be …", or None. `post` checks the addresses of its host."""
    try:
        read_url(url, allow_private=settings.webhook_allow_private())
    except InvalidUrl as rule:
        return str(rule)
    return None


def post(url: str, body: bytes, headers: Mapping[str, str], deadline_seconds: float = 30.0) -> Outcome:
    """POST a JSON body once. Returns by the deadline and does not raise, whatever the receiver does."""
    start = clock.monotonic()
    deadline = start + deadline_seconds
    status = error = ended = None
    stage = "DNS lookup"
    try:
        allow_private = settings.webhook_allow_private()
        target = read_url(url, allow_private=allow_private)
        request = _head(target, len(body), headers) + body
        answers = look_up(target.host, target.port, deadline)
        if not allow_private and any(blocked_reason(address[0]) for _, address in answers):
            raise _Failed("The host resolves to an address that is not public.")
        stage = "Connection"
        with _connect(answers, deadline) as connected:
            connection = _Connection(connected, deadline)
            if target.secure:
                stage = "TLS handshake"
                connection.start_tls(target.host)
            stage = "Sending the request"
            connection.send(request)
            stage = "Reading the response"
            status = _status(_lines(connection))
            ended = clock.monotonic()
            connection.drain()
    except InvalidUrl as rule:
        error = f"The URL {rule}."
    except _Failed as failure:
        error = str(failure)
    except (OSError, RuntimeError, futures.TimeoutError) as failure:
        error = f"{stage} {_reason(failure)}."
    if status is not None:
        error = None if status == 200 else f"The receiver answered {status}; only 200 acknowledges a delivery."
    return Outcome(status, error, round(((ended or clock.monotonic()) - start) * 1000))


def _head(target: Target, length: int, headers: Mapping[str, str]) -> bytes:
    for name, value in headers.items():
        if not _is_allowed_header(name) or not (value.isascii() and value.isprintable()):
            raise _Failed("A header has a reserved name or an invalid character.")
    custom = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return (
        f"POST {target.path} HTTP/1.1\r\n"
        f"Host: {target.authority}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {length}\r\n"
        "Connection: close\r\n"
        "User-Agent: cams-webhooks\r\n"
        f"{custom}\r\n"
    ).encode("ascii")


@lru_cache
def _is_allowed_header(name: str) -> bool:
    return name.lower() not in _RESERVED_HEADERS and _HEADER_NAME.fullmatch(name) is not None


def _reason(error: Exception) -> str:
    """Return how a stage ended, from an error of threads, sockets or TLS."""
    if isinstance(error, TimeoutError | BlockingIOError | futures.TimeoutError):
        return "timed out"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"failed: {error.verify_message.rstrip('.')}"
    if isinstance(error, RuntimeError):
        return "failed: no thread is available"
    reason = error.reason if isinstance(error, ssl.SSLError) else getattr(error, "strerror", None)
    return f"failed: {(reason or type(error).__name__).replace('_', ' ').lower()}"


def _connect(answers: list[Answer], deadline: float) -> socket.socket:
    """Connect to the first address that accepts. The addresses share the time to the deadline equally."""
    candidates = answers[:_MAX_ADDRESSES]
    for number, (family, address) in enumerate(candidates):
        try:
            return _connect_to(family, address, remaining(deadline) / (len(candidates) - number))
        except OSError:
            if number == len(candidates) - 1:
                raise
    raise _Failed("The host has no IP address.")


def _connect_to(family: socket.AddressFamily, address: tuple[Any, ...], seconds: float) -> socket.socket:
    connected = socket.socket(family, socket.SOCK_STREAM)
    try:
        connected.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # Nagle's algorithm delays a TLS handshake by 40 ms
        _set_timeout(connected, socket.SO_SNDTIMEO, seconds)
        connected.connect(address)
    except OSError:
        connected.close()
        raise
    return connected


def _set_timeout(connected: socket.socket, which: int, seconds: float) -> None:
    # A kernel timeout, which on Linux (as in Lambda) also covers `connect`. With a Python timeout, each step takes two
    # system calls and releases the GIL at both. Rounded up, because 0 means "no timeout".
    connected.setsockopt(socket.SOL_SOCKET, which, _TIMEVAL.pack(*divmod(ceil(seconds * 1e6), 1_000_000)))


@lru_cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context of the process. Cached, because loading 150 certificates takes as long as ten handshakes.

    It trusts the system's certificate store, which AWS updates in Lambda and SSL_CERT_FILE overrides. If Python finds
    none (macOS, slim images), it trusts the store of botocore, which is deployed anyway.
    """
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"]:
        context.load_verify_locations(Path(botocore.__file__).with_name("cacert.pem"))
    return context


_context_lock = threading.Lock()  # threads that start together must not each load the certificates


class _Connection:
    """A connected socket with a deadline for all that it sends and receives."""

    # TLS runs on memory buffers, not on the socket: OpenSSL ignores a timeout while it reads records without effect.
    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket, self._deadline, self._received = connected, deadline, 0
        self._tls: ssl.SSLObject | None = None
        self._send_error: ConnectionError | None = None

    def start_tls(self, host: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        with _context_lock:
            context = tls_context()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._through_tls(self._tls.do_handshake)

    def send(self, data: bytes) -> None:
        if self._tls:
            self._through_tls(partial(self._tls.write, data))
        else:
            self._put(data)

    def receive(self) -> bytes:
        """Return the next bytes from the receiver, empty at the end."""
        if not self._tls:
            return self._get()
        try:
            return self._through_tls(partial(self._tls.read, _MAX_LINE))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def drain(self) -> None:
        """Read the rest of the response for up to 0.2 s: some receivers stop working when the caller disconnects."""
        self._deadline = min(self._deadline, clock.monotonic() + _DRAIN_SECONDS)
        try:
            while self.receive():
                pass
        except (_Failed, OSError):
            return

    def _through_tls(self, operation: Callable[[], _Result]) -> _Result:
        """Repeat a TLS operation until it is done, moving bytes between its buffers and the socket."""
        while True:
            try:
                return operation()
            except ssl.SSLWantReadError:
                pass
            finally:
                self._put(self._outgoing.read())  # after a failure, this is the alert with its reason
            if received := self._get():
                self._incoming.write(received)
            else:
                self._incoming.write_eof()

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            _set_timeout(self._socket, socket.SO_SNDTIMEO, remaining(self._deadline))
            try:
                view = view[self._socket.send(view) :]
            except ConnectionError as error:
                self._send_error = error  # not raised yet: the receiver may have sent a status before it closed
                return

    def _get(self) -> bytes:
        _set_timeout(self._socket, socket.SO_RCVTIMEO, remaining(self._deadline))
        data = self._socket.recv(_MAX_LINE)
        if not data and self._send_error:
            raise self._send_error
        self._received += len(data)
        if self._received > _MAX_RECEIVED:
            raise _Failed("The receiver sent more than 256 KiB.")
        return data


def _status(lines: Iterator[bytes]) -> int:
    """Return the final status; skip interim responses (RFC 9110 §15.2) and their headers."""
    for line in lines:
        found = _STATUS_LINE.fullmatch(line)
        if not found:
            raise _Failed("The response is not HTTP/1.1.")
        status = int(found[1])
        if status >= 200 or status == 101:
            return status
        any(not header for header in lines)
    raise _Failed("The receiver closed the connection without a response.")


def _lines(connection: _Connection) -> Iterator[bytes]:
    rest = b""
    while received := connection.receive():
        *lines, rest = (rest + received).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r")
        if len(rest) > _MAX_LINE:
            raise _Failed("The response is not HTTP/1.1.")
