"""A webhook receiver that prints a line for each event, after it has verified the signature."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from chalicelib.webhooks import signature
from infra.demo.service import Service

EVENTS = ["message_received", "lead_captured", "agent_updated", "organisation_updated", "client_updated"]
# Endpoints with this path are of demonstrations: one that was killed has left its own behind.
_PATH = "/cams-demonstration"
_WIDTH = 80


@contextmanager
def receiving(service: Service, show: Callable[[str], object]) -> Iterator[None]:
    """Receive the events of the workspace, and pass a line for each to `show`, until the end of the block."""
    for old in service.call("GET", "/v3/webhooks"):
        if urlsplit(old["url"]).path == _PATH:
            service.call("DELETE", f"/v3/webhooks/{old['id']}")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    webhook = {"url": f"http://127.0.0.1:{server.server_port}{_PATH}", "events": EVENTS}
    made = service.call("POST", "/v3/webhooks", {"webhook": {**webhook, "description": "make demo"}})
    _Handler.secret, _Handler.show = made["signingSecret"], staticmethod(show)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        service.call("DELETE", f"/v3/webhooks/{made['id']}")
        server.shutdown()
        server.server_close()


def describe(body: bytes, received_at: datetime) -> str:
    """One line about an event: its time, type, agent, and what it says. Without the workspace secret."""
    event = json.loads(body)
    payload = event["payload"]
    said = payload.get("messageContent") or " ".join(filter(None, (payload.get("leadName"), payload.get("leadEmail"))))
    line = f"{received_at:%H:%M:%S}  {event['type']:<17} {payload.get('agentName') or '':<14} {said}"
    return "".join(character if character.isprintable() else "?" for character in line)[:_WIDTH]


class _Handler(BaseHTTPRequestHandler):
    secret = ""
    show: Callable[[str], object] = staticmethod(print)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        is_genuine = is_signed(self.secret, self.headers, body)
        self.send_response(200 if is_genuine else 401)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if is_genuine:
            type(self).show(describe(body, datetime.now()))

    def log_message(self, *_: Any) -> None:
        """Print nothing but the events."""


def is_signed(secret: str, headers: Any, body: bytes) -> bool:
    """Whether a delivery has the signature of `secret`. `headers` is a mapping."""
    try:
        message_id, timestamp = headers["webhook-id"], int(headers["webhook-timestamp"])
    except (TypeError, ValueError):
        return False
    expected = signature.sign([secret], message_id or "", timestamp, body)["webhook-signature"]
    return expected in (headers["webhook-signature"] or "").split()
