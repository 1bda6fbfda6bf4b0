"""Tool servers: one echoes every secret that it receives, and another responds with fixed bytes."""

import json
import socket
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

from tests.sending import receivers
from tests.sending.receivers import Behaviour, Receiver

SECRET = "s3cret/of+the=server"
KEY = "Bearer canary-of-a-field"
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def last_request(endpoint: Receiver) -> tuple[str, dict[str, str], str]:
    """Return the request line, headers and body of the last request that the server received."""
    head, _, body = endpoint.requests[-1].decode().partition("\r\n\r\n")
    line, *headers = head.split("\r\n")
    return line, dict(header.split(": ", 1) for header in headers), body


def echo(connection: socket.socket, where: Receiver) -> None:
    """Respond with the request and with every spelling of its secrets."""
    request = receivers.read_request(connection)
    where.requests.append(request)
    spelled = []
    for text in (SECRET, KEY, KEY.split()[1]):
        raw = text.encode()
        spelled += [text, json.dumps(text), quote(text, safe=""), b64encode(raw).decode()]
        spelled += [urlsafe_b64encode(raw).decode()]
    body = request + "\n".join(spelled).encode()
    head = f"HTTP/1.1 200 OK\r\nX-Echo: {SECRET}\r\nX-Echo: {KEY}\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)


def reads_any(*pieces: bytes, then_hangs: bool = False) -> Behaviour:
    """Read a request's head and ignore its body, and send the response pieces."""

    def behave(connection: socket.socket, where: Receiver) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            request += receivers.received(connection)
        where.requests.append(request)
        for piece in pieces:
            connection.sendall(piece)
        if then_hangs:
            where.ended.wait()

    return behave
