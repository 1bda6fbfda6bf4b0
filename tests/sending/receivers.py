"""Webhook receivers on real sockets: well-behaved receivers, and every hostile receiver that the sender must survive.

A behaviour is a function that handles one accepted connection. A behaviour that hangs does so until the test ends.
`python -m tests.sending.receivers` runs a receiver in its own process; every other connection to this receiver hangs.
"""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import itertools
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Behaviour = Callable[[socket.socket, "Receiver"], None]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Receiver:
    """A listening socket that starts a thread per connection. `requests` contains the complete requests in order."""

    def __init__(self, behaviour: Behaviour, host: str, tls: ssl.SSLContext | None, accepts: bool) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.behaviour, self.tls = behaviour, tls
        self.requests: list[bytes] = []
        self.connections = 0
        self.ended = threading.Event()
        self._listener = socket.socket(family)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((host, 0))
        self._listener.listen(128 if accepts else 0)
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self.address = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        if accepts:
            threading.Thread(target=self._accept, daemon=True).start()
        else:
            self._fill()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.address}/hook"

    def close(self) -> None:
        self.ended.set()
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while not self.ended.is_set():
            with suppress(OSError):
                connection, _ = self._listener.accept()
                self.connections += 1
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            if self.tls:
                with self.tls.wrap_socket(connection, server_side=True) as secured:
                    self._open.append(secured)
                    self.behaviour(secured, self)
            else:
                self.behaviour(connection, self)

    def _fill(self) -> None:
        """Fill the listener's backlog, because the receiver accepts no connections."""
        while True:
            filler = socket.socket()
            filler.settimeout(0.2)
            self._open.append(filler)
            try:
                filler.connect(("127.0.0.1", self.port))
            except TimeoutError:
                return


@contextmanager
def receiver(
    behaviour: Behaviour, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, accepts: bool = True
) -> Iterator[Receiver]:
    """Run a receiver for the duration of the block."""
    running = Receiver(behaviour, host, tls, accepts)
    try:
        yield running
    finally:
        running.close()


def read_request(connection: socket.socket) -> bytes:
    """Read one request: its head, and as many body bytes as `Content-Length` announces."""
    request = b""
    while b"\r\n\r\n" not in request:
        request += received(connection)
    head, _, body = request.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += received(connection)
    return head + b"\r\n\r\n" + body


def received(connection: socket.socket) -> bytes:
    chunk = connection.recv(65536)
    if not chunk:
        raise ConnectionError
    return chunk


def answers(*pieces: bytes, then_hangs: bool = False) -> Behaviour:
    """Read the request, send the pieces one by one, and close the connection or hang."""

    def behave(connection: socket.socket, where: Receiver) -> None:
        where.requests.append(read_request(connection))
        for piece in pieces:
            connection.sendall(piece)
        if then_hangs:
            where.ended.wait()

    return behave


def status(code: int, *headers: str) -> Behaviour:
    return answers("\r\n".join([f"HTTP/1.1 {code} Whatever", "Content-Length: 0", *headers, "", ""]).encode())


acknowledges = status(200)


def hangs(connection: socket.socket, where: Receiver) -> None:
    where.ended.wait()


def reads_and_hangs(connection: socket.socket, where: Receiver) -> None:
    read_request(connection)
    where.ended.wait()


