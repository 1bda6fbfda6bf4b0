"""Proxies of the sessions question. They count requests and DynamoDB units, and lose responses.

A lost response closes the client's connection after the server has executed the request.
"""

import http.client
import json
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import ceil
from typing import Any, NamedTuple

from benchmarks.session_table import READS, WRITES
from tests.capacity import size

REQUESTS = "requests"
_DYNAMODB = "DynamoDB_20120810."
_READING = {"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"}
_WRITING = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}
_FAILED_CONDITIONS = ("ConditionalCheckFailedException", "TransactionCanceledException")


class Reply(NamedTuple):
    """A server's response."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Line:
    """A proxy in front of servers, which receive the requests in turn. `lose_every` is 0 if no response is lost."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.lose_every = 0
        self.counts: defaultdict[str, float] = defaultdict(float)
        self._ports = ports
        self._number = 0
        self._lock = threading.Lock()

    def forward(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply | None:
        """Return the response of a server, or None if it is lost."""
        with self._lock:
            self._number += 1
            number, lose_every = self._number, self.lose_every
        server = http.client.HTTPConnection("127.0.0.1", self._ports[number % len(self._ports)], timeout=60)
        try:
            server.request(method, path, body, headers)
            response = server.getresponse()
            reply = Reply(response.status, response.getheaders(), response.read())
        finally:
            server.close()
        with self._lock:
            self.count(headers, body, reply)
        return None if lose_every and number % lose_every == 0 else reply

    def count(self, headers: dict[str, str], body: bytes, reply: Reply) -> None:
        """Count a request."""
        self.counts[REQUESTS] += 1


class DatabaseLine(Line):
    """A proxy in front of the local engine. It counts the requests to DynamoDB and their capacity units.

    Writes cost what the engine reports. DynamoDB also charges for a write whose condition fails: it costs as much as
    the last successful write of the same operation. A read costs what its response's items cost.
    """

    def __init__(self, port: int) -> None:
        super().__init__([port])
        self._last: defaultdict[str, float] = defaultdict(lambda: 1.0)

    def forward(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply | None:
        """Return the response of the engine, which also reports the consumed units."""
        if _operation(headers) in _READING | _WRITING:
            body = json.dumps({**json.loads(body), "ReturnConsumedCapacity": "TOTAL"}).encode()
        return super().forward(method, path, headers, body)

    def count(self, headers: dict[str, str], body: bytes, reply: Reply) -> None:
        """Count a request to DynamoDB; keys and queues are not counted."""
        operation = _operation(headers)
        if operation in _READING | _WRITING:
            super().count(headers, body, reply)
            parsed = json.loads(reply.body)
            if operation in _WRITING:
                self.counts[WRITES] += self._write_units(operation, reply.status, parsed)
            elif reply.status == http.client.OK:
                self.counts[READS] += _read_units(operation, json.loads(body), parsed)

    def _write_units(self, operation: str, status: int, parsed: Any) -> float:
        if status == http.client.OK:
            self._last[operation] = _reported(parsed)
        elif not str(parsed.get("__type")).endswith(_FAILED_CONDITIONS):
            return 0
        return self._last[operation]


def _operation(headers: dict[str, str]) -> str:
    target = headers.get("X-Amz-Target", "")
    return target.removeprefix(_DYNAMODB) if target.startswith(_DYNAMODB) else ""


def _reported(parsed: Any) -> float:
    consumed = parsed.get("ConsumedCapacity", [])
    return sum(float(table["CapacityUnits"]) for table in (consumed if isinstance(consumed, list) else [consumed]))


def _read_units(operation: str, sent: Any, parsed: Any) -> float:
    """Return the units of a read from the sizes of the items, because the engine reports one unit for each item."""
    if operation in ("Query", "Scan"):
        return _units(sum(map(size, parsed["Items"])), is_strong=bool(sent.get("ConsistentRead")))
    if operation == "GetItem":
        return _units(size(parsed.get("Item", {})), is_strong=bool(sent.get("ConsistentRead")))
    if operation == "BatchGetItem":
        strong = {table: bool(keys.get("ConsistentRead")) for table, keys in sent["RequestItems"].items()}
        items = ((strong[table], item) for table, items in parsed["Responses"].items() for item in items)
        return sum(_units(size(item), is_strong=is_strong) for is_strong, item in items)
    return 2 * sum(_units(size(one.get("Item", {})), is_strong=True) for one in parsed["Responses"])


def _units(byte_count: int, *, is_strong: bool) -> float:
    return max(1, ceil(byte_count / 4096)) * (1 if is_strong else 0.5)


@contextmanager
def listening(line: Line) -> Iterator[str]:
    """Serve a proxy on a free port of this machine during the block, and yield its address."""

    class Handler(_Handler):
        pass

    Handler.line = line
    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error: a killed writer has closed the connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    line: Line

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kept = ("content-length", "connection", "transfer-encoding")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in kept}
        reply = self.line.forward(self.command, self.path, headers, body)
        if reply is None:
            self.close_connection = True
            return
        self.send_response_only(reply.status)
        for name, value in reply.headers:
            if name.lower() not in kept:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _forward

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""
