"""The only way out: POSTs a body to an address that a customer chose and that may be hostile (§6 rules 1 and 2).

Check the URL, look its host up once, refuse unless every answer is public, connect to an answer that was checked, TLS,
send, read the status: all under ONE deadline, as with a limit for each read a receiver that drips bytes holds the call.
No redirect, cookie, proxy or second attempt. The biggest downside: a connection for every delivery.
Not responsible for what is sent, to whom, or for remembering it.
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
from chalicelib.webhooks.addresses import Broken, Target, read_url, why_refused
from chalicelib.webhooks.lookups import Answer, left, look_up

# Addresses of one host that are tried.
_TRIED = 4
# Certificates and a status line need a tenth; whoever sends more means to keep us busy.
_MOST_RECEIVED = 256 * 1024
_LONGEST_LINE = 8 * 1024
# Seconds in which the rest of an answer is listened to.
_FAREWELL = 0.2

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Headers that are ours to send, and one that would contradict them; in lower case.
_OURS = {"host", "content-type", "content-length", "connection", "user-agent", "transfer-encoding"}
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: .*)?")

_TIMEVAL = struct.Struct("ll")  # the system's: seconds and microseconds

_Result = TypeVar("_Result")


class Outcome(NamedTuple):
    """What became of one POST. `error` is None for status 200 only, which alone acknowledges (§6 rule 1)."""

    status: int | None
    error: str | None
    duration_ms: int


class _Failed(Exception):
    """Ends the attempt. Its text is a sentence for the customer: no value of a header, no body, no path of a URL."""


def check_url(url: str) -> str | None:
    """The rule that a URL breaks by itself, as "must be …", or None. Where its name leads is asked at each delivery."""
    try:
        read_url(url, allow_private=settings.webhook_allow_private())
    except Broken as rule:
        return str(rule)
    return None


def post(url: str, body: bytes, headers: Mapping[str, str], deadline_seconds: float = 30.0) -> Outcome:
    """POST a JSON body, once. Ends by the deadline and raises nothing, whatever the receiver does."""
    start = clock.monotonic()
    deadline = start + deadline_seconds
    status = error = ended = None
    stage = "Looking up the host"
    try:
        allow_private = settings.webhook_allow_private()
        target = read_url(url, allow_private=allow_private)
        request = _head(target, len(body), headers) + body
        answers = look_up(target.host, target.port, deadline)
        if not allow_private and any(why_refused(address[0]) for _, address in answers):
            raise _Failed("The host has an address that is not public.")
        stage = "Connecting"
        with _connect(answers, deadline) as connected:
            connection = _Connection(connected, deadline)
            if target.secure:
                stage = "The TLS handshake"
                connection.start_tls(target.host)
            stage = "Sending"
            connection.send(request)
            stage = "Reading the answer"
            status = _status(_lines(connection))
            ended = clock.monotonic()
            connection.take_leave()
    except Broken as rule:
        error = f"The URL {rule}."
    except _Failed as failure:
        error = str(failure)
    except (OSError, RuntimeError, futures.TimeoutError) as failure:
        error = f"{stage} {_reason(failure)}."
    if status is not None:
        error = None if status == 200 else f"The receiver answered {status}; only 200 acknowledges."
    return Outcome(status, error, round(((ended or clock.monotonic()) - start) * 1000))


def _head(target: Target, length: int, headers: Mapping[str, str]) -> bytes:
    for name, value in headers.items():
        if not _may_be_named(name) or not (value.isascii() and value.isprintable()):
            raise _Failed("A header cannot be sent.")
    given = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return (
        f"POST {target.path} HTTP/1.1\r\n"
        f"Host: {target.authority}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {length}\r\n"
        "Connection: close\r\n"
        "User-Agent: cams-webhooks\r\n"
        f"{given}\r\n"
    ).encode("ascii")


@lru_cache
def _may_be_named(name: str) -> bool:
    return name.lower() not in _OURS and _HEADER_NAME.fullmatch(name) is not None


def _reason(error: Exception) -> str:
    """What became of a stage of the attempt, by what threads, sockets and TLS raise."""
    if isinstance(error, TimeoutError | BlockingIOError | futures.TimeoutError):
        return "took too long"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"failed: {error.verify_message.rstrip('.')}"
    if isinstance(error, RuntimeError):
        return "failed: no thread is left"
    reason = error.reason if isinstance(error, ssl.SSLError) else getattr(error, "strerror", None)
    return f"failed: {(reason or type(error).__name__).replace('_', ' ').lower()}"


def _connect(answers: list[Answer], deadline: float) -> socket.socket:
    """A connection to the first address that takes one; what is left of the deadline is shared between them."""
    tried = answers[:_TRIED]
    for number, (family, address) in enumerate(tried):
        try:
            return _connected(family, address, left(deadline) / (len(tried) - number))
        except OSError:
            if number == len(tried) - 1:
                raise
    raise _Failed("The host has no address.")


def _connected(family: socket.AddressFamily, address: tuple[Any, ...], seconds: float) -> socket.socket:
    connected = socket.socket(family, socket.SOCK_STREAM)
    try:
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # TLS: or 40 ms are lost
        _limit(connected, socket.SO_SNDTIMEO, seconds)
        connected.connect(address)
    except OSError:
        connected.close()
        raise
    return connected


def _limit(connected: socket.socket, which: int, seconds: float) -> None:
    # Kept by the system, on Linux, where functions run, for connecting too: with a timeout of Python's each step asks
    # it twice, once to wait and once to act, and lets another thread run each time. Rounded up, as 0 means "for ever".
    connected.setsockopt(socket.SOL_SOCKET, which, _TIMEVAL.pack(*divmod(ceil(seconds * 1e6), 1_000_000)))


@lru_cache
def trust() -> ssl.SSLContext:
    """Whom TLS trusts, once for the process: reading 150 certificates takes ten times as long as a handshake.

    The system's store, which AWS keeps up to date in Lambda and SSL_CERT_FILE replaces. A Python that finds none
    (macOS, slim images) takes the one inside botocore, which is deployed anyway.
    """
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"]:
        context.load_verify_locations(Path(botocore.__file__).with_name("cacert.pem"))
    return context


_first_use = threading.Lock()


class _Connection:
    """A connected socket under the deadline."""

    # TLS runs beside the socket, not on it: OpenSSL reads on, past any timeout, while messages without effect come.
    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket, self._deadline, self._received = connected, deadline, 0
        self._tls: ssl.SSLObject | None = None
        self._hung_up: ConnectionError | None = None

    def start_tls(self, host: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        with _first_use:
            context = trust()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._through_tls(self._tls.do_handshake)

    def send(self, data: bytes) -> None:
        if self._tls:
            self._through_tls(partial(self._tls.write, data))
        else:
            self._put(data)

    def receive(self) -> bytes:
        """The next bytes of the receiver, empty at the end."""
        if not self._tls:
            return self._get()
        try:
            return self._through_tls(partial(self._tls.read, _LONGEST_LINE))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def take_leave(self) -> None:
        """Listen to the rest of the answer for a moment: some receivers drop their work when the caller is gone."""
        self._deadline = min(self._deadline, clock.monotonic() + _FAREWELL)
        try:
            while self.receive():
                pass
        except (_Failed, OSError):
            return

    def _through_tls(self, step: Callable[[], _Result]) -> _Result:
        """Repeat a step of TLS, carrying bytes between it and the socket, until it is done."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                pass
            finally:
                self._put(self._outgoing.read())  # when it failed, the alert that tells the receiver why
            if received := self._get():
                self._incoming.write(received)
            else:
                self._incoming.write_eof()

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            _limit(self._socket, socket.SO_SNDTIMEO, left(self._deadline))
            try:
                view = view[self._socket.send(view) :]
            except ConnectionError as error:
                self._hung_up = error  # what the receiver said before is still to be read, and says more
                return

    def _get(self) -> bytes:
        _limit(self._socket, socket.SO_RCVTIMEO, left(self._deadline))
        data = self._socket.recv(_LONGEST_LINE)
        if not data and self._hung_up:
            raise self._hung_up
        self._received += len(data)
        if self._received > _MOST_RECEIVED:
            raise _Failed("The receiver sent too much.")
        return data


def _status(lines: Iterator[bytes]) -> int:
    """The first status that is final: interim ones (RFC 9110 §15.2) and their headers are passed over."""
    for line in lines:
        found = _STATUS_LINE.fullmatch(line)
        if not found:
            raise _Failed("The answer is not HTTP/1.1.")
        status = int(found[1])
        if status >= 200 or status == 101:
            return status
        any(not header for header in lines)
    raise _Failed("The receiver closed the connection without an answer.")


def _lines(connection: _Connection) -> Iterator[bytes]:
    rest = b""
    while received := connection.receive():
        *lines, rest = (rest + received).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r")
        if len(rest) > _LONGEST_LINE:
            raise _Failed("The answer is not HTTP/1.1.")
