"""Runs `chalice local` in this process, with patches for settings that Chalice does not offer.

The stage `local` has no environment variables in `.chalice/config.json`, so those of the process apply.
"""

from __future__ import annotations

import logging
import sys
import traceback
from pathlib import Path
from socketserver import BaseServer
from typing import Any

from chalice.cli import main as chalice
from chalice.local import ChaliceRequestHandler, LocalGatewayException, ThreadedHTTPServer

from chalicelib import errors, telemetry
from infra.local import demonstration, lifeline
from infra.local.children import ROOT


def _answer_unknown_route(handler: ChaliceRequestHandler, _: LocalGatewayException) -> None:
    """Answer 404 in our envelope. Chalice's own answer echoes the Authorization header, including the token.

    As with the gateway (`gateway_responses`), any page may read it.
    """
    error = errors.NotFound.of("route")
    headers = {"Content-Type": "application/json", "Access-Control-Allow-Origin": "*"}
    handler._send_http_response(error.STATUS_CODE, headers, str(error))


def _log_route(handler: ChaliceRequestHandler, code: int | str = "-", _: int | str = "-") -> None:
    """Print the route of a request, not its path: an id in it may be an email. Omits the requests of the run itself."""
    headers = getattr(handler, "headers", None)  # a refused request may have none
    if headers and headers.get("User-Agent") == demonstration.USER_AGENT:
        return
    try:
        route = handler.local_gateway.event_converter._route_matcher.match_route(handler.path).route
    except (AttributeError, ValueError):  # a malformed request line, or no such route
        route = "(no route)"
    handler.log_message('"%s %s" %s', handler.command or "-", route, str(int(code)))


def _log_no_message(handler: ChaliceRequestHandler, *_: Any) -> None:
    """Print no message about a refused request: it repeats the request. `_log_route` prints its status."""


def _report(server: BaseServer, request: Any, address: Any) -> None:
    """Print where a request failed, without its values. Nothing if the client has closed the connection."""
    error = sys.exc_info()[1]
    if isinstance(error, Exception) and not isinstance(error, ConnectionError):
        where = traceback.extract_tb(error.__traceback__)[-1]
        name = Path(where.filename).name
        sys.stderr.write(f"A request failed: {type(error).__name__} at {name}:{where.lineno}\n")


def main(port: str) -> None:
    """Serve on this port of 127.0.0.1 until a signal stops the process."""
    lifeline.end_with_parent()
    # The server sends headers and body in two packets. With Nagle's algorithm, the second would wait for the client's
    # delayed acknowledgement: 40 ms for each response on a keep-alive connection.
    ChaliceRequestHandler.disable_nagle_algorithm = True
    ChaliceRequestHandler._send_error_response = _answer_unknown_route  # type: ignore[method-assign,assignment]
    ChaliceRequestHandler.log_request = _log_route
    ChaliceRequestHandler.log_error = _log_no_message
    # Chalice does not handle these methods, which the standard library answers with 501 and an HTML page.
    ChaliceRequestHandler.do_TRACE = ChaliceRequestHandler.do_QUERY = ChaliceRequestHandler.do_GET
    ThreadedHTTPServer.handle_error = _report
    # The default backlog is five connections. Clients beyond it retry after a second.
    ThreadedHTTPServer.request_queue_size = 128
    # Chalice sets the root logger to INFO. At that level, botocore and pynamodb log the sources of their settings, and
    # telemetry logs each request, which Chalice prints, too.
    for name in ("botocore", "pynamodb", telemetry.__name__):
        logging.getLogger(name).setLevel(logging.WARNING)
    options = ["--host", "127.0.0.1", "--port", port, "--stage", "local", "--no-autoreload"]
    sys.argv = ["chalice", "--project-dir", str(ROOT), "local", *options]
    sys.exit(chalice())


if __name__ == "__main__":
    main(sys.argv[1])
