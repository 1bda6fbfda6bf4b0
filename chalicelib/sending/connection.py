"""A connection to a receiver that may be hostile: sockets and TLS under one deadline for all steps.

The SDK's urllib3 is not used, because its timeouts apply to each read, so a receiver that sends bytes slowly could
block the call. OpenSSL keeps reading without a timeout while a receiver sends records that OpenSSL skips, so TLS runs
on memory buffers. Each connection goes to an address that the caller has checked, while TLS verifies the certificate
for the host name.
"""

import socket
import ssl
import struct
import threading
from collections.abc import Callable
from functools import lru_cache, partial
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

import botocore

from chalicelib import clock
from chalicelib.sending.lookups import ResolvedAddress, seconds_until

# Maximum addresses to try per host.
_MAX_ADDRESSES = 4
# Maximum bytes to receive: ten times the size of certificates and a status line. A receiver that sends more is hostile
# or broken.
_MAX_RECEIVED = 256 * 1024
# Maximum bytes per line and per read.
MAX_LINE = 8 * 1024
# Maximum time for reading the rest of a response after its status code.
_DRAIN_SECONDS = 0.2

_TIMEVAL = struct.Struct("ll")  # `struct timeval`: seconds and microseconds

_Result = TypeVar("_Result")


class AttemptFailed(Exception):
    """A request failed. Customers see the error's text, so it contains no header values, bodies or URL paths."""


def connect(addresses: list[ResolvedAddress], deadline: float) -> socket.socket:
    """Connect to the first address that accepts a connection. Addresses get equal shares of the remaining time."""
    candidates = addresses[:_MAX_ADDRESSES]
    for number, (family, address) in enumerate(candidates):
        try:
            return _connect_to(family, address, seconds_until(deadline) / (len(candidates) - number))
        except OSError:
            if number == len(candidates) - 1:
                raise
    raise AttemptFailed("The host has no IP address.")


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
    # This is a kernel timeout, which on Linux (as in Lambda) also covers `connect`. With a Python timeout, each step
    # would take two system calls, and each releases the GIL. The timeout is rounded up, because 0 means "no
    # timeout".
    connected.setsockopt(socket.SOL_SOCKET, which, _TIMEVAL.pack(*divmod(ceil(seconds * 1e6), 1_000_000)))


@lru_cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context, cached because loading 150 certificates takes as long as ten handshakes.

    It trusts the system's certificate store, which AWS updates in Lambda and SSL_CERT_FILE overrides. If Python finds
    no system certificates (macOS, slim images), the context trusts botocore's store, which is deployed anyway.
    """
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"]:
        context.load_verify_locations(Path(botocore.__file__).with_name("cacert.pem"))
    return context


_context_lock = threading.Lock()  # without this lock, threads that start together would each load the certificates


class Connection:
    """A connected socket with one deadline for everything that it sends and receives."""

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._socket, self._deadline, self._received = connected, deadline, 0
        self._tls: ssl.SSLObject | None = None
        self._send_error: ConnectionError | None = None

    def start_tls(self, host: str) -> None:
        """Perform the TLS handshake, and check that the certificate is valid for `host`."""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        with _context_lock:
            context = tls_context()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._through_tls(self._tls.do_handshake)

    def send(self, data: bytes) -> None:
        """Send all of `data`."""
        if self._tls:
            self._through_tls(partial(self._tls.write, data))
        else:
            self._put(data)

    def receive(self) -> bytes:
        """Return the next bytes from the receiver, or empty bytes at the end."""
        if not self._tls:
            return self._get()
        try:
            return self._through_tls(partial(self._tls.read, MAX_LINE))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def drain(self) -> None:
        """Read the rest of the response for up to 0.2 s, because some receivers stop when the caller disconnects."""
        self._deadline = min(self._deadline, clock.monotonic() + _DRAIN_SECONDS)
        try:
            while self.receive():
                pass
        except (AttemptFailed, OSError):
            return

    def _through_tls(self, operation: Callable[[], _Result]) -> _Result:
        """Repeat a TLS operation until it is complete, moving bytes between the TLS buffers and the socket."""
        while True:
            try:
                return operation()
            except ssl.SSLWantReadError:
                pass
            finally:
                self._put(self._outgoing.read())  # after a failure, this sends the TLS alert with the reason
            if received := self._get():
                self._incoming.write(received)
            else:
                self._incoming.write_eof()

    def _put(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            _set_timeout(self._socket, socket.SO_SNDTIMEO, seconds_until(self._deadline))
            try:
                view = view[self._socket.send(view) :]
            except ConnectionError as error:
                self._send_error = error  # not raised yet, because the receiver may have sent a status before closing
                return

    def _get(self) -> bytes:
        _set_timeout(self._socket, socket.SO_RCVTIMEO, seconds_until(self._deadline))
        data = self._socket.recv(MAX_LINE)
        if not data and self._send_error:
            raise self._send_error
        self._received += len(data)
        if self._received > _MAX_RECEIVED:
            raise AttemptFailed("The receiver sent more than 256 KiB.")
        return data