def drips(content: bytes, pause: float = 0.03) -> Behaviour:
    """Send `content` byte by byte, repeatedly."""

    def behave(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        for byte in itertools.cycle(content):
            connection.sendall(bytes([byte]))
            if where.ended.wait(pause):
                return

    return behave


def floods(start: bytes, again: bytes) -> Behaviour:
    """Send `start`, then `again` in an endless loop."""

    def behave(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        connection.sendall(start)
        while not where.ended.is_set():
            connection.sendall(again)

    return behave


def reads_a_byte_at_a_time(connection: socket.socket, where: Receiver) -> None:
    while connection.recv(1) and not where.ended.wait(0.01):
        pass


def answers_unread(connection: socket.socket, where: Receiver) -> None:
    """Reject a large body after its first bytes, and close the connection."""
    connection.recv(1024)
    connection.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")


def _reset(connection: socket.socket) -> None:
    # A linger time of 0 makes close() send RST.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def resets_at_once(connection: socket.socket, where: Receiver) -> None:
    _reset(connection)


def resets_at_a_byte(connection: socket.socket, where: Receiver) -> None:
    connection.recv(1)
    _reset(connection)


def resets_after(content: bytes) -> Behaviour:
    def behave(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        connection.sendall(content)
        where.ended.wait(0.05)
        _reset(connection)

    return behave


def drips_a_handshake(connection: socket.socket, where: Receiver) -> None:
    """Send the header of a long TLS handshake record, and then the record's content byte by byte."""
    connection.sendall(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc\x03\x03")
    while not where.ended.wait(0.03):
        connection.sendall(b"\x00")


def floods_a_handshake(connection: socket.socket, where: Receiver) -> None:
    """Send an endless series of HelloRequests, which OpenSSL skips in TLS 1.2 without returning to its caller.

    These messages kept an `ssl.SSLSocket` with a timeout of 0.4 s busy for 2.4 s.
    """
    while not where.ended.is_set():
        connection.sendall((b"\x16\x03\x03\x40\x00" + bytes(0x4000)) * 64)


def speaks_plainly(connection: socket.socket, where: Receiver) -> None:
    """Respond to a TLS handshake as a web server does on its plain HTTP port."""
    connection.recv(1024)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


class Certificates(NamedTuple):
    """A test's certificate files: the authority, and each leaf certificate with its key, keyed by name."""

    authority: Path
    leaves: dict[str, Path]

    def server(self, leaf: str = "good", tickets: int = 2, latest: ssl.TLSVersion | None = None) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.leaves[leaf])
        context.num_tickets = tickets
        if latest:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            context.maximum_version = latest
        return context


def certificates(directory: Path, host: str) -> Certificates:
    """Create an authority, and one leaf certificate of each kind for `host` and the loopback addresses."""
    authority, others = _name("CAMS tests"), _name("Another authority")
    key, other_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = _certificate(authority, key, authority, key, [], authority=True)
    hosts = [x509.DNSName(host), *(x509.IPAddress(ipaddress.ip_address(each)) for each in ("127.0.0.1", "::1"))]
    leaf_key = ec.generate_private_key(ec.SECP256R1())
    leaf = _name(host)
    made: dict[str, x509.Certificate] = {
        "good": _certificate(leaf, leaf_key, authority, key, hosts),
        "expired": _certificate(leaf, leaf_key, authority, key, hosts, days=(-20, -10)),
        "not yet valid": _certificate(leaf, leaf_key, authority, key, hosts, days=(10, 20)),
        "wrong host": _certificate(leaf, leaf_key, authority, key, [x509.DNSName("elsewhere.test")]),
        "self-signed": _certificate(leaf, leaf_key, leaf, leaf_key, hosts),
        "unknown authority": _certificate(leaf, leaf_key, others, other_key, hosts),
    }
    (directory / "authority.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
    private = leaf_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    leaves = {}
    for name, certificate in made.items():
        leaves[name] = directory / f"{name}.pem"
        leaves[name].write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return Certificates(directory / "authority.pem", leaves)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    hosts: list[Any],
    *,
    days: tuple[int, int] = (-1, 1),
    authority: bool = False,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder(subject_name=subject, issuer_name=issuer, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=days[0]))
        .not_valid_after(now + datetime.timedelta(days=days[1]))
        # OpenSSL requires these extensions in strict mode, which is Python's default since 3.13.
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if authority:
        usage = dict.fromkeys(
            ["content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only",
             "decipher_only", "digital_signature"], False,
        )  # fmt: skip
        builder = builder.add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


async def _half_hang() -> None:
    numbers = itertools.count()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with ExitStack() as closing:
            closing.callback(writer.close)
            await reader.readuntil(b"\r\n\r\n")
            if next(numbers) % 2:
                await reader.read()  # hang until the sender disconnects
            else:
                writer.write(OK)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_half_hang())
