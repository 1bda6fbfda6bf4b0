"""The only way out: POSTs a body to an address that a customer chose and that may be hostile (§6 rules 1 and 2).

Check the URL, look its host up once, refuse unless every answer is public, connect to an answer that was checked, TLS,
send, read the status: all under ONE deadline, as with a limit for each read a receiver that drips bytes holds the call.
No redirect, cookie, proxy or second attempt. The biggest downside: a connection for every delivery.
Not responsible for what is sent, to whom, or for remembering it.
"""

import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple, TypeVar

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
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: .*)?")

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
    try:
        target = read_url(url, allow_private=settings.webhook_allow_private())
        request = _head(target, len(body), headers) + body
        with _connect(_answers(target, deadline), deadline) as connected:
            connection = _Connection(connected, deadline)
            status = _exchange(connection, target, request)
            ended = clock.monotonic()
            connection.take_leave()
    except Broken as rule:
        error = f"The URL {rule}."
    except _Failed as failure:
        error = str(failure)
    if status not in (None, 200):
        error = f"The receiver answered {status}; only 200 acknowledges."
    return Outcome(status, error, round(((ended or clock.monotonic()) - start) * 1000))


def _head(target: Target, length: int, headers: Mapping[str, str]) -> bytes:
    ours = {
        "Host": target.authority,
        "Content-Type": "application/json",
        "Content-Length": str(length),
        "Connection": "close",
        "User-Agent": "cams-webhooks",
    }
    reserved = {"transfer-encoding", *(name.lower() for name in ours)}
    for name, value in headers.items():
        if name.lower() in reserved or not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise _Failed("A header cannot be sent.")
    lines = [f"POST {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in {**ours, **headers}.items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii")


@contextmanager
def _stage(name: str) -> Iterator[None]:
    """What sockets and TLS raise, as a sentence that says how far the attempt came."""
    try:
        yield
    except (TimeoutError, futures.TimeoutError) as error:  # the same from Python 3.11 on
        raise _Failed(f"{name} took too long.") from error
    except OSError as error:
        raise _Failed(f"{name} failed: {_reason(error)}.") from error
    except RuntimeError as error:
        raise _Failed(f"{name} failed: no thread is left.") from error


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message.rstrip(".")
    reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
    return (reason or type(error).__name__).replace("_", " ").lower()


def _answers(target: Target, deadline: float) -> list[Answer]:
    """Where the host leads. Asked once, so that what is checked is what is connected to; one bad answer refuses all."""
    with _stage("Looking up the host"):
        answers = look_up(target.host, target.port, deadline)
    if not settings.webhook_allow_private() and any(why_refused(address[0]) for _, address in answers):
        raise _Failed("The host has an address that is not public.")
    return answers


def _connect(answers: list[Answer], deadline: float) -> socket.socket:
    """A connection to the first address that takes one; what is left of the deadline is shared between them."""
    tried = answers[:_TRIED]
    with _stage("Connecting"):
        for number, (family, address) in enumerate(tried):
            try:
                with ExitStack() as failing:
                    connected = failing.enter_context(socket.socket(family, socket.SOCK_STREAM))
                    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # TLS: or 40 ms are lost
                    connected.settimeout(left(deadline) / (len(tried) - number))
                    connected.connect(address)
                    failing.pop_all()
                    return connected
            except OSError:
                if number == len(tried) - 1:
                    raise
    raise _Failed("The host has no address.")


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
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None

    def start_tls(self, host: str) -> None:
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
        with suppress(ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return self._through_tls(partial(self._tls.read, _LONGEST_LINE))
        return b""

    def take_leave(self) -> None:
        """Listen to the rest of the answer for a moment: some receivers drop their work when the caller is gone."""
        self._deadline = min(self._deadline, clock.monotonic() + _FAREWELL)
        with suppress(_Failed, OSError):
            while self.receive():
                pass

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
        with suppress(ConnectionError):  # what the receiver said before it hung up is still to be read, and says more
            while view:
                self._socket.settimeout(left(self._deadline))
                view = view[self._socket.send(view) :]

    def _get(self) -> bytes:
        self._socket.settimeout(left(self._deadline))
        data = self._socket.recv(_LONGEST_LINE)
        self._received += len(data)
        if self._received > _MOST_RECEIVED:
            raise _Failed("The receiver sent too much.")
        return data


def _exchange(connection: _Connection, target: Target, request: bytes) -> int:
    if target.secure:
        with _stage("The TLS handshake"):
            connection.start_tls(target.host)
    with _stage("Sending"):
        connection.send(request)
    with _stage("Reading the answer"):
        return _status(_lines(connection))


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
        yield from (line.removesuffix(b"\r") for line in lines)
        if len(rest) > _LONGEST_LINE:
            raise _Failed("The answer is not HTTP/1.1.")
