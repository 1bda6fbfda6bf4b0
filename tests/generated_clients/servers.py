"""Servers between a client and the service: a proxy that loses responses, and a receiver of webhooks."""

import http.client
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread


class Proxy(ThreadingHTTPServer):
    """Forwards requests to the service, and drops every fifth response after the service has processed the request."""

    daemon_threads = True

    def __init__(self, service: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.service = service.removeprefix("http://")
        self.numbers = count(1)
        self.lost = 0

    @property
    def address(self) -> str:
        """Return the address as a URL."""
        return f"http://127.0.0.1:{self.server_port}"


class _Passing(BaseHTTPRequestHandler):
    server: Proxy

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.close_connection = True
        service = http.client.HTTPConnection(self.server.service)
        service.request(self.command, self.path, body, dict(self.headers))
        answer = service.getresponse()
        content = answer.read()
        service.close()
        number = next(self.server.numbers)
        if number % 5 == 0:
            self.server.lost += 1
            # Every second lost response ends in the middle of its body.
            content = content[: len(content) // 2] if number % 2 else b""
            if not content:
                return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


class Receiver(ThreadingHTTPServer):
    """Puts each request into a queue."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiving)
        self.received: queue.Queue[tuple[bytes, dict[str, str]]] = queue.Queue()


class _Receiving(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        """Respond with 200."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.put((body, dict(self.headers)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[None]:
    """Run the server in a thread for the duration of the block."""
    Thread(target=server.serve_forever, daemon=True).start()
    yield
    server.shutdown()
    server.server_close()
