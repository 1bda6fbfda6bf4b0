"""A client that sends JSON-RPC messages to `/mcp`, and a server for clients that need a socket."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from tests.api import Answer, Api


class Assistant:
    """A client of the era with a handshake, with one credential or these headers."""

    def __init__(self, token: str | None = None, headers: dict[str, str] | None = None) -> None:
        self._headers = {"Authorization": f"Bearer {token}"} if token else headers or {}

    def send(self, method: str, /, **params: Any) -> Answer:
        """Send a request, and return the HTTP response."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        return Api().call("POST", "/mcp", body, {**self._headers, "Content-Type": "application/json"})

    def tools(self) -> dict[str, Any]:
        """Return the listed tools by name."""
        return {tool["name"]: tool for tool in self.send("tools/list").json["result"]["tools"]}

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool that succeeds, and return the JSON of its first text."""
        result = self.result(tool, **arguments)
        assert result["isError"] is False, result
        return json.loads(result["content"][0]["text"])

    def fail(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool that fails, and return the error envelope."""
        result = self.result(tool, **arguments)
        assert result["isError"] is True, result
        return json.loads(result["content"][0]["text"])

    def result(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool, and return the result."""
        answer = self.send("tools/call", name=tool, arguments=arguments)
        assert answer.status == 200, answer.text
        return answer.json["result"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    token: str | None = None
    lock = Lock()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = dict(self.headers)
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        with self.lock:
            answer = Api().call(self.command, self.path, body or None, headers)
        text = answer.text.encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = _answer

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


@contextmanager
def serving(token: str | None = None) -> Iterator[str]:
    """Serve the service on a local port, and yield the address. `token` is added to all requests."""
    handler = type("Handler", (_Handler,), {"token": token})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
