"""`chalice local` for the local run: Chalice's own command in this process, with what it does not offer set.

Its stage is `local`, whose environment is empty in `.chalice/config.json`: what the process has decides.
"""

from __future__ import annotations

import logging
import sys
from socketserver import BaseServer
from typing import Any

from chalice.cli import main as chalice
from chalice.local import ChaliceRequestHandler, LocalGatewayException, ThreadedHTTPServer

from chalicelib import errors, telemetry
from infra.local import lifeline
from infra.local.children import ROOT


def _refuse_unknown_route(handler: ChaliceRequestHandler, _: LocalGatewayException) -> None:
    """Chalice's own answer repeats the Authorization header, token and all."""
    refusal = errors.NotFound.of("route")
    handler._send_http_response(refusal.STATUS_CODE, {"Content-Type": "application/json"}, str(refusal))


def _pass_over_who_hung_up(server: BaseServer, request: Any, address: Any) -> None:
    """The standard library prints the traceback of each connection that its client has closed."""
    if not isinstance(sys.exc_info()[1], ConnectionError):
        BaseServer.handle_error(server, request, address)


def main(port: str) -> None:
    """Serves on this port of 127.0.0.1 until the process is ended."""
    lifeline.end_with_parent()
    # Headers and body leave in two packets; with Nagle's algorithm the second waits for the client's delayed
    # acknowledgement, 40 ms for each answer on a connection that is kept open.
    ChaliceRequestHandler.disable_nagle_algorithm = True
    ChaliceRequestHandler._send_error_response = _refuse_unknown_route  # type: ignore[method-assign,assignment]
    ThreadedHTTPServer.handle_error = _pass_over_who_hung_up
    # Five waiting connections are the default; beyond it a burst of clients waits a second for the next
    # attempt.
    ThreadedHTTPServer.request_queue_size = 128
    # Chalice sets the root logger to INFO; these two would tell at every start where they have their settings from.
    # Chalice prints a line for each request itself.
    for name in ("botocore", "pynamodb", telemetry.__name__):
        logging.getLogger(name).setLevel(logging.WARNING)
    options = ["--host", "127.0.0.1", "--port", port, "--stage", "local", "--no-autoreload"]
    sys.argv = ["chalice", "--project-dir", str(ROOT), "local", *options]
    sys.exit(chalice())


if __name__ == "__main__":
    main(sys.argv[1])
